// SPDX-License-Identifier: Apache-2.0
//! Building one volume: all of it, or nothing and the reason.

use super::{instance, mounts};
use crate::domain::driver_file::{DriverFile, DriverFiles};
use crate::system::file_state::FileState;
use nix::libc::{O_CLOEXEC, O_NOFOLLOW, O_PATH};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

/// A driver has some thirty; each is a mount in every container that gets the volume.
pub const MOST_FILES: usize = 512;
/// Names by which files are also known.
const MOST_LINKS: usize = 4096;

/// Builds the volume of `files` on the folder `path`, which must not be there. The answer is where each file is shown and
/// what it was, in their order.
pub fn build(path: &Path, files: &DriverFiles) -> Result<Vec<(PathBuf, FileState)>, String> {
    let failed = |why: String| format!("cannot build driver volume {}: {why}", path.display());
    check(files).map_err(failed)?;
    fs::create_dir(path).map_err(|error| failed(format!("cannot make the folder: {error}")))?;
    fill(path, files).map_err(|why| match instance::tear_down(path) {
        Ok(()) => failed(why),
        Err(and) => failed(format!("{why}; and {and}")),
    })
}

/// Where a file of a volume is.
fn place_of(volume: &Path, file: &DriverFile) -> PathBuf {
    volume.join(file.place.folder()).join(&file.name)
}

fn check(files: &DriverFiles) -> Result<(), String> {
    let (count, links) = (
        files.files.len(),
        files.files.iter().map(|file| file.links.len()).sum::<usize>(),
    );
    if count == 0 {
        return Err("no file of the driver was found".to_owned());
    }
    if count > MOST_FILES || links > MOST_LINKS {
        return Err(format!(
            "{count} files with {links} links are more than the {MOST_FILES} and {MOST_LINKS} that it may have"
        ));
    }
    for file in &files.files {
        let folder = file.place.folder();
        let inside = Path::new(&folder)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        let mut names = std::iter::once(&file.name).chain(&file.links);
        if !inside || !names.all(|name| is_a_name(name)) {
            let source = file.source.display();
            return Err(format!(
                "a name for {source} leads out of its folder: {folder:?}, {:?}, {:?}",
                file.name, file.links
            ));
        }
    }
    Ok(())
}

fn is_a_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!(parts.next(), Some(Component::Normal(only)) if only == name) && parts.next().is_none()
}

fn fill(volume: &Path, files: &DriverFiles) -> Result<Vec<(PathBuf, FileState)>, String> {
    let whole = |step: &str, errno: nix::Error| format!("cannot {step}: {}", errno.desc());
    mounts::tmpfs(volume).map_err(|errno| whole("mount a tmpfs", errno))?;
    let mut shown = Vec::with_capacity(files.files.len());
    for file in &files.files {
        let failed = |error: io::Error| {
            format!(
                "cannot show {} in folder {}: {error}",
                file.source.display(),
                file.place.folder()
            )
        };
        make_folders(volume, Path::new(&file.place.folder())).map_err(failed)?;
        let seen = show(volume, file).map_err(failed)?;
        shown.push((place_of(volume, file), seen));
    }
    mounts::read_only(volume).map_err(|errno| whole("make the tmpfs read-only", errno))?;
    Ok(shown)
}

fn show(volume: &Path, file: &DriverFile) -> io::Result<FileState> {
    if !file.source.is_absolute() {
        return Err(io::Error::other("the path must be absolute"));
    }
    // What is looked at is what is mounted, even if another file takes its name in between.
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(O_PATH | O_NOFOLLOW | O_CLOEXEC);
    let source = options.open(&file.source)?;
    let seen =
        FileState::of_file(&source.metadata()?).ok_or_else(|| io::Error::other("it is no regular file"))?;
    let target = place_of(volume, file);
    File::create_new(&target).map_err(|error| taken(&file.name, error))?;
    mounts::bind_file(
        Path::new(&format!("/proc/self/fd/{}", source.as_raw_fd())),
        &target,
    )?;
    for link in &file.links {
        symlink(&file.name, target.with_file_name(link)).map_err(|error| taken(link, error))?;
    }
    Ok(seen)
}

fn taken(name: &str, error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::AlreadyExists => io::Error::other(format!("another file has the name {name} there")),
        kind => io::Error::new(kind, format!("{name}: {error}")),
    }
}

/// Open to all, whatever the agent's umask: containers run as any user.
fn make_folders(volume: &Path, below: &Path) -> io::Result<()> {
    let mut folder = volume.to_path_buf();
    for part in below {
        folder.push(part);
        match fs::create_dir(&folder) {
            Ok(()) => fs::set_permissions(&folder, Permissions::from_mode(0o755))?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::driver_file::Place;

    fn with(change: impl Fn(&mut DriverFile)) -> Result<(), String> {
        let mut file = DriverFile {
            source: PathBuf::from("/usr/lib/libcuda.so.580.1"),
            place: Place::Lib64,
            name: "libcuda.so.580.1".to_owned(),
            links: vec!["libcuda.so.1".to_owned()],
        };
        change(&mut file);
        check(&DriverFiles {
            files: vec![file],
            ..Default::default()
        })
    }

    #[test]
    fn names_that_lead_out_of_a_folder_are_refused() {
        assert_eq!(with(|_| ()), Ok(()));
        for name in ["", ".", "..", "/", "a/b", "../a", "/a", "a/"] {
            let tried = [
                with(|file| file.name = name.to_owned()),
                with(|file| file.links.push(name.to_owned())),
            ];
            assert!(tried.iter().all(Result::is_err), "{name:?}: {tried:?}");
        }
        for share in ["..", "a/../../b"] {
            assert!(
                with(|file| file.place = Place::Share(share.to_owned())).is_err(),
                "{share:?}"
            );
        }
    }

    #[test]
    fn a_driver_without_files_and_one_with_too_many_are_refused() {
        assert!(check(&DriverFiles::default()).is_err());
        let links = |count: usize| with(|file| file.links = (0..count).map(|n| n.to_string()).collect());
        assert_eq!(links(MOST_LINKS), Ok(()));
        assert!(links(MOST_LINKS + 1).is_err());
    }
}

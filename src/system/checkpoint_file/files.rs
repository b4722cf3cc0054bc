// SPDX-License-Identifier: Apache-2.0
//! The steps on the disk that a checkpoint is saved with. Nothing that somebody put in their way is written to.

use nix::libc::{O_CLOEXEC, O_NOFOLLOW};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Makes a folder, for root's eyes only, and lasting as the file in it.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = folder
        .ancestors()
        .take_while(|above| !above.as_os_str().is_empty() && !above.exists())
        .collect();
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    missing
        .iter()
        .try_for_each(|made| File::open(folder_of(made))?.sync_all())
}

/// Writes a file that must be new: what a crash left there is taken away first, and a link, a pipe or another name of a
/// file that somebody put there gets nothing.
pub(super) fn write_new(path: &Path, text: &[u8]) -> io::Result<File> {
    remove(path)?;
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(O_NOFOLLOW | O_CLOEXEC);
    let mut file = options.open(path)?;
    file.write_all(text)?;
    Ok(file)
}

/// Puts a file in the place of another, which goes. Whatever ends this process, one of the two is there, whole.
///
/// The two change places first: of a file that is renamed over another, ext4 begins to write what it holds to the disk, which
/// takes longer than all the rest together and now and then waits for others' writing. So this is for a file that may be lost
/// with the machine. File systems that cannot exchange rename.
pub(super) fn replace(new: &Path, old: &Path) -> io::Result<()> {
    replace_by(exchange, new, old)
}

fn replace_by(exchange: impl Fn(&Path, &Path) -> io::Result<()>, new: &Path, old: &Path) -> io::Result<()> {
    if exchange(new, old).is_err() {
        return fs::rename(new, old);
    }
    // What cannot be taken away is no file; as with a rename it keeps its place then.
    remove(new).inspect_err(|_| {
        if let Err(error) = exchange(new, old) {
            log::warn!("cannot put {} back to {}: {error}", new.display(), old.display());
        }
    })
}

fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

/// Takes a file away that may not be there.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The folder that a path is in; for a bare name the current one.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) => Path::new("."),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A folder with the new and the old file.
    fn two() -> (tempfile::TempDir, std::path::PathBuf, std::path::PathBuf) {
        let room = tempfile::tempdir().unwrap();
        let (new, old) = (room.path().join("new"), room.path().join("old"));
        fs::write(&new, "new").unwrap();
        fs::write(&old, "old").unwrap();
        (room, new, old)
    }

    #[test]
    fn a_file_is_in_the_place_of_the_other_whether_or_not_the_two_can_be_exchanged() {
        let (_room, new, old) = two();
        replace(&new, &old).unwrap();
        assert_eq!(fs::read(&old).unwrap(), b"new");
        assert!(!new.exists());

        for error in [
            ErrorKind::InvalidInput,
            ErrorKind::Unsupported,
            ErrorKind::PermissionDenied,
        ] {
            let (_room, new, old) = two();
            let asked = Cell::new(0);
            let cannot = |_: &Path, _: &Path| {
                asked.set(asked.get() + 1);
                Err(error.into())
            };
            replace_by(cannot, &new, &old).unwrap();
            assert_eq!(asked.get(), 1);
            assert_eq!(fs::read(&old).unwrap(), b"new");
            assert!(!new.exists());
        }
    }

    #[test]
    fn the_place_may_be_empty_by_now() {
        let (_room, new, old) = two();
        fs::remove_file(&old).unwrap();
        replace(&new, &old).unwrap();
        assert_eq!(fs::read(&old).unwrap(), b"new");
    }

    #[test]
    fn what_is_no_file_keeps_its_place_and_the_error_is_told() {
        let (_room, new, old) = two();
        fs::remove_file(&old).unwrap();
        fs::create_dir(&old).unwrap();
        replace(&new, &old).unwrap_err();
        assert!(old.is_dir());
        assert_eq!(fs::read(&new).unwrap(), b"new");
    }

    #[test]
    fn a_second_name_of_the_old_file_keeps_what_it_says() {
        let (room, new, old) = two();
        let second = room.path().join("second");
        fs::hard_link(&old, &second).unwrap();
        replace(&new, &old).unwrap();
        assert_eq!(fs::read(&second).unwrap(), b"old");
        assert_eq!(fs::read(&old).unwrap(), b"new");
    }
}

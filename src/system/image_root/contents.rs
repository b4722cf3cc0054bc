// SPDX-License-Identifier: Apache-2.0
//! What is in the files and folders of an image: read up to a limit, since it may be of any size, and replaced whole or
//! not at all. Only regular files are opened: to open a pipe can wait for ever, and to open a device can do anything.

use super::found::{Found, kind, kind_of};
use super::{FILE_MODE, ImageError, ImageRoot, new_failed, parts, split};
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::libc::O_NONBLOCK;
use nix::sys::stat::{Mode, SFlag, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// How many names of a folder are looked at.
pub const MOST_NAMES: usize = 4096;
/// How many names for a temporary file are tried; others may be taken, by the image or by an agent that was killed.
const TRIES: u32 = 16;

impl ImageRoot {
    /// Whether a path leads to something.
    ///
    /// # Errors
    /// That cannot be said: something is no folder, a link leads in circles, another mount is there.
    pub fn has(&self, inside: &str) -> Result<bool, ImageError> {
        let failed = |error: ImageError| error.context(&self.doing("look at", inside));
        let found = self.look(&parts(inside).map_err(failed)?).map_err(failed)?;
        Ok(found.is_some())
    }

    /// The contents of a regular file; none where there is nothing.
    ///
    /// # Errors
    /// It is no regular file, is larger than `limit`, or cannot be read.
    pub fn read(&self, inside: &str, limit: u64) -> Result<Option<Vec<u8>>, ImageError> {
        let failed = |error: ImageError| error.context(&self.doing("read", inside));
        let other = |why: String| failed(ImageError::Other(why));
        let Some(found) = self.look(&parts(inside).map_err(failed)?).map_err(failed)? else {
            return Ok(None);
        };
        found.must_be(SFlag::S_IFREG, inside).map_err(failed)?;
        // That file, whatever has its name by now.
        let mut options = OpenOptions::new();
        let open = options.read(true).custom_flags(O_NONBLOCK);
        let file = open
            .open(found.link())
            .map_err(|error| other(error.to_string()))?;
        let most = limit.saturating_add(1);
        // One more than it has, so that its end is seen without a further step.
        let room = found.size().saturating_add(1).min(most);
        let mut bytes = Vec::with_capacity(usize::try_from(room).unwrap_or_default());
        file.take(most)
            .read_to_end(&mut bytes)
            .map_err(|error| other(error.to_string()))?;
        if u64::try_from(bytes.len()).map_or(true, |length| length > limit) {
            return Err(other(format!("it is larger than {limit} bytes")));
        }
        Ok(Some(bytes))
    }

    /// The names in a folder, sorted; empty where there is nothing. Names that are no UTF-8 text are left out, and so is
    /// what comes after the first `MOST_NAMES`.
    ///
    /// # Errors
    /// It is no folder, or cannot be read.
    pub fn names(&self, inside: &str) -> Result<Vec<String>, ImageError> {
        let failed = |error: ImageError| error.context(&self.doing("list", inside));
        let errno = |errno| failed(ImageError::from_errno(inside, errno));
        let Some(found) = self.look(&parts(inside).map_err(failed)?).map_err(failed)? else {
            return Ok(Vec::new());
        };
        found.must_be(SFlag::S_IFDIR, inside).map_err(failed)?;
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let mut folder = Dir::openat(&found.open, ".", flags, Mode::empty()).map_err(errno)?;
        let mut names = Vec::new();
        for entry in folder.iter().take(MOST_NAMES) {
            let entry = entry.map_err(errno)?;
            match entry.file_name().to_str() {
                Ok(name) if ![".", ".."].contains(&name) => names.push(name.to_owned()),
                _ => {}
            }
        }
        names.sort();
        Ok(names)
    }

    /// Puts a regular file with these contents where one is or nothing is, in one step: whoever opens it finds the old or
    /// the new one, whole. A link is followed, inside the image, to the file it leads to. Other names of the old file keep
    /// the old contents.
    ///
    /// # Errors
    /// What is there is no regular file, or a link leads to nothing or in circles, or it cannot be written.
    pub fn replace(&self, inside: &str, bytes: &[u8]) -> Result<(), ImageError> {
        let failed = |error: ImageError| error.context(&self.doing("replace", inside));
        let parts = parts(inside).map_err(failed)?;
        let (folder, name) = self.folder_and_name(&parts).map_err(failed)?;
        put(&folder, &name, bytes).map_err(failed)
    }

    /// The folder that a file is really in, and its name there.
    fn folder_and_name(&self, parts: &[&str]) -> Result<(Found, String), ImageError> {
        let Some(found) = self.look(parts)? else {
            // Making it and not only its folder finds out about a link that leads to nothing.
            let (name, above) = split(parts)?;
            let folder = self.make_folders(above)?;
            return match fstatat(&folder.open, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
                Err(Errno::ENOENT) => Ok((folder, name.to_owned())),
                Ok(_) => Err(new_failed(&parts.join("/"), Errno::EEXIST)),
                Err(errno) => Err(ImageError::from_errno(&parts.join("/"), errno)),
            };
        };
        found.must_be(SFlag::S_IFREG, &parts.join("/"))?;
        let place = self.real_place(&found)?;
        let below = place.strip_prefix(self.path()).unwrap_or(Path::new(""));
        let below: Vec<&str> = below.iter().filter_map(|part| part.to_str()).collect();
        let (name, above) = split(&below)?;
        let folder = self
            .look(above)?
            .ok_or_else(|| ImageError::Other(format!("{} is gone", place.display())))?;
        Ok((folder, name.to_owned()))
    }
}

/// Writes a file under a name of its own and renames it; it has no contents under the final name but these.
fn put(folder: &Found, name: &str, bytes: &[u8]) -> Result<(), ImageError> {
    let folder = &folder.open;
    let flags = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_WRONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mut tried = Err(Errno::EEXIST);
    let mut temporary = String::new();
    for number in 0..TRIES {
        temporary = format!(".mesos-gpu-{}-{number}", std::process::id());
        tried = openat(folder, temporary.as_str(), flags, FILE_MODE);
        if !matches!(tried, Err(Errno::EEXIST)) {
            break;
        }
    }
    let file = tried.map_err(|errno| ImageError::from_errno(&temporary, errno))?;
    let written = Found::of(file)
        .and_then(|file| file.settled(FILE_MODE))
        .map_err(|errno| ImageError::from_errno(&temporary, errno))
        .and_then(|file| {
            let text = |error: std::io::Error| ImageError::Other(format!("{temporary:?}: {error}"));
            File::from(file.open).write_all(bytes).map_err(text)
        })
        .and_then(|()| no_folder_at(folder, name))
        .and_then(|()| {
            renameat(folder, temporary.as_str(), folder, name)
                .map_err(|errno| ImageError::from_errno(name, errno))
        });
    if written.is_err() {
        // The reason that is told is the first one.
        let _ = unlinkat(folder, temporary.as_str(), UnlinkatFlags::NoRemoveDir);
    }
    written
}

/// The last look before the rename: what is replaced must be a regular file.
fn no_folder_at(folder: &OwnedFd, name: &str) -> Result<(), ImageError> {
    match fstatat(folder, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Err(Errno::ENOENT) => Ok(()),
        Err(errno) => Err(ImageError::from_errno(name, errno)),
        Ok(found) if kind_of(found.st_mode) == SFlag::S_IFREG => Ok(()),
        Ok(found) => Err(ImageError::Other(format!("{name:?} is {}", kind(found.st_mode)))),
    }
}

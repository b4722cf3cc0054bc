// SPDX-License-Identifier: Apache-2.0
//! The folder that one agent process has its volumes in. A lock on the folder says that the process lives, so agents that
//! share a folder leave each other's alone, and what a dead one left is cleared, never used again.

use super::mounts;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// How many names are tried: one is taken by each other that this process has, and one may be lost to who clears it
/// between its making and its locking.
const TRIES: usize = 1000;

/// One process's own folder. The lock ends with the value or the process, whichever is first.
#[derive(Debug)]
pub struct Instance {
    folder: PathBuf,
    lock: Flock<File>,
}

impl Instance {
    /// A new one in the folder `all`, which is made when it is not there.
    pub fn make(all: &Path) -> Result<Self, String> {
        let failed = |why: String| {
            format!(
                "cannot make a folder for driver volumes in {}: {why}",
                all.display()
            )
        };
        let plain = |error: io::Error| failed(error.to_string());
        let mut builder = DirBuilder::new();
        builder.mode(0o700).recursive(true).create(all).map_err(plain)?;
        ours(all).map_err(failed)?;
        builder.recursive(false);
        for number in 0..TRIES {
            let folder = all.join(format!("{}-{number}", std::process::id()));
            match builder.create(&folder) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(plain(error)),
            }
            let lock = match try_lock(&folder) {
                Ok(Some(lock)) => lock,
                // Somebody took it for a leftover.
                Ok(None) => continue,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(plain(error)),
            };
            // Between its making and its locking another may have had the name, and has left something.
            if fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_none()) {
                return Ok(Self { folder, lock });
            }
        }
        Err(failed(format!("{TRIES} names are taken")))
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the folder at its path is still the one that was locked.
    pub fn is_there(&self) -> bool {
        is_at(&self.lock, &self.folder)
    }
}

impl Drop for Instance {
    /// What still has a volume in it stays, for the next agent to clear.
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Takes away what agents that are gone have left in the folder `all`, in whatever state it is. What does not go is told
/// in the log and is in nobody's way.
pub fn clear_leftovers(all: &Path) {
    let entries = match ours(all).and_then(|()| fs::read_dir(all).map_err(|error| error.to_string())) {
        Ok(entries) => entries,
        Err(_) if !all.exists() => return,
        Err(why) => return log::warn!("cannot look for old driver volumes in {}: {why}", all.display()),
    };
    for entry in entries.flatten() {
        let folder = entry.path();
        let cleared = match try_lock(&folder) {
            Ok(Some(_lock)) => clear(&folder),
            Ok(None) => continue,
            Err(error) => Err(error.to_string()),
        };
        match cleared {
            Ok(()) => log::info!(
                "removed the driver volumes {} of an agent that is gone",
                folder.display()
            ),
            Err(why) => log::warn!("cannot remove old driver volumes {}: {why}", folder.display()),
        }
    }
}

/// Nothing here goes down into a folder to delete: what is mounted there is not ours.
fn clear(folder: &Path) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(|error| error.to_string())?.flatten() {
        tear_down(&entry.path())?;
    }
    fs::remove_dir(folder).map_err(|error| error.to_string())
}

/// Takes away one volume and its folder. Removing the folder also ends the copies that other mount namespaces got when
/// they were made; clones that containers have elsewhere stay.
pub fn tear_down(volume: &Path) -> Result<(), String> {
    mounts::detach(volume)
        .map_err(|errno| format!("cannot unmount {}: {}", volume.display(), errno.desc()))?;
    match fs::remove_dir(volume) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(format!("cannot remove folder {}: {error}", volume.display()))
        }
        _ => Ok(()),
    }
}

/// None if another has it, or it is gone and another folder may have its name.
fn try_lock(folder: &Path) -> io::Result<Option<Flock<File>>> {
    if !folder.symlink_metadata()?.is_dir() {
        return Err(io::Error::other("it is no folder"));
    }
    match Flock::lock(File::open(folder)?, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(is_at(&lock, folder).then_some(lock)),
        Err((_, nix::errno::Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, errno)) => Err(errno.into()),
    }
}

fn is_at(folder: &File, path: &Path) -> bool {
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let opened = folder.metadata().map(identity);
    let found = path.symlink_metadata().map(identity);
    matches!((opened, found), (Ok(opened), Ok(found)) if opened == found)
}

/// Who else could write there could have root mount and unmount what they like.
fn ours(folder: &Path) -> Result<(), String> {
    let found = folder.symlink_metadata().map_err(|error| error.to_string())?;
    if !found.is_dir() {
        return Err("it is no folder".to_owned());
    }
    if found.uid() != nix::unistd::geteuid().as_raw() || found.mode() & 0o022 != 0 {
        return Err("others than the agent's user may write there".to_owned());
    }
    Ok(())
}

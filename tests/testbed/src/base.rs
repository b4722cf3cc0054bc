// SPDX-License-Identifier: Apache-2.0
//! The real Mesos on this machine: obtained once, kept in a cache outside the source tree, shared by every process.

mod download;
mod progress;
mod stubs;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use crate::error::{Error, Tried};

/// The version of Mesos that is obtained.
pub const VERSION: &str = "1.11.0";

const LIBRARY: &str = "libmesos-1.11.0.so";

/// Raised whenever the stubs are made differently, so that a cache of an older build is not used.
const STUBS: &str = "stubs-1";

/// A folder with the library of Mesos and the stubs that it needs.
#[derive(Debug, Clone)]
pub struct Base {
    folder: PathBuf,
}

impl Base {
    /// Takes the library from the cache, or downloads it and makes its stubs. Several processes may do this at once:
    /// one works, the others wait. Silent when everything is there.
    pub fn obtain() -> Result<Self, Error> {
        Self::obtain_in(&cache()?)
    }

    /// As [`Base::obtain`], with a cache of the caller's.
    pub fn obtain_in(cache: &Path) -> Result<Self, Error> {
        let base = Self {
            folder: cache.join(format!("mesos-{VERSION}")),
        };
        if base.complete() {
            return Ok(base);
        }
        fs::create_dir_all(cache).tried(|| format!("make the folder {}", cache.display()))?;
        let lock = cache.join(format!("mesos-{VERSION}.lock"));
        let file = File::create(&lock).tried(|| format!("open the lock {}", lock.display()))?;
        let _held = Flock::lock(file, FlockArg::LockExclusive)
            .map_err(|(_, why)| Error::new(format!("lock {}", lock.display()), why))?;
        // Another process may have done it while we waited.
        if !base.library().is_file() {
            base.place("download", &base.folder, |folder| {
                download::library(&folder.join(LIBRARY))
            })?;
        }
        let stubs = base.folder.join(STUBS);
        if !stubs.is_dir() {
            base.place("stubs", &stubs, |folder| stubs::make(&base.library(), folder))?;
        }
        Ok(base)
    }

    /// A base that is known to be in `folder`.
    pub fn at(folder: &Path) -> Result<Self, Error> {
        let base = Self {
            folder: folder.to_owned(),
        };
        match base.complete() {
            true => Ok(base),
            false => Err(Error::new(
                format!("use Mesos from {}", folder.display()),
                "it is not complete",
            )),
        }
    }

    /// The name of the folder in any cache.
    pub(crate) fn name(&self) -> String {
        format!("mesos-{VERSION}")
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The library of Mesos.
    pub fn library(&self) -> PathBuf {
        self.folder.join(LIBRARY)
    }

    /// Every library to open, in this order: the stubs, whose names then satisfy what the library asks for, and it.
    pub fn libraries(&self) -> Vec<PathBuf> {
        let folder = self.folder.join(STUBS);
        stubs::NAMES
            .iter()
            .map(|name| folder.join(name))
            .chain([self.library()])
            .collect()
    }

    /// Copies the base for a user who may not enter the cache. Hard links where the file system allows them.
    pub(crate) fn copy_to(&self, folder: &Path) -> Result<Self, Error> {
        let copy = Self {
            folder: folder.to_owned(),
        };
        fs::create_dir_all(folder.join(STUBS)).tried(|| format!("make the folder {}", folder.display()))?;
        for (from, to) in self.libraries().iter().zip(copy.libraries()) {
            copy_file(from, &to)?;
        }
        Ok(copy)
    }

    fn complete(&self) -> bool {
        self.folder.join(STUBS).is_dir() && self.library().is_file()
    }

    /// Fills a folder beside its place and then renames it there, so that nobody ever sees half of it.
    fn place(
        &self,
        what: &str,
        place: &Path,
        fill: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let beside = self.folder.with_file_name(format!(".mesos-{VERSION}-{what}"));
        // Only the holder of the lock is here: what lies there is the rest of a run that was killed.
        let _ = fs::remove_dir_all(&beside);
        fs::create_dir_all(&beside).tried(|| format!("make the folder {}", beside.display()))?;
        let filled = fill(&beside).and_then(|()| {
            fs::rename(&beside, place).tried(|| format!("move {what} to {}", place.display()))
        });
        if filled.is_err() {
            let _ = fs::remove_dir_all(&beside);
        }
        filled
    }
}

/// A hard link, or a copy where there can be none.
pub(crate) fn copy_file(from: &Path, to: &Path) -> Result<(), Error> {
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    fs::copy(from, to)
        .map(|_| ())
        .tried(|| format!("copy {} to {}", from.display(), to.display()))
}

/// `MESOS_GPU_CACHE`, else the user's cache folder.
fn cache() -> Result<PathBuf, Error> {
    let folder = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    folder("MESOS_GPU_CACHE")
        .or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("mesos-gpu")))
        .or_else(|| folder("HOME").map(|home| home.join(".cache").join("mesos-gpu")))
        .ok_or_else(|| Error::new("choose a cache folder", "neither MESOS_GPU_CACHE nor HOME is set"))
}

// SPDX-License-Identifier: Apache-2.0
//! The driver volume: a folder that shows exactly the driver's files, read-only, with none of their bytes copied.
//!
//! It is a small tmpfs with one bind mount for each file, which a container gets by one recursive bind mount. For 26
//! libraries of 700 MB that is 2 ms and 0 bytes once, where a copy takes a second and all 700 MB, and 0.2 ms for each
//! container, where a bind mount for each file made in the container takes 1.4 ms. An overlay without data of its own is
//! 0.1 ms faster still for a container, but needs Linux 6.5, opens files 40% slower, and looks them up by name when they
//! are opened, so running containers would get the files of a driver that is installed later, or none.
//! (`bench driver-volume` measures it.)
//!
//! Volumes belong to one agent process: another agent never touches them, and what a dead one left is cleared, not used.
//! Running containers hold clones of their own, so an agent that starts has nothing to find again.

mod build;
mod instance;
mod mounts;

use crate::domain::driver_file::{DriverFile, DriverFiles};
use crate::system::file_state::FileState;
use instance::Instance;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub use build::MOST_FILES;

/// How much of a driver's version goes into a folder's name.
const LONGEST_VERSION: usize = 64;

/// The volumes of this agent.
#[derive(Debug)]
pub struct DriverVolumes {
    all: PathBuf,
    instance: Option<Instance>,
    /// The last is the current one.
    volumes: Vec<Volume>,
    built: u64,
}

#[derive(Debug)]
struct Volume {
    path: PathBuf,
    files: DriverFiles,
    /// What each file was when it was mounted, and where.
    shown: Vec<(PathBuf, FileState)>,
    users: BTreeSet<String>,
}

impl Volume {
    /// Whether it is the volume of these files, each is still what it was, and the volume shows it.
    fn shows(&self, files: &DriverFiles, now: &[Option<FileState>]) -> bool {
        let same = self.files.version == files.version && self.files.files == files.files;
        let were = self.shown.iter().map(|(_, state)| Some(*state));
        same && were.eq(now.iter().copied()) && self.shown.iter().all(|(place, state)| state.is_at(place))
    }
}

impl DriverVolumes {
    /// Volumes in the folder `folder`, from which those of agents that are gone are removed. Nothing is made or mounted
    /// before the first volume is asked for, so this works for any user.
    pub fn open(folder: &Path) -> Self {
        let all = folder.join("volumes");
        if is_root() {
            instance::clear_leftovers(&all);
        }
        Self {
            all,
            instance: None,
            volumes: Vec::new(),
            built: 0,
        }
    }

    /// The path of a volume that shows `files`, for the container `user`, who keeps it from being removed. It is the
    /// current volume, or a new one if there is none or a file has changed.
    ///
    /// # Errors
    /// The agent is not root, or a file cannot be shown; nothing of the attempt is left then.
    pub fn provide(&mut self, files: &DriverFiles, user: &str) -> Result<PathBuf, String> {
        let state = |file: &DriverFile| file.source.symlink_metadata().ok();
        let now = files.files.iter().map(|file| FileState::of_file(&state(file)?));
        self.provide_seen(files, &now.collect::<Vec<_>>(), user)
    }

    /// The same for who has just seen what the files are, in their order.
    ///
    /// # Errors
    /// As there.
    pub fn provide_seen(
        &mut self,
        files: &DriverFiles,
        now: &[Option<FileState>],
        user: &str,
    ) -> Result<PathBuf, String> {
        let current = self.volumes.last();
        if !current.is_some_and(|current| current.shows(files, now)) {
            let volume = self.build(files)?;
            self.volumes.push(volume);
            self.remove_unused();
        }
        let Some(current) = self.volumes.last_mut() else {
            return Err("cannot find the driver volume that was just built".to_owned());
        };
        current.users.insert(user.to_owned());
        Ok(current.path.clone())
    }

    /// Says that a container has ended. A volume that is not current goes with its last user.
    pub fn ended(&mut self, user: &str) {
        for volume in &mut self.volumes {
            volume.users.remove(user);
        }
        self.remove_unused();
    }

    fn build(&mut self, files: &DriverFiles) -> Result<Volume, String> {
        if !is_root() {
            return Err("cannot build a driver volume: the agent must run as root to mount it".to_owned());
        }
        let instance = match self.instance.take().filter(Instance::is_there) {
            Some(instance) => instance,
            None => Instance::make(&self.all)?,
        };
        // A number that was given once is not given again, so what a failure left is not in the way.
        self.built += 1;
        let name = format!("{}-{}", name_of(&files.version), self.built);
        let path = self.instance.insert(instance).folder().join(name);
        let shown = build::build(&path, files)?;
        log::info!(
            "built driver volume {} of {} files",
            path.display(),
            files.files.len()
        );
        Ok(Volume {
            path,
            files: files.clone(),
            shown,
            users: BTreeSet::new(),
        })
    }

    fn remove_unused(&mut self) {
        let current = self.volumes.last().map(|volume| volume.path.clone());
        self.volumes.retain(|volume| {
            let stays = !volume.users.is_empty() || Some(&volume.path) == current.as_ref();
            if !stays {
                remove(&volume.path);
            }
            stays
        });
    }
}

impl Drop for DriverVolumes {
    /// A volume with users stays, for the next agent to remove: one of them may be about to mount it.
    fn drop(&mut self) {
        for volume in self.volumes.iter().filter(|volume| volume.users.is_empty()) {
            remove(&volume.path);
        }
    }
}

fn remove(volume: &Path) {
    match instance::tear_down(volume) {
        Ok(()) => log::info!("removed driver volume {}", volume.display()),
        Err(why) => log::warn!("cannot remove driver volume {}: {why}", volume.display()),
    }
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// A version as part of a file name.
fn name_of(version: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' {
            c
        } else {
            '_'
        }
    };
    let name: String = version.chars().take(LONGEST_VERSION).map(plain).collect();
    // So that no name begins with a dot or is empty.
    format!("driver-{name}")
}

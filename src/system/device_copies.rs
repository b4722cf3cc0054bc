// SPDX-License-Identifier: Apache-2.0
//! Device nodes of our own to give to containers. A bind mount of the host's node would let a container's root change the
//! host's mode and owner; a copy beside the runtime directory would be dead on the many hosts that mount `/run` with
//! `nodev`. So the copies are on a small file system that is mounted for them.

mod group;
mod room;

use crate::domain::device::DeviceNumber;
use crate::ports::images::NodeWant;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::sys::stat::{FchmodatFlags, Mode, SFlag, fchmodat, lstat, makedev, mknod};
use nix::unistd::{Gid, Uid, fchownat};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What a container may do with a node: its devices cgroup decides on everything else.
const NODE_MODE: u32 = 0o666;

/// A copy of a device node, or of a folder of them, to be mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeCopy {
    /// Its path below `/dev`.
    pub path: String,
    /// The copy.
    pub copy: PathBuf,
}

/// Copies of device nodes in a folder that no other agent of the host uses.
#[derive(Debug)]
pub struct DeviceCopies {
    folder: PathBuf,
    /// Whether the file system is known to be there; one thread makes it.
    ready: Mutex<bool>,
}

impl DeviceCopies {
    /// In `folder`, which is made, and mounted on, when the first copy is asked for.
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            ready: Mutex::new(false),
        }
    }

    /// Where the copies are: root's alone, and also for other small files that containers get.
    ///
    /// # Errors
    /// The file system for it cannot be mounted, or honours no device nodes.
    pub fn folder(&self) -> Result<&Path, String> {
        // Whoever panicked here left a file system that is looked at again.
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if !*ready {
            room::make(&self.folder)?;
            *ready = true;
        }
        Ok(&self.folder)
    }

    /// What one container is to be shown of its nodes: each, and of those in folders, the folder with no more than them.
    ///
    /// # Errors
    /// As for [`DeviceCopies::copy`].
    pub fn copies(&self, nodes: &[NodeWant]) -> Result<Vec<NodeCopy>, String> {
        let mut copies = Vec::new();
        let mut folders = BTreeMap::<&str, Vec<&NodeWant>>::new();
        for node in nodes {
            // Also of those in folders: it refuses what is no path below `/dev`, and stands in for the folder.
            let copy = self.copy(&node.path, node.number)?;
            match node.path.split_once('/') {
                Some((top, _)) => folders.entry(top).or_default().push(node),
                None => copies.push(NodeCopy {
                    path: node.path.clone(),
                    copy,
                }),
            }
        }
        for (top, nodes) in folders {
            match group::make(self.folder()?, top, &nodes) {
                Ok(copy) => copies.push(NodeCopy {
                    path: top.to_owned(),
                    copy,
                }),
                // Sets are many where a GPU is much divided, and there may be no room for one more. One by one, the nodes
                // are in a folder that the launcher makes; only a strict umask can tell.
                Err(_) => copies.extend(nodes.into_iter().map(|node| NodeCopy {
                    path: node.path.clone(),
                    copy: self.folder.join(&node.path),
                })),
            }
        }
        Ok(copies)
    }

    /// The copy of the node at `path` below `/dev`, with this number, for everybody to read and write. One that is there is
    /// used again while it is right, and otherwise replaced in one step; a container that has it keeps the old one.
    ///
    /// # Errors
    /// The path is not relative or has `.` or `..`, there is no place for device nodes, or the node cannot be made.
    pub fn copy(&self, path: &str, number: DeviceNumber) -> Result<PathBuf, String> {
        let failed = |why: &str| {
            format!(
                "cannot make device node {path:?} with number {number} in {}: {why}",
                self.folder.display()
            )
        };
        let relative = Path::new(path);
        let inside = relative
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if path.is_empty() || path.ends_with('/') || !inside {
            return Err(failed("the path must be relative and without \".\" or \"..\""));
        }
        let node = self.folder()?.join(relative);
        if is_right(&node, number) {
            return Ok(node);
        }
        let parent = node.parent().unwrap_or(&self.folder);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)
            .map_err(|error| failed(&error.to_string()))?;
        make(&node, number).map_err(|errno| failed(&reason(errno)))?;
        Ok(node)
    }
}

fn reason(errno: Errno) -> String {
    match errno {
        Errno::EPERM => "not permitted: the agent needs CAP_MKNOD".to_owned(),
        errno => errno.desc().to_lowercase(),
    }
}

/// Whether the node is there as it would be made.
fn is_right(node: &Path, number: DeviceNumber) -> bool {
    lstat(node).is_ok_and(|found| {
        found.st_mode == SFlag::S_IFCHR.bits() | NODE_MODE
            && found.st_rdev == device(number)
            && (found.st_uid, found.st_gid) == (0, 0)
    })
}

fn device(number: DeviceNumber) -> u64 {
    makedev(number.major.into(), number.minor.into())
}

/// Makes the node under another name, so that nobody finds it half made. No two callers make the same one: an agent has
/// one thread for images, and a folder one agent.
fn make(node: &Path, number: DeviceNumber) -> nix::Result<()> {
    let mut name = node.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new-{}", std::process::id()));
    let temporary = node.with_file_name(name);
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(errno_of(&error)),
        _ => {}
    }
    let mode = Mode::from_bits_truncate(NODE_MODE);
    let made = mknod(&temporary, SFlag::S_IFCHR, mode, device(number))
        .and_then(|()| {
            let (owner, group) = (Uid::from_raw(0), Gid::from_raw(0));
            fchownat(
                AT_FDCWD,
                &temporary,
                Some(owner),
                Some(group),
                AtFlags::AT_SYMLINK_NOFOLLOW,
            )
        })
        // Not left to the umask.
        .and_then(|()| fchmodat(AT_FDCWD, &temporary, mode, FchmodatFlags::FollowSymlink))
        .and_then(|()| fs::rename(&temporary, node).map_err(|error| errno_of(&error)));
    if made.is_err() {
        // The reason that is told is the first one.
        let _ = fs::remove_file(&temporary);
    }
    made
}

fn errno_of(error: &std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}

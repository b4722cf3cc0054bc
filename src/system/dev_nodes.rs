// SPDX-License-Identifier: Apache-2.0
//! Looks device nodes up by name: a device rule needs numbers, and only the node that stands there now knows them.

use crate::domain::device::{A_DIRECTORY, DeviceNumber};
use crate::ports::dev_nodes::{DevNodes, NodeState};
use nix::errno::Errno;
use nix::sys::stat::{self, SFlag};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Where device nodes stand.
pub const DEFAULT_DEV_DIR: &str = "/dev";

/// One device directory.
#[derive(Debug, Clone)]
pub struct DevDir {
    dir: PathBuf,
}

impl DevDir {
    /// The directory `dev_dir`.
    pub fn new(dev_dir: PathBuf) -> Self {
        Self { dir: dev_dir }
    }
}

impl Default for DevDir {
    fn default() -> Self {
        Self::new(PathBuf::from(DEFAULT_DEV_DIR))
    }
}

impl DevNodes for DevDir {
    fn stat(&self, path: &str) -> Result<NodeState, String> {
        let failed = |why: &str| {
            format!(
                "cannot look at device node {path:?} in {}: {why}",
                self.dir.display()
            )
        };
        let relative = Path::new(path);
        let inside = relative
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if path.is_empty() || !inside {
            return Err(failed("the path must be relative and without \".\" or \"..\""));
        }
        let found = match stat::stat(&self.dir.join(relative)) {
            Ok(found) => found,
            Err(Errno::ENOENT) => return Ok(NodeState::Missing),
            Err(errno) => return Err(failed(errno.desc())),
        };
        let what = match SFlag::from_bits_truncate(found.st_mode & SFlag::S_IFMT.bits()) {
            SFlag::S_IFCHR => {
                // The kernel's device numbers are of 12 and 20 bits.
                let number =
                    |part: u64| u32::try_from(part).map_err(|_| failed("its device number is out of range"));
                return Ok(NodeState::Device(DeviceNumber {
                    major: number(stat::major(found.st_rdev))?,
                    minor: number(stat::minor(found.st_rdev))?,
                }));
            }
            SFlag::S_IFBLK => "a block device",
            SFlag::S_IFDIR => A_DIRECTORY,
            SFlag::S_IFREG => "a regular file",
            SFlag::S_IFIFO => "a named pipe",
            SFlag::S_IFSOCK => "a socket",
            _ => "of an unknown kind",
        };
        Ok(NodeState::Other(what.to_owned()))
    }

    fn list(&self) -> Result<Vec<String>, String> {
        let failed =
            |error: std::io::Error| format!("cannot list device directory {}: {error}", self.dir.display());
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            if name.as_encoded_bytes().starts_with(b"nvidia") {
                names.push(name.to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_own_null_device_has_its_fixed_number() {
        let node = DevDir::default().stat("null");
        assert_eq!(node, Ok(NodeState::Device(DeviceNumber { major: 1, minor: 3 })));
    }
}

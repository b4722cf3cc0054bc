// SPDX-License-Identifier: Apache-2.0
//! The nodes of one folder below `/dev` as a folder. Mesos's launcher makes a missing folder with the agent's umask, which
//! can keep a container's user out of it; a folder that is mounted as a whole has the mode that it has here. Each set of
//! nodes has a folder of its own, so that a container sees no more than is its own, and it is never changed afterwards.

use super::{errno_of, is_right, make as make_node};
use crate::ports::images::NodeWant;
use nix::errno::Errno;
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The folder in `all` with exactly these nodes, all of them below `top`, for everybody to enter.
pub(super) fn make(all: &Path, top: &str, nodes: &[&NodeWant]) -> nix::Result<PathBuf> {
    let folder = all.join(format!("{top}.{:016x}", number_of(nodes)));
    make_folder(&folder)?;
    // What an agent left there that was killed.
    for entry in fs::read_dir(&folder).map_err(|error| errno_of(&error))? {
        let path = entry.map_err(|error| errno_of(&error))?.path();
        let wanted = nodes
            .iter()
            .any(|node| folder.join(below(node, top)).starts_with(&path));
        if !wanted {
            fs::remove_file(path).map_err(|error| errno_of(&error))?;
        }
    }
    for node in nodes {
        let place = folder.join(below(node, top));
        let mut above = folder.clone();
        for part in below(node, top).parent().into_iter().flat_map(Path::iter) {
            above.push(part);
            make_folder(&above)?;
        }
        if !is_right(&place, node.number) {
            make_node(&place, node.number)?;
        }
    }
    Ok(folder)
}

/// The node's path from the folder on.
fn below<'a>(node: &'a NodeWant, top: &str) -> &'a Path {
    let path = Path::new(&node.path);
    path.strip_prefix(top).unwrap_or(path)
}

/// Makes the folder, open to everybody, where it is missing.
fn make_folder(folder: &Path) -> nix::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(errno_of(&error)),
        _ => {}
    }
    let found = fs::symlink_metadata(folder).map_err(|error| errno_of(&error))?;
    if !found.is_dir() {
        return Err(Errno::ENOTDIR);
    }
    fs::set_permissions(folder, Permissions::from_mode(0o755)).map_err(|error| errno_of(&error))
}

/// A number for the set (FNV-1a of its text): a file's name has to be short, and a set can be long.
fn number_of(nodes: &[&NodeWant]) -> u64 {
    let mut sorted = nodes.to_vec();
    sorted.sort();
    let text: String = sorted
        .iter()
        .map(|node| format!("{} {}\n", node.path, node.number))
        .collect();
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::device::DeviceNumber;

    #[test]
    fn a_set_has_one_number_in_whatever_order() {
        let node = |minor| NodeWant {
            path: format!("nvidia-caps/nvidia-cap{minor}"),
            number: DeviceNumber { major: 241, minor },
        };
        let (one, other) = (node(1), node(2));
        assert_eq!(number_of(&[&one, &other]), number_of(&[&other, &one]));
        assert_ne!(number_of(&[&one]), number_of(&[&one, &other]));
        // After a reboot.
        let moved = NodeWant {
            number: DeviceNumber { major: 240, minor: 1 },
            ..one.clone()
        };
        assert_ne!(number_of(&[&one]), number_of(&[&moved]));
    }
}

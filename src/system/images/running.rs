// SPDX-License-Identifier: Apache-2.0
//! Device nodes for a container that runs already and was given more GPUs. Nothing can be mounted in it from outside; but its
//! `/dev` is a small file system of its own, on which a node can be made. Its programs may change what is there meanwhile, so
//! everything is resolved inside its root.

use crate::ports::images::NodeWant;
use nix::errno::Errno;
use nix::sys::stat::{SFlag, fstat, makedev};
use nix::sys::statfs::{TMPFS_MAGIC, fstatfs};
use pathrs::error::ErrorKind;
use pathrs::{InodeType, Root};
use std::fs::{self, Permissions};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Makes the nodes in the container of this process, unless that sees the host's own files.
///
/// # Errors
/// Its root cannot be entered, its `/dev` is not a file system of its own, or a node cannot be made, with the node.
pub(super) fn show(process: u32, nodes: &[NodeWant]) -> Result<(), String> {
    let path = format!("/proc/{process}/root");
    let failed = |why: String| format!("cannot make device nodes in {path}: {why}");
    let (own, host) = (fs::metadata(&path), fs::metadata("/"));
    let (own, host) = (
        own.map_err(|error| failed(error.to_string()))?,
        host.map_err(|error| failed(error.to_string()))?,
    );
    if (own.dev(), own.ino()) == (host.dev(), host.ino()) {
        return Ok(());
    }
    let root = Root::open(Path::new(&path)).map_err(|error| failed(error.to_string()))?;
    for node in nodes {
        make(&root, node).map_err(|why| failed(format!("{}: {why}", node.path)))?;
    }
    Ok(())
}

fn make(root: &Root, node: &NodeWant) -> Result<(), String> {
    let words = |error: pathrs::error::Error| error.to_string();
    let dev = root.resolve("dev").map_err(words)?;
    let kind = fstatfs(dev.as_fd()).map_err(|errno| errno.desc().to_owned())?;
    if kind.filesystem_type() != TMPFS_MAGIC {
        return Err("its /dev is not a file system of its own".to_owned());
    }
    if let Some((folder, _)) = node.path.rsplit_once('/') {
        let mode = Permissions::from_mode(0o755);
        root.mkdir_all(format!("dev/{folder}"), &mode).map_err(words)?;
    }
    let inside = format!("dev/{}", node.path);
    let number = makedev(node.number.major.into(), node.number.minor.into());
    let device = InodeType::CharacterDevice(Permissions::from_mode(0o666), number);
    match root.create(&inside, &device) {
        Err(error) if error.kind() != ErrorKind::OsError(Some(Errno::EEXIST as i32)) => {
            return Err(words(error));
        }
        // There since an earlier growth, or something else: looked at now.
        _ => {}
    }
    let made = root.resolve_nofollow(&inside).map_err(words)?;
    let found = fstat(made.as_fd()).map_err(|errno| errno.desc().to_owned())?;
    if found.st_mode & SFlag::S_IFMT.bits() != SFlag::S_IFCHR.bits() || found.st_rdev != number {
        return Err("something else is there".to_owned());
    }
    // Not left to the umask, and not done by a path that the container can change.
    let itself = format!("/proc/self/fd/{}", made.as_fd().as_raw_fd());
    fs::set_permissions(itself, Permissions::from_mode(0o666)).map_err(|error| error.to_string())
}

// SPDX-License-Identifier: Apache-2.0
//! Device nodes for a container that runs already and was given more GPUs. Nothing can be mounted in it from outside; but its
//! `/dev` is a small file system of its own, on which a node can be made. Its programs may change what is there meanwhile, so
//! everything is resolved inside its root.

use crate::ports::images::NodeWant;
use crate::system::image_root::in_words;
use nix::errno::Errno;
use nix::libc::{O_CLOEXEC, O_DIRECTORY, O_PATH};
use nix::sys::stat::{SFlag, fstat, makedev};
use nix::sys::statfs::{TMPFS_MAGIC, fstatfs};
use pathrs::error::ErrorKind;
use pathrs::{InodeType, Root};
use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};

/// For everybody: the container's devices cgroup decides.
const NODE_MODE: u32 = 0o666;

/// Makes the nodes in the container of this process, unless that sees the host's own files.
///
/// # Errors
/// Its root cannot be entered, its `/dev` is not a file system of its own, or a node cannot be made, with the node.
pub(super) fn show(process: u32, nodes: &[NodeWant]) -> Result<(), String> {
    let path = format!("/proc/{process}/root");
    let failed = |why: String| format!("cannot make device nodes in {path}: {why}");
    let plain = |error: io::Error| failed(error.to_string());
    // The last part is the kernel's own link, which nothing of the container can change.
    let mut options = OpenOptions::new();
    let open = options.read(true).custom_flags(O_PATH | O_DIRECTORY | O_CLOEXEC);
    let own = open.open(&path).map_err(plain)?;
    let (inside, host) = (own.metadata().map_err(plain)?, fs::metadata("/").map_err(plain)?);
    if (inside.dev(), inside.ino()) == (host.dev(), host.ino()) {
        return Ok(());
    }
    let root = Root::from_fd(own);
    for node in nodes {
        make(&root, node).map_err(|why| failed(format!("{}: {why}", node.path)))?;
    }
    Ok(())
}

fn make(root: &Root, node: &NodeWant) -> Result<(), String> {
    let words = |error| in_words(&error);
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
    let device = InodeType::CharacterDevice(Permissions::from_mode(NODE_MODE), number);
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
    if found.st_mode & 0o7777 == NODE_MODE {
        // Among them those that were mounted at the launch, read-only.
        return Ok(());
    }
    // Not left to the umask, and not done by a path that the container can change.
    let itself = format!("/proc/self/fd/{}", made.as_fd().as_raw_fd());
    fs::set_permissions(itself, Permissions::from_mode(NODE_MODE)).map_err(|error| error.to_string())
}

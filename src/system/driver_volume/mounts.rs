// SPDX-License-Identifier: Apache-2.0
//! The few mounts that a driver volume is made of. Each is private: what happens to it on the host, its end included,
//! reaches no container that holds a clone of it.

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use std::path::Path;

/// Room for names only: a volume holds no bytes of the driver, and one that would is stopped here.
const TMPFS_OPTIONS: &str = "mode=0755,size=1m,nr_inodes=8192";

/// More than anybody ever put on one another.
const MOST_STACKED: usize = 64;

const NONE: Option<&str> = None;

/// Puts a small, empty tmpfs on the folder `path`. It gets none of the flags of the file system below it, so programs
/// run from it also where that has `noexec`.
pub fn tmpfs(path: &Path) -> Result<(), Errno> {
    let kind = Some("tmpfs");
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(kind, path, kind, flags, Some(TMPFS_OPTIONS))?;
    // Before anything is mounted in it: a container that has a clone would lose what is unmounted here.
    private(path)
}

/// Makes the file at `source` be seen at the file `target`, for reading and running only. A `noexec` of the source's
/// mount does not come along: the driver's libraries must be mapped to run.
pub fn bind_file(source: &Path, target: &Path) -> Result<(), Errno> {
    mount(Some(source), target, NONE, MsFlags::MS_BIND, NONE)?;
    let flags = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    let again = MsFlags::MS_BIND | MsFlags::MS_REMOUNT;
    mount(NONE, target, NONE, again | flags, NONE)?;
    // It came into the group of the source's mount: something that is mounted on the source would show up here.
    private(target)
}

/// Makes the tmpfs on `path` read-only, in every place where it is seen.
pub fn read_only(path: &Path) -> Result<(), Errno> {
    let flags = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(NONE, path, NONE, MsFlags::MS_REMOUNT | flags, NONE)
}

/// Takes everything away that is mounted on `path` and below, used or not. A path on which nothing is mounted, or that is
/// not there, is fine.
pub fn detach(path: &Path) -> Result<(), Errno> {
    for _ in 0..MOST_STACKED {
        match umount2(path, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW) {
            Ok(()) => {}
            Err(Errno::EINVAL | Errno::ENOENT) => return Ok(()),
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::EBUSY)
}

fn private(path: &Path) -> Result<(), Errno> {
    mount(NONE, path, NONE, MsFlags::MS_PRIVATE, NONE)
}

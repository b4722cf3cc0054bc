// SPDX-License-Identifier: Apache-2.0
//! The file system that device nodes are made on: a small one in memory, mounted once, found again by the next agent.

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::stat::{Mode, SFlag, makedev, mknod, stat};
use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use nix::sys::statvfs::{FsFlags, statvfs};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Room for thousands of nodes and a few small files; a node takes no more than its entry.
const OPTIONS: &str = "mode=0700,size=1m,nr_inodes=64k";
const PROBE: &str = ".probe";

/// Makes the folder a place where device nodes can be made and opened, if it is none.
pub(super) fn make(folder: &Path) -> Result<(), String> {
    let failed = |why: String| {
        format!(
            "cannot use {} for copies of device nodes: {why}",
            folder.display()
        )
    };
    if !folder.is_absolute() {
        return Err(failed("the path must be absolute".to_owned()));
    }
    // Through links of the host's own, such as that from /var/run; but what is mounted on is no link.
    let folder = make_folder(folder).map_err(&failed)?;
    let mounted = is_mount_point(&folder).map_err(&failed)?;
    if mounted {
        return usable(&folder).map_err(failed);
    }
    mount_room(&folder).map_err(&failed)?;
    usable(&folder).map_err(|why| {
        // Of no use, so it is not left in the way of the next try.
        let _ = umount2(&folder, MntFlags::MNT_DETACH);
        failed(why)
    })
}

fn make_folder(folder: &Path) -> Result<PathBuf, String> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| format!("cannot make the folder: {error}"))?;
    let link = fs::symlink_metadata(folder).is_ok_and(|found| found.is_symlink());
    if link {
        return Err("it is a link".to_owned());
    }
    fs::canonicalize(folder).map_err(|error| error.to_string())
}

/// Whether something is mounted on it.
fn is_mount_point(folder: &Path) -> Result<bool, String> {
    let id = |path: &Path| {
        let open = nix::fcntl::open(
            path,
            OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC,
            Mode::empty(),
        );
        let open = open.map_err(|errno| format!("{}: {}", path.display(), errno.desc()))?;
        crate::system::image_root::mount_of(&open)
    };
    let parent = folder.parent().ok_or("it is the root of the host")?;
    Ok(id(folder)? != id(parent)?)
}

fn mount_room(folder: &Path) -> Result<(), String> {
    let none: Option<&str> = None;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    mount(Some("mesos-gpu"), folder, Some("tmpfs"), flags, Some(OPTIONS)).map_err(|errno| match errno {
        Errno::EPERM => {
            "not permitted to mount a file system there: the agent needs CAP_SYS_ADMIN".to_owned()
        }
        errno => format!(
            "cannot mount a file system there: {}",
            errno.desc().to_lowercase()
        ),
    })?;
    // What containers' namespaces do with it stays theirs.
    mount(none, folder, none, MsFlags::MS_PRIVATE, none)
        .map_err(|errno| format!("cannot make the mount private: {}", errno.desc().to_lowercase()))
}

/// Whether nodes that are made there can be opened; the kernel is asked and not only the mount's flags, since there are
/// other reasons, such as a user namespace.
fn usable(folder: &Path) -> Result<(), String> {
    let kind = statfs(folder).map_err(|errno| errno.desc().to_lowercase())?;
    if kind.filesystem_type() != TMPFS_MAGIC {
        return Err("something else than a tmpfs is mounted there".to_owned());
    }
    let flags = statvfs(folder)
        .map_err(|errno| errno.desc().to_lowercase())?
        .flags();
    if flags.contains(FsFlags::ST_NODEV) {
        return Err("what is mounted there is mounted nodev".to_owned());
    }
    let owner = stat(folder).map_err(|errno| errno.desc().to_lowercase())?;
    if owner.st_uid != 0 || owner.st_mode & 0o022 != 0 {
        return Err("others than root may write there".to_owned());
    }
    let probe = folder.join(PROBE);
    // Left there by an agent that was killed.
    let _ = fs::remove_file(&probe);
    // The null device: every devices cgroup that an agent can live in allows it.
    let made = mknod(&probe, SFlag::S_IFCHR, Mode::S_IRUSR, makedev(1, 3));
    made.map_err(|errno| match errno {
        Errno::EPERM => "not permitted to make device nodes: the agent needs CAP_MKNOD".to_owned(),
        errno => format!("cannot make a device node: {}", errno.desc().to_lowercase()),
    })?;
    let opened = fs::File::open(&probe);
    let removed = fs::remove_file(&probe);
    opened.map_err(|error| format!("a device node that is made there cannot be opened: {error}"))?;
    removed.map_err(|error| format!("cannot remove {}: {error}", probe.display()))
}

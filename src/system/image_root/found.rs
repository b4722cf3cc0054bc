// SPDX-License-Identifier: Apache-2.0
//! What a path in an image has led to. The kernel is asked once for all that has to be known of it: each launch asks of
//! many paths.

use super::ImageError;
use nix::errno::Errno;
use nix::sys::stat::{FileStat, Mode, SFlag, fchmod, fstat, lstat, makedev};
use nix::unistd::{Gid, Uid, fchown, getegid, geteuid};
use rustix::fs::{AtFlags, CWD, Statx, StatxFlags, statx};
use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A file or folder that is held, so that what is told of it cannot become that of another.
#[derive(Debug)]
pub(super) struct Found {
    pub open: OwnedFd,
    state: State,
}

impl Found {
    pub fn of(open: OwnedFd) -> nix::Result<Self> {
        let state = State::of(&open)?;
        Ok(Self { open, state })
    }

    /// How many bytes it has.
    pub fn size(&self) -> u64 {
        self.state.size
    }

    /// The kernel's id of the mount that it is on.
    pub fn mount(&self) -> Result<u64, String> {
        self.state.mount_of(&self.open)
    }

    pub fn must_be(&self, wanted: SFlag, inside: &str) -> Result<(), ImageError> {
        if kind_of(self.state.mode) == wanted {
            return Ok(());
        }
        let kind = kind(self.state.mode);
        Err(ImageError::Other(format!("{inside:?} is {kind}")))
    }

    /// The path on the host by which the kernel knows it.
    pub fn place(&self) -> Result<PathBuf, String> {
        let link = self.link();
        fs::read_link(&link).map_err(|error| format!("cannot read {link}: {error}"))
    }

    /// The kernel's own link to it, by which it can be opened.
    pub fn link(&self) -> String {
        format!("/proc/self/fd/{}", self.open.as_raw_fd())
    }

    /// Whether this path leads to it, without a link at its end.
    pub fn is_at(&self, place: &Path) -> bool {
        let there = State::at(place);
        there.is_ok_and(|there| (there.device, there.inode) == (self.state.device, self.state.inode))
    }

    /// Something new with the owner and mode that are meant: the umask can have taken from the mode, and a folder can give
    /// its group to what is made in it.
    pub fn settled(self, mode: Mode) -> nix::Result<Self> {
        // What the agent runs as does not change.
        static OURS: OnceLock<(Uid, Gid)> = OnceLock::new();
        let (user, group) = *OURS.get_or_init(|| (geteuid(), getegid()));
        if (self.state.user, self.state.group) != (user.as_raw(), group.as_raw()) {
            fchown(&self.open, Some(user), Some(group))?;
        }
        if self.state.mode & 0o7777 != mode.bits() {
            fchmod(&self.open, mode)?;
        }
        Ok(self)
    }
}

/// The kernel's id of the mount that an open file is on.
pub(in crate::system) fn mount_of(open: &impl AsFd) -> Result<u64, String> {
    let state = State::of(open).map_err(|errno| format!("cannot look at an open file: {}", errno.desc()))?;
    state.mount_of(open)
}

/// What the kernel says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    device: u64,
    inode: u64,
    mode: u32,
    user: u32,
    group: u32,
    size: u64,
    /// None from a kernel before Linux 5.8.
    mount: Option<u64>,
}

impl State {
    fn of(open: &impl AsFd) -> nix::Result<Self> {
        match statx(open, "", AtFlags::EMPTY_PATH, wanted()) {
            Err(error) if is_unknown(error) => Ok(Self::from_stat(&fstat(open)?)),
            found => found.map(|found| Self::from_statx(&found)).map_err(errno),
        }
    }

    /// Of what is at a path, links not followed.
    fn at(path: &Path) -> nix::Result<Self> {
        match statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, wanted()) {
            Err(error) if is_unknown(error) => Ok(Self::from_stat(&lstat(path)?)),
            found => found.map(|found| Self::from_statx(&found)).map_err(errno),
        }
    }

    fn from_statx(found: &Statx) -> Self {
        let has_mount = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::MNT_ID);
        Self {
            device: makedev(found.stx_dev_major.into(), found.stx_dev_minor.into()),
            inode: found.stx_ino,
            mode: found.stx_mode.into(),
            user: found.stx_uid,
            group: found.stx_gid,
            size: found.stx_size,
            mount: has_mount.then_some(found.stx_mnt_id),
        }
    }

    fn from_stat(found: &FileStat) -> Self {
        Self {
            device: found.st_dev,
            inode: found.st_ino,
            mode: found.st_mode,
            user: found.st_uid,
            group: found.st_gid,
            size: u64::try_from(found.st_size).unwrap_or_default(),
            mount: None,
        }
    }

    fn mount_of(&self, open: &impl AsFd) -> Result<u64, String> {
        if let Some(mount) = self.mount {
            return Ok(mount);
        }
        let path = format!("/proc/self/fdinfo/{}", open.as_fd().as_raw_fd());
        let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
        text.lines()
            .find_map(|line| line.strip_prefix("mnt_id:"))
            .and_then(|id| id.trim().parse().ok())
            .ok_or_else(|| format!("{path} names no mount"))
    }
}

fn wanted() -> StatxFlags {
    StatxFlags::BASIC_STATS | StatxFlags::MNT_ID
}

/// Whether the kernel, one before Linux 4.11, or a filter of system calls does not know the call.
fn is_unknown(error: rustix::io::Errno) -> bool {
    [rustix::io::Errno::NOSYS, rustix::io::Errno::PERM].contains(&error)
}

fn errno(error: rustix::io::Errno) -> Errno {
    Errno::from_raw(error.raw_os_error())
}

pub(super) fn kind_of(mode: u32) -> SFlag {
    SFlag::from_bits_truncate(mode & SFlag::S_IFMT.bits())
}

/// What kind of file it is, in words.
pub(super) fn kind(mode: u32) -> &'static str {
    match kind_of(mode) {
        SFlag::S_IFDIR => "a folder",
        SFlag::S_IFREG => "a regular file",
        SFlag::S_IFLNK => "a link",
        SFlag::S_IFIFO => "a named pipe",
        SFlag::S_IFSOCK => "a socket",
        SFlag::S_IFCHR => "a character device",
        SFlag::S_IFBLK => "a block device",
        _ => "of an unknown kind",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn an_old_kernels_answers_say_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "text").unwrap();
        let file = File::open(&path).unwrap();
        let now = State::of(&file).unwrap();
        assert_eq!(State::at(&path), Ok(now));
        let old = State::from_stat(&fstat(&file).unwrap());
        assert_eq!(old.mount, None);
        assert_eq!(
            State {
                mount: now.mount,
                ..old
            },
            now
        );
        assert_eq!(old.mount_of(&file), now.mount_of(&file));
        assert_ne!(old.mount_of(&file), mount_of(&File::open("/proc/self").unwrap()));
    }
}

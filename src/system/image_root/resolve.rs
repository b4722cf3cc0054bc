// SPDX-License-Identifier: Apache-2.0
//! What a path leads to below an image's root. The kernel is asked directly, as `pathrs` would: of a path that leads to
//! nothing, as most that an image is asked for do, that makes an error with the root's own path in it, at the cost of ten
//! calls more. Where the kernel does not answer, `pathrs` resolves on its own.

use super::{ImageError, in_words};
use nix::errno::Errno as NixErrno;
use pathrs::Root;
use pathrs::error::ErrorKind;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use std::os::fd::OwnedFd;

/// How often the kernel is asked again where something on the machine was renamed or mounted meanwhile.
const TRIES: usize = 128;

/// What is there, not opened; none where the path leads to nothing.
pub(super) fn resolve(root: &Root, inside: &str) -> Result<Option<OwnedFd>, ImageError> {
    let errno = match by_kernel(root, inside) {
        Ok(found) => return Ok(Some(found)),
        // One before Linux 5.6, or a filter of system calls, or it was disturbed each time.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => match root.resolve(inside) {
            Ok(found) => return Ok(Some(found.into())),
            Err(error) => match error.kind() {
                ErrorKind::OsError(Some(number)) => NixErrno::from_raw(number),
                _ => return Err(ImageError::Other(format!("{inside:?}: {}", in_words(&error)))),
            },
        },
        Err(errno) => NixErrno::from_raw(errno.raw_os_error()),
    };
    match errno {
        NixErrno::ENOENT => Ok(None),
        NixErrno::ENOTDIR => Err(ImageError::Other(format!(
            "{inside:?} goes through something that is no folder"
        ))),
        NixErrno::ELOOP => Err(ImageError::Other(format!(
            "{inside:?} goes through too many links"
        ))),
        errno => Err(ImageError::from_errno(inside, errno)),
    }
}

fn by_kernel(root: &Root, inside: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let how = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    let mut last = Errno::AGAIN;
    for _ in 0..TRIES {
        match openat2(root, inside, flags, Mode::empty(), how) {
            Err(errno @ (Errno::AGAIN | Errno::INTR)) => last = errno,
            answer => return answer,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::fstat;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn both_ways_lead_to_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        fs::create_dir_all(top.join("root/usr/lib")).unwrap();
        fs::create_dir_all(top.join("lib")).unwrap();
        fs::write(top.join("root/usr/lib/file"), "").unwrap();
        for (name, target) in [
            ("lib", "/usr/lib"),
            ("up", "../../lib"),
            ("circle", "circle"),
            ("nowhere", "/lost"),
            ("magic", "/proc/self/root"),
        ] {
            symlink(target, top.join("root").join(name)).unwrap();
        }
        let root = Root::open(top.join("root")).unwrap();
        for inside in [
            ".",
            "usr",
            "lib/file",
            "up",
            "circle",
            "nowhere",
            "magic",
            "lib/file/x",
            "a/b",
        ] {
            let identity = |open: OwnedFd| {
                let found = fstat(&open).unwrap();
                (found.st_dev, found.st_ino)
            };
            let kernel = match by_kernel(&root, inside) {
                Err(Errno::NOSYS | Errno::PERM) => return println!("SKIPPED: openat2"),
                kernel => kernel.map(identity).map_err(|errno| errno.raw_os_error()),
            };
            let other = root.resolve(inside).map(|found| identity(found.into()));
            let other = other.map_err(|error| match error.kind() {
                ErrorKind::OsError(Some(number)) => number,
                kind => panic!("{inside}: {kind:?}"),
            });
            assert_eq!(kernel, other, "{inside}");
        }
    }
}

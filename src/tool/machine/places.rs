// SPDX-License-Identifier: Apache-2.0
//! What stands at a path, and what could be made there.

use crate::tool::check::facts::{Place, PlaceKind};
use nix::sys::statfs::{FsType, PROC_SUPER_MAGIC, TMPFS_MAGIC, statfs};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{AccessFlags, access, geteuid};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What stands at `path`.
pub(super) fn place(path: &Path) -> Place {
    let kind = kind(path);
    let above = path.ancestors().skip(1).find(|above| above.exists());
    // A folder is made below the nearest that is there, if that is one.
    let looked_at = if kind == PlaceKind::Missing {
        above.filter(|above| above.is_dir())
    } else {
        Some(path)
    };
    let Some(looked_at) = looked_at else {
        return Place::default();
    };
    let is_on = |kind: FsType| statfs(looked_at).is_ok_and(|found| found.filesystem_type() == kind);
    let flags = statvfs(looked_at)
        .map(|found| found.flags())
        .unwrap_or(FsFlags::empty());
    Place {
        kind,
        above: (kind == PlaceKind::Missing).then(|| looked_at.to_owned()),
        // The kernel says that root may write there, and makes no folder.
        writable: writable(looked_at, flags) && !is_on(PROC_SUPER_MAGIC),
        in_memory: is_on(TMPFS_MAGIC),
        nodev: flags.contains(FsFlags::ST_NODEV),
        mount_point: kind == PlaceKind::Folder && is_mount_point(path),
    }
}

fn kind(path: &Path) -> PlaceKind {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => PlaceKind::Folder,
        Ok(found) if found.is_file() => PlaceKind::File,
        Ok(_) => PlaceKind::Other,
        Err(_) => PlaceKind::Missing,
    }
}

/// The agent runs as root; what this program may do says something of that only where it is root too.
fn writable(path: &Path, flags: FsFlags) -> bool {
    let allowed = !geteuid().is_root() || access(path, AccessFlags::W_OK).is_ok();
    !flags.contains(FsFlags::ST_RDONLY) && allowed
}

fn is_mount_point(path: &Path) -> bool {
    let device = |path: &Path| fs::metadata(path).map(|found| found.dev()).ok();
    path.parent().is_some_and(|above| device(above) != device(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_and_what_could_be_made_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(place(folder.path()).can_be_folder());
        let new = place(&folder.path().join("a/b"));
        assert_eq!(
            (new.kind, new.above.as_deref()),
            (PlaceKind::Missing, Some(folder.path()))
        );
        assert!(new.can_be_folder());
        assert!(!place(&file).can_be_folder());
        assert!(!place(&file.join("below")).can_be_folder());
        assert!(!place(Path::new("/proc/mesos-gpu/x")).can_be_folder());
    }
}

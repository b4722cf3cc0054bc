// SPDX-License-Identifier: Apache-2.0
//! What Mesos's launcher does with mounts, for which it knows paths as text only: its own file systems first, then each
//! mount, whose missing target it makes, through whatever links are there. Runs where mounts are the test's own.

use crate::support::own_mounts::{bind, mount_points, tmpfs};
use mesos_gpu::domain::mount::Mount;
use nix::mount::MsFlags;
use std::fs::{self, File};
use std::path::Path;

/// Launches, up to the change of root; returns where the mounts really are, escaped as the kernel does it.
pub fn launch(root: &Path, mounts: &[Mount]) -> Vec<String> {
    for name in ["dev", "proc"] {
        // A link there is what images are refused for that get a mount below it.
        let place = root.join(name);
        if place.symlink_metadata().map_or(true, |found| !found.is_dir()) {
            continue;
        }
        tmpfs(&place, MsFlags::empty());
        if name == "proc" {
            fs::create_dir_all(place.join("driver/nvidia")).unwrap();
            File::create(place.join("driver/nvidia/params")).unwrap();
        }
    }
    let before = mount_points().len();
    for mount in mounts {
        make_missing(&mount.target, mount.source.is_dir());
        bind(&mount.source, &mount.target, mount.read_only).unwrap();
    }
    mount_points().split_off(before)
}

fn make_missing(target: &Path, folder: bool) {
    if target.exists() {
        return;
    }
    if folder {
        fs::create_dir_all(target).unwrap();
    } else {
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        File::create(target).unwrap();
    }
}

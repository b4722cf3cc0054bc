// SPDX-License-Identifier: Apache-2.0
//! A real cgroup of the v1 `devices` controller for one test, so that tests neither meet nor leave anything behind.

use mesos_gpu::system::cgroup_v1::DevicesHierarchy;
use std::fs;
use std::path::{Path, PathBuf};

/// A cgroup of this test's own, taken away with everything below it.
pub struct OwnCgroup {
    /// The kernel's controller.
    pub hierarchy: DevicesHierarchy,
    /// Its path below the hierarchy.
    pub name: String,
}

impl OwnCgroup {
    /// Makes it; none, and SKIPPED said, where the machine does not let us.
    pub fn new(test: &str) -> Option<Self> {
        if !super::is_root() {
            return None;
        }
        let hierarchy = match DevicesHierarchy::find(Path::new("/sys/fs/cgroup")) {
            Ok(hierarchy) => hierarchy,
            Err(why) => {
                super::skip(&why);
                return None;
            }
        };
        let name = format!("mesos_gpu_contract_{test}_{}", std::process::id());
        let own = Self { hierarchy, name };
        if let Err(error) = fs::create_dir(own.dir()) {
            super::skip(&format!(
                "the right to make cgroups in {}: {error}",
                own.hierarchy.root().display()
            ));
            return None;
        }
        Some(own)
    }

    /// Its directory.
    pub fn dir(&self) -> PathBuf {
        self.hierarchy.root().join(&self.name)
    }
}

impl Drop for OwnCgroup {
    fn drop(&mut self) {
        fn remove(dir: &Path) {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                if entry.path().is_dir() {
                    remove(&entry.path());
                }
            }
            let _ = fs::remove_dir(dir);
        }
        remove(&self.dir());
    }
}

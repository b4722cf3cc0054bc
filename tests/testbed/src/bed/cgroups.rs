// SPDX-License-Identifier: Apache-2.0
//! The v1 hierarchies that an agent's containers live in: looking at device rules, and removing what is left.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::mount::{MsFlags, mount};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::error::{Error, Tried};

const PATIENCE: Duration = Duration::from_secs(10);

/// Where the v1 controllers are mounted, one folder each in one folder.
#[derive(Debug, Clone)]
pub struct Hierarchies {
    folder: PathBuf,
}

impl Hierarchies {
    /// Finds the folder in which both `devices` and `freezer` are mounted.
    pub fn find() -> Result<Self, Error> {
        let mounts = fs::read_to_string("/proc/self/mounts").tried(|| "read /proc/self/mounts".to_owned())?;
        Self::find_in(&mounts).ok_or_else(|| {
            Error::new(
                "find cgroup v1",
                "the controllers devices and freezer are not mounted",
            )
        })
    }

    /// Mounts the two controllers below `folder`, which must not be there yet: a machine with cgroup v2 has them, and
    /// nobody uses them.
    pub fn mount_in(folder: &Path) -> Result<Self, Error> {
        for controller in ["devices", "freezer"] {
            let point = folder.join(controller);
            let tried = || {
                format!(
                    "mount the cgroup v1 controller {controller} at {}",
                    point.display()
                )
            };
            fs::create_dir_all(&point).tried(tried)?;
            mount(
                Some("none"),
                &point,
                Some("cgroup"),
                MsFlags::empty(),
                Some(controller),
            )
            .tried(tried)?;
        }
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    fn find_in(mounts: &str) -> Option<Self> {
        let mounted: Vec<&Path> = mounts
            .lines()
            .map(|line| line.split(' ').collect::<Vec<_>>())
            .filter(|fields| fields.get(2) == Some(&"cgroup"))
            .map(|fields| Path::new(fields[1]))
            .collect();
        let devices = mounted.iter().filter(|path| path.ends_with("devices"));
        let mut folders = devices.filter_map(|path| path.parent());
        let folder = folders.find(|folder| mounted.contains(&folder.join("freezer").as_path()))?;
        Some(Self {
            folder: folder.to_owned(),
        })
    }

    /// The folder of the hierarchies.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The device rules of every container below `root`, by the container's path below it.
    pub(super) fn device_rules(&self, root: &str) -> BTreeMap<PathBuf, Vec<String>> {
        let base = self.folder.join("devices").join(root);
        let containers = tree(&base).into_iter().filter(|path| *path != base);
        containers
            .filter_map(|path| {
                // A container may go while we look.
                let rules = fs::read_to_string(path.join("devices.list")).ok()?;
                let name = path.strip_prefix(&base).ok()?.to_owned();
                Some((name, rules.lines().map(str::to_owned).collect()))
            })
            .collect()
    }

    /// Every process in the containers below `root`.
    pub(super) fn processes(&self, root: &str) -> Vec<Pid> {
        let groups = tree(&self.folder.join("freezer").join(root));
        let texts = groups
            .iter()
            .filter_map(|path| fs::read_to_string(path.join("cgroup.procs")).ok());
        texts
            .flat_map(|text| {
                text.lines()
                    .filter_map(|line| line.parse().ok())
                    .collect::<Vec<_>>()
            })
            .map(Pid::from_raw)
            .collect()
    }

    /// Ends every process below `root` and removes `root` from every hierarchy.
    pub fn remove(&self, root: &str) -> Result<(), Error> {
        let until = Instant::now() + PATIENCE;
        for group in tree(&self.folder.join("freezer").join(root)) {
            // A frozen process does not die.
            let _ = fs::write(group.join("freezer.state"), "THAWED");
        }
        loop {
            let mut left = self.processes(root);
            for process in &left {
                let _ = kill(*process, Signal::SIGKILL);
            }
            left.extend(
                self.roots(root)
                    .iter()
                    .flat_map(|path| remove_tree(path))
                    .map(|_| Pid::from_raw(0)),
            );
            match (left.is_empty(), Instant::now() < until) {
                (true, _) => return Ok(()),
                (false, true) => std::thread::sleep(Duration::from_millis(20)),
                (false, false) => {
                    let tried = format!("remove the cgroups {root} below {}", self.folder.display());
                    return Err(Error::new(
                        tried,
                        format!("still there after {} s", PATIENCE.as_secs()),
                    ));
                }
            }
        }
    }

    /// The names of all roots in any hierarchy.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .controllers()
            .iter()
            .flat_map(|path| folders(path))
            .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The folders of `root`, one for each hierarchy that has it.
    pub fn roots(&self, root: &str) -> Vec<PathBuf> {
        let paths = self.controllers().into_iter().map(|path| path.join(root));
        paths.filter(|path| path.is_dir()).collect()
    }

    fn controllers(&self) -> Vec<PathBuf> {
        let real = |path: &PathBuf| !path.is_symlink() && path.join("cgroup.procs").exists();
        folders(&self.folder).into_iter().filter(real).collect()
    }
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path) else {
        return Vec::new();
    };
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect()
}

/// A folder and all below it, parents first.
fn tree(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return Vec::new();
    }
    let below = folders(path).into_iter().flat_map(|path| tree(&path));
    [path.to_owned()].into_iter().chain(below).collect()
}

/// Removes a cgroup and all below it; gives back what would not go yet.
fn remove_tree(path: &Path) -> Vec<PathBuf> {
    tree(path)
        .into_iter()
        .rev()
        .filter(|path| fs::remove_dir(path).is_err() && path.exists())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_folder_that_has_both_controllers() {
        let mounts = "cgroup /other/devices cgroup rw,devices 0 0\n\
                      cgroup /sys/fs/cgroup/devices cgroup rw,devices 0 0\n\
                      cgroup /sys/fs/cgroup/freezer cgroup rw,freezer 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(
            Hierarchies::find_in(mounts).unwrap().folder(),
            Path::new("/sys/fs/cgroup")
        );
        assert!(Hierarchies::find_in("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n").is_none());
    }
}

// SPDX-License-Identifier: Apache-2.0
//! What the masters and agents of one testbed share, and what must go when the last of them goes: a failed test must
//! leave a machine as it found it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::mount::{MntFlags, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::cgroups::Hierarchies;
use super::ports::Port;
use crate::base::Base;
use crate::error::{Error, Tried};

/// Keeps a testbed's folder when it is set.
const KEEP: &str = "TESTBED_KEEP";

/// `tb<process>x<number>`: unique on the machine, and it says whose it is.
pub(super) fn unique_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!(
        "tb{}x{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// The process that made something named by [`unique_name`] (and perhaps more behind a dash).
pub(super) fn maker(name: &str) -> Option<u32> {
    let (process, rest) = name.strip_prefix("tb")?.split_once('x')?;
    let number = rest.split('-').next()?;
    number.parse::<u32>().ok()?;
    process.parse().ok()
}

#[derive(Debug)]
pub(super) struct Room {
    base: Base,
    folder: PathBuf,
    master: Port,
    cgroup_roots: Mutex<Vec<String>>,
}

impl Room {
    pub(super) fn new(base: Base) -> Result<Self, Error> {
        let folder = tempfile::Builder::new()
            .prefix(&format!("{}-", unique_name()))
            .tempdir()
            .tried(|| "make a private folder".to_owned())?;
        Ok(Self {
            base,
            folder: folder.keep(),
            master: Port::reserve()?,
            cgroup_roots: Mutex::default(),
        })
    }

    pub(super) fn base(&self) -> &Base {
        &self.base
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn master_port(&self) -> u16 {
        self.master.number()
    }

    pub(super) fn master_address(&self) -> String {
        self.master.address()
    }

    /// Notes a cgroup root that goes with this room.
    pub(super) fn owns_cgroup_root(&self, root: &str) {
        self.cgroup_roots
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .push(root.to_owned());
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // Agents and masters hold the room, so by now they have ended; their containers have not.
        let roots = std::mem::take(
            self.cgroup_roots
                .get_mut()
                .unwrap_or_else(|poisoned| poisoned.into_inner()),
        );
        let keep = std::env::var_os(KEEP).is_some();
        if keep {
            eprintln!("testbed: kept {}", self.folder.display());
        }
        for error in clear(&roots, &self.folder, keep) {
            eprintln!("testbed: {error}");
        }
    }
}

/// Ends and removes everything of cgroup roots and of a folder; gives back what did not work.
pub(super) fn clear(roots: &[String], folder: &Path, keep: bool) -> Vec<Error> {
    let mut errors = Vec::new();
    end_processes(folder);
    if let Ok(hierarchies) = Hierarchies::find() {
        errors.extend(roots.iter().filter_map(|root| hierarchies.remove(root).err()));
    }
    errors.extend(unmount(folder).err());
    if !keep && folder.exists() {
        errors.extend(
            fs::remove_dir_all(folder)
                .tried(|| format!("remove {}", folder.display()))
                .err(),
        );
    }
    errors
}

/// Ends what lives in a sandbox of ours or is one of our helpers, and waits for it. Without the Linux launcher there is
/// no cgroup that would know.
fn end_processes(folder: &Path) {
    let until = Instant::now() + Duration::from_secs(5);
    loop {
        let ours = processes_of(folder);
        for process in &ours {
            let _ = kill(*process, Signal::SIGKILL);
        }
        if ours.is_empty() || Instant::now() >= until {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn processes_of(folder: &Path) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let ids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let own = Pid::this();
    ids.map(Pid::from_raw)
        .filter(|process| *process != own && belongs(*process, folder))
        .collect()
}

fn belongs(process: Pid, folder: &Path) -> bool {
    let facts = PathBuf::from(format!("/proc/{process}"));
    // A process that is dead but not reaped has neither.
    let in_sandbox = fs::read_link(facts.join("cwd")).is_ok_and(|path| path.starts_with(folder));
    let is_helper = || {
        let line = fs::read(facts.join("cmdline")).unwrap_or_default();
        let program = line.split(|byte| *byte == 0).next().unwrap_or_default();
        Path::new(&*String::from_utf8_lossy(program)).starts_with(folder)
    };
    in_sandbox || is_helper()
}

/// Unmounts all below a folder: `filesystem/linux` mounts in the host's namespace and leaves it to whoever comes next.
fn unmount(folder: &Path) -> Result<(), Error> {
    let mounts = fs::read_to_string("/proc/self/mounts").tried(|| "read /proc/self/mounts".to_owned())?;
    let points = mounts
        .lines()
        .filter_map(|line| line.split(' ').nth(1))
        .map(Path::new);
    let ours: Vec<&Path> = points.filter(|point| point.starts_with(folder)).collect();
    for point in ours.into_iter().rev() {
        umount2(point, MntFlags::MNT_DETACH).tried(|| format!("unmount {}", point.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_maker() {
        assert_eq!(maker(&unique_name()), Some(std::process::id()));
        assert_eq!(maker("tb12x3-aB9"), Some(12));
        for other in ["tb", "tbl", "tb12", "tb12xyz", "mesos", "tbx1"] {
            assert_eq!(maker(other), None, "{other}");
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The containers: their cgroups in the real hierarchy, with the rules that Mesos's own isolator gives each, and what an
//! isolator is told of them.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use mesos_gpu::wire::container::ContainerInfo;
use mesos_gpu::wire::{ContainerConfig, ContainerID, ContainerState, Resource};
use prost::Message;

use super::super::flags::Flags;
use crate::error::{Error, Tried};

/// What Mesos lets every container do.
const RULES: [&str; 14] = [
    "c *:* m",
    "b *:* m",
    "c 5:1 rwm",
    "c 4:0 rwm",
    "c 4:1 rwm",
    "c 136:* rwm",
    "c 5:2 rwm",
    "c 10:200 rwm",
    "c 1:3 rwm",
    "c 1:5 rwm",
    "c 1:7 rwm",
    "c 5:0 rwm",
    "c 1:9 rwm",
    "c 1:8 rwm",
];

/// `ContainerConfig.command_info`, which Mesos requires and nobody here reads: field 11, an empty message.
const COMMAND: [u8; 2] = [11 << 3 | 2, 0];

/// Mesos's own containerizer.
const MESOS: i32 = 2;

/// Where they are.
pub(super) struct Containers {
    cgroups: PathBuf,
}

impl Containers {
    /// Of the agent with these flags.
    pub(super) fn of(flags: &Flags) -> Result<Self, Error> {
        let (hierarchy, root) = (
            flags.require("cgroups_hierarchy")?,
            flags.require("cgroups_root")?,
        );
        let cgroups = Path::new(&hierarchy).join("devices").join(root);
        Ok(Self { cgroups })
    }

    /// The name of the container with this number, as long as Mesos's own.
    pub(super) fn name(number: usize) -> String {
        format!("{number:08x}-0000-4000-8000-000000000000")
    }

    /// A name that no other container has had.
    pub(super) fn fresh_name() -> String {
        static NEXT: AtomicUsize = AtomicUsize::new(1 << 24);
        Self::name(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// A process that is there, since no container has one.
    pub(super) fn pid() -> i32 {
        nix::unistd::Pid::this().as_raw()
    }

    /// Makes a container's devices cgroup.
    pub(super) fn make_cgroup(&self, id: &str) -> Result<(), Error> {
        let folder = self.cgroups.join(id);
        let tried = || format!("make the cgroup {}", folder.display());
        fs::create_dir_all(&folder).tried(tried)?;
        fs::write(folder.join("devices.deny"), "a").tried(tried)?;
        for rule in RULES {
            fs::write(folder.join("devices.allow"), rule).tried(tried)?;
        }
        Ok(())
    }

    /// Removes it.
    pub(super) fn remove_cgroup(&self, id: &str) -> Result<(), Error> {
        let folder = self.cgroups.join(id);
        match fs::remove_dir(&folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::new(
                format!("remove the cgroup {}", folder.display()),
                error,
            )),
            _ => Ok(()),
        }
    }

    /// What `prepare` is told of a container with so many GPUs, and of the root of its image.
    pub(super) fn config(gpus: u32, root: Option<&Path>) -> Vec<u8> {
        let gpus = (gpus > 0).then(|| Resource::scalar("gpus", gpus.into()));
        let resources = [Resource::scalar("cpus", 0.1), Resource::scalar("mem", 32.0)];
        let config = ContainerConfig {
            directory: "/nonexistent".to_owned(),
            rootfs: root.map(|root| root.display().to_string()),
            container_info: root.map(|_| ContainerInfo {
                r#type: MESOS,
                ..ContainerInfo::default()
            }),
            resources: resources.into_iter().chain(gpus).collect(),
            ..ContainerConfig::default()
        };
        [config.encode_to_vec(), COMMAND.to_vec()].concat()
    }

    /// What `recover` is told of the first containers.
    pub(super) fn states(&self, count: usize) -> Vec<Vec<u8>> {
        let state = |number: usize| ContainerState {
            container_id: ContainerID {
                value: Self::name(number),
                parent: None,
            },
            pid: Self::pid().unsigned_abs().into(),
            directory: "/nonexistent".to_owned(),
            ..ContainerState::default()
        };
        (0..count).map(|number| state(number).encode_to_vec()).collect()
    }
}

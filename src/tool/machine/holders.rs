// SPDX-License-Identifier: Apache-2.0
//! Who holds which GPU, by each witness for itself: what the agent wrote down, what the kernel lets containers open, and
//! which processes compute.

use super::gpus::{Gpus, devices_of};
use crate::config::Config;
use crate::domain::container::ContainerId;
use crate::domain::device_rules::DeviceRule;
use crate::domain::gpu::UnitId;
use crate::domain::record::Record;
use crate::domain::recovery::same_boot;
use crate::ports::checkpoint::{Checkpoint, Loaded};
use crate::ports::device_cgroup::{DeviceCgroup, ProcessCgroups};
use crate::system::cgroup_v1::DevicesHierarchy;
use crate::system::checkpoint_file::CheckpointFile;
use crate::system::dev_nodes::DevDir;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the checkpoint of an agent is whose `--work_dir` is the usual one.
pub const USUAL_CHECKPOINT_DIR: &str = "/var/lib/mesos/mesos-gpu";

/// What the agent wrote down.
#[derive(Debug, Clone, PartialEq)]
pub enum Written {
    /// Nothing, as far as is known.
    Nothing,
    /// Something that cannot be used, in words.
    Unusable(String),
    /// In an earlier boot, so that it holds for nobody.
    EarlierBoot,
    /// This.
    Record(Record),
}

/// What the kernel lets one top-level container open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    /// Which.
    pub container: ContainerId,
    /// The units.
    pub units: Vec<UnitId>,
    /// The rule that opens every GPU there is, if there is one.
    pub opens_all: Option<DeviceRule>,
}

/// A process that computes on a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// The unit.
    pub unit: UnitId,
    /// Its id.
    pub pid: u32,
    /// The agent's container that it is in; none where it is in none.
    pub container: Option<ContainerId>,
}

/// The file of the checkpoint in a folder.
pub fn checkpoint_in(folder: &Path) -> PathBuf {
    folder.join("checkpoint.json")
}

/// What the checkpoint in a folder says.
pub fn written(folder: &Path) -> Written {
    let file = CheckpointFile::new(checkpoint_in(folder));
    match file.load() {
        Loaded::Absent => Written::Nothing,
        Loaded::Unusable(why) => Written::Unusable(why),
        Loaded::Present(record) if same_boot(&record.boot_id, &file.boot_id()) => Written::Record(record),
        Loaded::Present(_) => Written::EarlierBoot,
    }
}

/// What the kernel lets the agent's top-level containers open.
///
/// # Errors
/// Why the kernel cannot be asked.
pub fn granted(config: &Config, gpus: &Gpus) -> Result<Vec<Granted>, String> {
    let hierarchy = DevicesHierarchy::find(&config.cgroups_hierarchy)?;
    let nodes = DevDir::new(config.dev_dir.clone());
    let devices: Vec<_> = gpus
        .inventory
        .units()
        .iter()
        .filter_map(|unit| Some((unit.id.clone(), devices_of(unit, &gpus.report, &nodes)?)))
        .collect();
    let mut all = Vec::new();
    for container in containers(&hierarchy, &config.cgroups_root)? {
        let rules = match hierarchy.list(&container.cgroup(&config.cgroups_root)) {
            Ok(rules) => rules,
            // It ended meanwhile.
            Err(_) if !hierarchy.exists(&container.cgroup(&config.cgroups_root)) => continue,
            Err(why) => return Err(why),
        };
        let open: Vec<_> = rules.iter().filter_map(DeviceRule::opens).collect();
        let units = devices
            .iter()
            .filter(|(_, devices)| devices.iter().all(|device| open.contains(device)));
        all.push(Granted {
            units: units.map(|(id, _)| id.clone()).collect(),
            opens_all: rules.iter().copied().find(DeviceRule::opens_all_gpus),
            container,
        });
    }
    Ok(all)
}

/// The top-level containers that have a devices cgroup.
fn containers(hierarchy: &DevicesHierarchy, cgroups_root: &str) -> Result<Vec<ContainerId>, String> {
    let folder = hierarchy.root().join(cgroups_root);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        // No agent ever ran.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("cannot list {}: {error}", folder.display())),
    };
    let mut found: Vec<ContainerId> = entries
        .filter_map(|entry| entry.ok())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| ContainerId::root_of(&entry.file_name().to_string_lossy()))
        .collect();
    found.sort();
    Ok(found)
}

/// The processes that compute, as NVML lists them, and whose they are. Where the kernel cannot be asked there are none.
pub fn processes(config: &Config, gpus: &Gpus) -> Vec<Process> {
    let (Ok(survey), Ok(hierarchy)) = (&gpus.survey, DevicesHierarchy::find(&config.cgroups_hierarchy))
    else {
        return Vec::new();
    };
    let cgroups = hierarchy.processes();
    let mut all = Vec::new();
    for unit in gpus.inventory.units() {
        for pid in survey.processes(&unit.id).into_iter().flatten() {
            // One that is gone computes no more.
            if Path::new("/proc").join(pid.to_string()).exists() {
                all.push(Process {
                    unit: unit.id.clone(),
                    pid: *pid,
                    container: container_of(&*cgroups, *pid, &config.cgroups_root),
                });
            }
        }
    }
    all
}

fn container_of(cgroups: &dyn ProcessCgroups, pid: u32, cgroups_root: &str) -> Option<ContainerId> {
    let cgroup = cgroups.cgroup_of(pid).ok()??;
    ContainerId::root_at(&cgroup, cgroups_root)
}

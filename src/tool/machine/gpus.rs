// SPDX-License-Identifier: Apache-2.0
//! The GPUs of this machine as an agent would find them, with what NVML adds: the tool has the time to wait for it.

use crate::agent::discovery::{Source, discover};
use crate::config::Config;
use crate::domain::device::{DeviceNumber, NVIDIA_MAJOR, NodeState, capability_node, gpu_node};
use crate::domain::estimate::Sample;
use crate::domain::gpu::{PciAddress, Unit, UnitId, UnitKind};
use crate::domain::inventory::Inventory;
use crate::ports::dev_nodes::DevNodes;
use crate::ports::driver_proc::{DriverProc, ProcReport};
use crate::ports::nvml::{Done, Nvml, NvmlFailure, Survey};
use crate::system::dev_nodes::DevDir;
use crate::system::driver_proc::ProcDriver;
use crate::system::nvml::NvmlThread;
use std::fs;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Where the kernel describes what is on the PCI bus.
pub const PCI_DEVICES: &str = "/sys/bus/pci/devices";

/// What there is.
#[derive(Debug)]
pub struct Gpus {
    /// The units, with what NVML knows of them where it answered.
    pub inventory: Inventory,
    /// Why there is none; none where there are some.
    pub nobody: Option<String>,
    /// NVML's own answer, or why there is none.
    pub survey: Result<Survey, String>,
    /// The kernel driver's.
    pub report: ProcReport,
}

/// Looks for GPUs. Waits for NVML up to `discovery_wait`.
pub fn find(config: &Config) -> Gpus {
    let driver = ProcDriver::new(config.proc_dir.clone());
    let nvml = NvmlThread::start(config.nvml_library.clone(), config.nvml_timeout);
    let survey = ask(&nvml, config.discovery_wait);
    let told = Told(survey.clone());
    let mut found = discover(&driver, &told, config.discovery_wait);
    if found.source == Source::Driver && survey.is_ok() {
        let by_nvml = discover(&NoDriver, &told, config.discovery_wait).inventory;
        let mut contradictions = found.inventory.enrich(&by_nvml);
        // NVML said already why it does not list these.
        let told = told_of(survey.as_ref().ok(), found.inventory.units());
        contradictions.retain(|text| !told.iter().any(|id| text.contains(id.as_str())));
        found.inventory.problems.extend(by_nvml.problems);
        found.inventory.problems.extend(contradictions);
    }
    let nobody = match found.source {
        Source::Nobody(why) => Some(why),
        Source::Driver | Source::Nvml => None,
    };
    Gpus {
        inventory: found.inventory,
        nobody,
        survey: survey.map_err(|failure| failure.to_string()),
        report: driver.read(),
    }
}

/// The units that NVML says something is wrong with.
fn told_of(survey: Option<&Survey>, units: &[Unit]) -> Vec<UnitId> {
    let problems = survey
        .map(|survey| survey.problems.as_slice())
        .unwrap_or_default();
    let told = |unit: &&Unit| {
        problems
            .iter()
            .any(|one| one.uuid.as_ref() == Some(&unit.id) || one.pci == Some(unit.pci))
    };
    units.iter().filter(told).map(|unit| unit.id.clone()).collect()
}

fn ask(nvml: &dyn Nvml, wait: Duration) -> Result<Survey, NvmlFailure> {
    let (tell, told) = channel();
    nvml.survey(Box::new(move |answer| {
        // Nobody listens any more after the wait is over.
        let _ = tell.send(answer);
    }));
    told.recv_timeout(wait).unwrap_or(Err(NvmlFailure::Timeout {
        call: "NVML".to_owned(),
        limit: wait,
    }))
}

/// An answer that was given already.
struct Told(Result<Survey, NvmlFailure>);

impl Nvml for Told {
    fn survey(&self, done: Done<Survey>) {
        done(self.0.clone());
    }

    fn sample(&self, done: Done<Sample>) {
        done(Ok(Sample::default()));
    }
}

/// A driver that says nothing, so that NVML is taken at its word.
struct NoDriver;

impl DriverProc for NoDriver {
    fn read(&self) -> ProcReport {
        ProcReport::default()
    }
}

/// The NUMA node that a GPU is near, where the kernel knows one.
pub fn numa_node(devices: &Path, pci: PciAddress) -> Option<u32> {
    let text = fs::read_to_string(devices.join(pci.to_string()).join("numa_node")).ok()?;
    // -1 is none.
    text.trim().parse().ok()
}

/// The device numbers that a container must be able to open to use a unit; none where one of them is not known.
pub fn devices_of(unit: &Unit, report: &ProcReport, nodes: &DevDir) -> Option<Vec<DeviceNumber>> {
    let number = |node: &str| match nodes.stat(node) {
        Ok(NodeState::Device(number)) => Some(number),
        _ => None,
    };
    let gpu = report.gpus.iter().find(|gpu| &gpu.uuid == unit.gpu_id());
    let minor = gpu.map_or(unit.minor, |gpu| gpu.minor);
    let own = number(&gpu_node(minor)).unwrap_or(DeviceNumber {
        major: NVIDIA_MAJOR,
        minor,
    });
    let UnitKind::Mig {
        gpu_instance,
        compute_instance,
        ..
    } = unit.kind
    else {
        return Some(vec![own]);
    };
    let guard = |instance: Option<u32>| {
        let accesses = gpu.map(|gpu| gpu.mig.as_slice()).unwrap_or_default();
        let access = accesses
            .iter()
            .find(|access| (access.gpu_instance, access.compute_instance) == (gpu_instance, instance))?;
        number(&capability_node(access.minor))
    };
    Some(vec![own, guard(None)?, guard(Some(compute_instance))?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numa_node_is_read_where_the_kernel_knows_one() {
        let devices = tempfile::tempdir().unwrap();
        for (pci, text, want) in [
            ("0000:3b:00.0", Some("1\n"), Some(1)),
            ("0000:3c:00.0", Some("-1\n"), None),
            ("0000:3d:00.0", None, None),
        ] {
            if let Some(text) = text {
                let folder = devices.path().join(pci);
                fs::create_dir(&folder).unwrap();
                fs::write(folder.join("numa_node"), text).unwrap();
            }
            assert_eq!(numa_node(devices.path(), pci.parse().unwrap()), want, "{pci}");
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! A whole machine of fakes, as one value that outlives the agents on it.

use super::agent::ROOT;
use super::checkpoint::FakeCheckpoint;
use super::driver_proc::proc_gpu;
use super::images::FakeImages;
use super::jobs::FakeJobs;
use super::metrics::FakeMetrics;
use super::module_loader::FakeModuleLoader;
use super::nvml::{Answer, nvml_gpu, survey};
use super::{FakeDevNodes, FakeDeviceCgroup, FakeDriverProc, FakeNvml};
use mesos_gpu::ports::driver_proc::DriverProc;

/// A machine of fakes. Clones are the same machine.
#[derive(Clone)]
pub struct FakeMachine {
    pub driver: FakeDriverProc,
    pub nvml: FakeNvml,
    pub nodes: FakeDevNodes,
    pub cgroup: FakeDeviceCgroup,
    pub checkpoint: FakeCheckpoint,
    pub modules: FakeModuleLoader,
    pub images: FakeImages,
    pub metrics: FakeMetrics,
    pub jobs: FakeJobs,
}

impl FakeMachine {
    /// A machine with `count` GPUs whose minor numbers are 0 to `count - 1`.
    pub fn with_gpus(count: u8) -> Self {
        let gpus: Vec<_> = (0..count).map(proc_gpu).collect();
        let listed = gpus
            .iter()
            .zip(0..)
            .map(|(gpu, index)| nvml_gpu(index, gpu))
            .collect();
        let cgroup = FakeDeviceCgroup::new();
        cgroup.create(ROOT);
        let nodes = FakeDevNodes::with_gpus(&(0..u32::from(count)).collect::<Vec<_>>());
        Self {
            nvml: FakeNvml::with_gpus("580.159.04", listed),
            driver: FakeDriverProc::with_gpus("580.159.04", gpus),
            nodes,
            cgroup,
            checkpoint: FakeCheckpoint::new(),
            modules: FakeModuleLoader::new(),
            images: FakeImages::default(),
            metrics: FakeMetrics::default(),
            jobs: FakeJobs::default(),
        }
    }

    /// What NVML says from now on of the processes on each GPU.
    pub fn processes(&self, of: &[(u8, &[u32])]) {
        let report = self.driver.read();
        let listed = report.gpus.iter().zip(0..).map(|(gpu, index)| {
            let mut listed = nvml_gpu(index, gpu);
            let here = of.iter().find(|(n, _)| proc_gpu(*n).uuid == gpu.uuid);
            listed.processes = Some(here.map(|(_, processes)| processes.to_vec()).unwrap_or_default());
            listed
        });
        let told = survey("580.159.04", listed.collect());
        self.nvml.usual(Answer::Now(Ok(told)));
    }
}

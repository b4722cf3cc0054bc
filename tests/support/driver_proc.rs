// SPDX-License-Identifier: Apache-2.0
//! The driver's tree without a driver: stories set what it says and change it while the agent runs.

use mesos_gpu::domain::gpu::{PciAddress, UnitId};
use mesos_gpu::ports::driver_proc::{DriverProc, ProcGpu, ProcReport};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A tree that says what it was told to. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct FakeDriverProc {
    said: Arc<Mutex<ProcReport>>,
    reads: Arc<AtomicUsize>,
    looks: Arc<AtomicUsize>,
}

impl FakeDriverProc {
    /// No driver.
    pub fn new() -> Self {
        Self::default()
    }

    /// A driver with these GPUs.
    pub fn with_gpus(version: &str, gpus: Vec<ProcGpu>) -> Self {
        let fake = Self::new();
        fake.set(ProcReport {
            driver_version: Some(version.to_owned()),
            gpus,
            problems: Vec::new(),
        });
        fake
    }

    /// From now on the tree says this; GPUs that conflict are set aside when it is read.
    pub fn set(&self, report: ProcReport) {
        *self.said.lock().unwrap() = report;
    }

    /// How often it was read, and single GPUs of it, since this was asked last.
    pub fn take_reads(&self) -> (usize, usize) {
        let take = |count: &AtomicUsize| count.swap(0, Ordering::Relaxed);
        (take(&self.reads), take(&self.looks))
    }

    fn said(&self) -> ProcReport {
        self.said.lock().unwrap().clone()
    }

    /// Changes what the tree says.
    pub fn change(&self, change: impl FnOnce(&mut ProcReport)) {
        change(&mut self.said.lock().unwrap());
    }
}

/// The `n`th of a row of GPUs that differ in everything: minor number, UUID and address all follow from `n`.
pub fn proc_gpu(n: u8) -> ProcGpu {
    ProcGpu {
        uuid: UnitId::new(&format!("GPU-{n:08x}-0000-0000-0000-000000000000")),
        pci: format!("0000:{:02x}:00.0", 0x10 + n).parse().unwrap(),
        minor: u32::from(n),
        model: Some("NVIDIA H200".to_owned()),
        excluded: false,
        mig: Vec::new(),
    }
}

impl DriverProc for FakeDriverProc {
    fn version(&self) -> Option<String> {
        self.said().driver_version
    }

    fn gpu(&self, pci: PciAddress) -> Option<ProcGpu> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        self.said().gpus.into_iter().find(|gpu| gpu.pci == pci)
    }

    fn read(&self) -> ProcReport {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let mut report = self.said();
        let all = report.gpus.clone();
        report.gpus.retain(|gpu| {
            let same =
                |other: &&ProcGpu| other.uuid == gpu.uuid || other.pci == gpu.pci || other.minor == gpu.minor;
            let claimants = all.iter().filter(same).count();
            if claimants > 1 {
                report.problems.push(format!(
                    "GPU at {} is set aside: another claims its identity",
                    gpu.pci
                ));
            }
            claimants == 1
        });
        report.gpus.sort_by_key(|gpu| gpu.pci);
        report
    }
}

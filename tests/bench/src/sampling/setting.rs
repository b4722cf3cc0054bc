// SPDX-License-Identifier: Apache-2.0
//! The agent's books and its machine in each case, with processes that really run, so that the kernel is really asked.

use mesos_gpu::agent::sampling::{Estimation, Owners};
use mesos_gpu::domain::container::ContainerId;
use mesos_gpu::domain::estimate::{GpuSample, MemoryUse, Percent, ProcessUse, Sample, Thresholds, books};
use mesos_gpu::domain::gpu::{PciAddress, Unit, UnitId, UnitKind};
use mesos_gpu::domain::guests::Guests;
use mesos_gpu::domain::ledger::Ledger;
use mesos_gpu::ports::device_cgroup::DeviceCgroup;
use mesos_gpu::system::cgroup_v1::DevicesHierarchy;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use testbed::Error;
use testbed::bed::cgroups::Hierarchies;

const GPUS: usize = 16;
const CONTAINERS: usize = 200;
const PROCESSES: usize = 4;
const INTERVAL: u64 = 5;

/// Who is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Each GPU is held, none has a guest.
    Alone,
    /// Each GPU is held and has a guest.
    Guests,
    /// The same, and every container claims a GPU, as after a recovery in doubt.
    Doubt,
}

impl Case {
    /// All of them.
    pub const ALL: [Case; 3] = [Case::Alone, Case::Guests, Case::Doubt];

    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Case::Alone => "16 GPUs held, no guests",
            Case::Guests => "16 GPUs held, 16 guests",
            Case::Doubt => "200 holders in doubt, 16 guests",
        }
    }
}

/// The books, the machine, and what NVML told.
pub struct Setting {
    pub units: Vec<Unit>,
    pub ledger: Ledger,
    pub guests: Guests,
    pub estimation: Estimation,
    pub sample: Sample,
    devices: DevicesHierarchy,
    seconds: Arc<AtomicU64>,
    _processes: Processes,
}

/// Ends them with the setting.
struct Processes(Vec<Child>);

impl Drop for Processes {
    fn drop(&mut self) {
        for process in &mut self.0 {
            // One that is gone already need not be ended.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Setting {
    /// Starts the processes.
    pub fn new(case: Case) -> Result<Self, Error> {
        let mut processes = Processes(Vec::new());
        for _ in 0..GPUS * PROCESSES {
            let sleep = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn();
            processes
                .0
                .push(sleep.map_err(|e| Error::new("start the program sleep", e))?);
        }
        let units: Vec<Unit> = (0..GPUS).map(unit).collect();
        let (mut ledger, mut guests) = (Ledger::default(), Guests::default());
        let held = if case == Case::Doubt { CONTAINERS } else { GPUS };
        for n in 0..held {
            ledger.adopt(&container("c", n), &[units[n % GPUS].id.clone()]);
        }
        if case != Case::Alone {
            for (n, unit) in units.iter().enumerate() {
                guests.add(&container("g", n), std::slice::from_ref(&unit.id));
            }
        }
        let seconds = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&seconds);
        let clock = Box::new(move || Duration::from_secs(clock.load(Ordering::Relaxed)));
        let of_gpu = |(unit, processes): (&Unit, &[Child])| GpuSample {
            uuid: unit.id.clone(),
            utilization: Percent::told(0),
            memory: MemoryUse::told(0, 141 << 30),
            processes: Some(processes.iter().map(process).collect()),
            power: None,
            temperature: None,
        };
        Ok(Self {
            sample: Sample {
                gpus: units
                    .iter()
                    .zip(processes.0.chunks(PROCESSES))
                    .map(of_gpu)
                    .collect(),
            },
            units,
            ledger,
            guests,
            estimation: Estimation::on(Thresholds::default(), clock),
            devices: DevicesHierarchy::at(devices()),
            seconds,
            _processes: processes,
        })
    }

    /// Until the next look.
    pub fn pass(&self) {
        self.seconds.fetch_add(INTERVAL, Ordering::Relaxed);
    }

    /// What the thread for NVML does after a sample.
    pub fn owners(&self) -> Owners {
        Owners::of(&self.sample, Some(&*self.devices.processes()), "mesos")
    }

    /// All that the agent thread does at a look.
    pub fn look(&mut self, sample: &Sample, owners: Owners) {
        let books = books(&self.units, &self.ledger, &self.guests);
        let new = self.estimation.look(Ok((sample, owners)), &books);
        std::hint::black_box(new);
    }
}

/// Where the devices controller is mounted, or where it usually is: where there is none, nobody is found there.
fn devices() -> PathBuf {
    let found = Hierarchies::find().map(|found| found.folder().to_owned());
    found.unwrap_or_else(|_| "/sys/fs/cgroup".into()).join("devices")
}

fn unit(n: usize) -> Unit {
    let bus = u8::try_from(n).unwrap_or_default();
    Unit {
        id: UnitId::new(&format!("GPU-{n:08x}-0000-0000-0000-000000000000")),
        kind: UnitKind::Gpu,
        pci: PciAddress {
            domain: 0,
            bus,
            device: 0,
            function: 0,
        },
        minor: u32::from(bus),
        index: None,
        model: None,
        memory_bytes: Some(141 << 30),
    }
}

/// As long as Mesos's own ids.
fn container(kind: &str, n: usize) -> ContainerId {
    ContainerId::root_of(&format!("{kind}{n:07x}-0000-0000-0000-000000000000"))
}

fn process(child: &Child) -> ProcessUse {
    ProcessUse {
        pid: child.id(),
        utilization: Percent::told(0),
        memory: Some(0),
    }
}

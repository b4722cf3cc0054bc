// SPDX-License-Identifier: Apache-2.0
//! Whose the processes on the GPUs are: the kernel's devices cgroup says it. It is asked on the thread that NVML answers on,
//! right after the sample and for every process of it: one question takes the kernel some 15 µs, and the agent thread has
//! more to do.

use crate::domain::container::ContainerId;
use crate::domain::estimate::{GpuSample, Percent, ProcessUse, Sample};
use crate::ports::device_cgroup::ProcessCgroups;
use std::collections::BTreeMap;

/// Whose the processes of one sample are. One that is not in it is nobody's.
#[derive(Debug, Clone, Default)]
pub struct Owners {
    /// Whether anybody could be asked.
    known: bool,
    of: BTreeMap<u32, Owner>,
}

#[derive(Debug, Clone)]
enum Owner {
    Container(ContainerId),
    /// It ended before it could be asked for.
    Ended,
    /// The kernel did not tell.
    Untold,
}

/// What the processes of one container do on a GPU. What is none is not known of every one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Used {
    /// How much they computed.
    pub utilization: Option<Percent>,
    /// The memory they hold, in bytes.
    pub memory: Option<u64>,
}

impl Used {
    /// Of a container that has no process there.
    pub fn nothing() -> Self {
        Self {
            utilization: Percent::told(0),
            memory: Some(0),
        }
    }

    fn and(self, process: &ProcessUse) -> Self {
        let share = |(one, other): (Percent, Percent)| Percent::told((one.get() + other.get()).min(100));
        Self {
            utilization: self.utilization.zip(process.utilization).and_then(share),
            memory: self
                .memory
                .zip(process.memory)
                .and_then(|(one, other)| one.checked_add(other)),
        }
    }
}

impl Owners {
    /// Asks for all processes of a sample. Without device control nobody knows.
    pub fn of(sample: &Sample, processes: Option<&dyn ProcessCgroups>, cgroups_root: &str) -> Self {
        let Some(processes) = processes else {
            return Self::default();
        };
        let listed = sample.gpus.iter().flat_map(|gpu| gpu.processes.iter().flatten());
        let owner = |pid| match processes.cgroup_of(pid) {
            Ok(Some(path)) => ContainerId::root_at(&path, cgroups_root).map(Owner::Container),
            Ok(None) => Some(Owner::Ended),
            Err(why) => {
                log::debug!("process {pid} counts as nobody's: {why}");
                Some(Owner::Untold)
            }
        };
        let of = listed.filter_map(|process| Some((process.pid, owner(process.pid)?)));
        Self {
            known: true,
            of: of.collect(),
        }
    }

    /// What each container does on a GPU of the sample; one that is not listed does nothing. None when that is not known.
    pub fn uses(&self, gpu: &GpuSample) -> Option<BTreeMap<ContainerId, Used>> {
        let mut uses = BTreeMap::new();
        for process in gpu.processes.iter().flatten() {
            match self.of.get(&process.pid) {
                Some(Owner::Container(container)) => {
                    let used = uses.entry(container.clone()).or_insert_with(Used::nothing);
                    *used = used.and(process);
                }
                Some(Owner::Untold) => return None,
                Some(Owner::Ended) | None => {}
            }
        }
        (self.known && gpu.processes.is_some()).then_some(uses)
    }
}

/// What is known of processes from look to look.
#[derive(Debug, Clone, Default)]
pub(super) struct Attribution {
    alive: BTreeMap<u32, ContainerId>,
    /// Of those that ended since the look before: NVML still tells what they did.
    ended: BTreeMap<u32, ContainerId>,
}

impl Attribution {
    /// Takes the processes of the next look.
    pub fn take(&mut self, owners: Owners) {
        let before = std::mem::take(&mut self.alive);
        self.ended.clear();
        for (pid, owner) in owners.of {
            match owner {
                Owner::Container(container) => {
                    self.alive.insert(pid, container);
                }
                Owner::Ended => {
                    if let Some(container) = before.get(&pid) {
                        self.ended.insert(pid, container.clone());
                    }
                }
                Owner::Untold => {}
            }
        }
    }

    /// Whose a process is.
    pub fn whose(&self, pid: u32) -> Option<ContainerId> {
        self.alive.get(&pid).or_else(|| self.ended.get(&pid)).cloned()
    }
}

// SPDX-License-Identifier: Apache-2.0
//! What one sample says of a GPU's owner. While the owner is alone, everything on the GPU is its own. Once a guest is there,
//! the GPU's own figures contain the guest's, so the owner is judged by its processes: all but those that are known to be a
//! guest's.

use crate::domain::container::ContainerId;
use crate::domain::estimate::holding::Holding;
use crate::domain::estimate::sample::{GpuSample, MemoryUse, Percent, ProcessUse};
use crate::domain::estimate::thresholds::Thresholds;
use std::fmt;

/// What one sample says of the owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Activity {
    /// It computes next to nothing and holds next to no memory.
    Quiet,
    /// It uses its GPU.
    Active(Cause),
    /// It is not known.
    Unknown(Doubt),
}

/// What an owner does with its GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// It computes so much of the time, in percent.
    Computes(u32),
    /// It holds so much memory, in bytes.
    Holds(u64),
    /// Somebody computes so much, and no process says that it does.
    Unclaimed(Percent),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Computes(share) => write!(f, "its owner computes {share} % of the time"),
            Cause::Holds(bytes) => write!(f, "its owner holds {} MiB of memory", bytes >> 20),
            Cause::Unclaimed(share) => {
                write!(f, "somebody computes {share} of the time, and it is not told who")
            }
        }
    }
}

/// Why it is not known what an owner does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// There was no sample, in words why.
    NoSample(String),
    /// The sample does not list the GPU.
    NotListed,
    /// A figure is missing, or cannot be: which.
    NotTold(&'static str),
    /// Several containers hold it.
    SeveralHolders,
    /// Nobody has looked yet, or not for too long.
    NotLooked,
    /// Time went backwards.
    Clock,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::NoSample(why) => f.write_str(why),
            Doubt::NotListed => f.write_str("NVML does not list it"),
            Doubt::NotTold(what) => write!(f, "NVML does not tell {what}"),
            Doubt::SeveralHolders => f.write_str("several containers hold it"),
            Doubt::NotLooked => f.write_str("it was not looked at for too long"),
            Doubt::Clock => f.write_str("the time went backwards"),
        }
    }
}

/// What a process belongs to: a top-level container, or none that is known.
pub type WhoseProcess<'a> = &'a dyn Fn(u32) -> Option<ContainerId>;

/// Judges the owner by one sample. `guests` are those that the GPU has or had since the sample before.
pub(super) fn of_owner(
    gpu: &GpuSample,
    holding: &Holding,
    guests: &[ContainerId],
    whose: WhoseProcess<'_>,
    thresholds: &Thresholds,
) -> Activity {
    let is_guests = |process: &&ProcessUse| {
        !guests.is_empty()
            && whose(process.pid)
                .is_some_and(|container| guests.contains(&container) && !holding.holders.contains(&container))
    };
    let all = gpu.processes.as_deref().unwrap_or_default();
    let own: Vec<&ProcessUse> = all.iter().filter(|process| !is_guests(process)).collect();
    let share = |of: &[&ProcessUse]| {
        of.iter()
            .filter_map(|process| process.utilization)
            .map(Percent::get)
            .sum()
    };
    let mut computes: u32 = share(&own);
    let mut holds = own
        .iter()
        .filter_map(|process| process.memory)
        .fold(0, u64::saturating_add);
    if guests.is_empty() {
        computes = computes.max(gpu.utilization.map_or(0, Percent::get));
        holds = holds.max(gpu.memory.map_or(0, MemoryUse::used));
    }

    // What is known to be in use counts whatever else is not known.
    let limit = gpu.memory.map(|memory| thresholds.memory.of(memory.total()));
    if computes > thresholds.utilization.get() {
        return Activity::Active(Cause::Computes(computes));
    }
    if limit.is_some_and(|limit| holds > limit) {
        return Activity::Active(Cause::Holds(holds));
    }
    let claimed: u32 = share(&all.iter().collect::<Vec<_>>());
    if let Some(unclaimed) = gpu.utilization.filter(|share| *share > thresholds.utilization)
        && claimed == 0
    {
        return Activity::Active(Cause::Unclaimed(unclaimed));
    }
    match untold(gpu, &own) {
        Some(what) => Activity::Unknown(Doubt::NotTold(what)),
        None => Activity::Quiet,
    }
}

/// The first figure that is missing. A GPU that does not tell what each process does could not be judged beside a guest, so
/// that is asked of it before it gets one.
fn untold(gpu: &GpuSample, own: &[&ProcessUse]) -> Option<&'static str> {
    let Some(memory) = gpu.memory else {
        return Some("its memory");
    };
    if gpu.utilization.is_none() {
        return Some("its utilisation");
    }
    if gpu.processes.is_none() {
        return Some("its processes");
    }
    if own.iter().any(|process| process.utilization.is_none()) {
        return Some("the utilisation of each process");
    }
    let is_told = |process: &&ProcessUse| process.memory.is_some_and(|bytes| bytes <= memory.total());
    (!own.iter().all(is_told)).then_some("the memory of each process")
}

#[cfg(test)]
#[path = "activity_tests.rs"]
mod tests;

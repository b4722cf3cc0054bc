// SPDX-License-Identifier: Apache-2.0
//! `status`: who holds what, by the agent's checkpoint, by the kernel and by NVML beside each other. They say the same,
//! or somebody should know.

mod judge;
mod show;

pub use judge::judge;
pub use show::{json, text};

use crate::domain::container::ContainerId;
use crate::domain::gpu::{Unit, UnitId};
use crate::domain::record::Record;
use crate::tool::finding::{Rule, Severity};
use crate::tool::list;
use crate::tool::machine::holders::{Granted, Process, Written};
use std::collections::BTreeMap;

/// What the witnesses say.
#[derive(Debug, Clone)]
pub struct Witnesses {
    /// The units of the machine.
    pub units: Vec<Unit>,
    /// The checkpoint.
    pub written: Written,
    /// The kernel, or why it says nothing.
    pub granted: Result<Vec<Granted>, String>,
    /// NVML.
    pub processes: Vec<Process>,
}

/// What they say of one unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Which.
    pub id: UnitId,
    /// NVML's index; none for a unit that is not on this machine.
    pub index: Option<usize>,
    /// Its minor number; none likewise.
    pub minor: Option<u32>,
    /// The containers that hold it by the checkpoint.
    pub written: Vec<ContainerId>,
    /// The containers that are guests on it by the checkpoint: with whom the holder shares it.
    pub guests: Vec<ContainerId>,
    /// The containers that can open it.
    pub granted: Vec<ContainerId>,
    /// The processes that compute on it.
    pub processes: Vec<(u32, Option<ContainerId>)>,
}

macro_rules! rules {
    ($($severity:ident $name:ident $text:literal: $meaning:literal;)*) => {
        $(const $name: Rule = Rule { name: $text, severity: Severity::$severity, meaning: $meaning };)*
        /// Every rule of `status`.
        pub const RULES: &[Rule] = &[$($name),*];
    };
}

rules! {
    Note NO_CHECKPOINT "no-checkpoint": "there is no checkpoint where it was looked for";
    Error CHECKPOINT_UNUSABLE "checkpoint-unusable": "the checkpoint cannot be used";
    Note CHECKPOINT_OF_EARLIER_BOOT "checkpoint-of-earlier-boot": "the checkpoint is of an earlier boot, so nobody holds what it lists";
    Warning KERNEL_UNKNOWN "kernel-unknown": "the kernel's device rules cannot be read";
    Error TWO_HOLDERS "two-holders": "a GPU belongs to two containers, of which none is a guest";
    Note SHARED "shared": "a GPU has guests, as idle GPUs have with oversubscription";
    Warning GRANTED_NOT_WRITTEN "granted-not-written": "a container can open a GPU on which the checkpoint does not name it";
    Warning WRITTEN_NOT_GRANTED "written-not-granted": "a container cannot open a GPU on which the checkpoint names it";
    Warning HOLDER_GONE "holder-gone": "the checkpoint names a container on a GPU that has no cgroup";
    Warning HELD_GPU_GONE "held-gpu-gone": "a container holds a GPU that is not on this machine";
    Error ALL_GPUS_OPEN "all-gpus-open": "a container can open every GPU, by a rule for all numbers";
    Warning FOREIGN_PROCESS "foreign-process": "a process computes on a GPU that is not its container's";
}

impl Witnesses {
    /// What is said of each unit, in the machine's order, and then of those that are not there.
    pub fn lines(&self) -> Vec<Line> {
        let here = self.units.iter().map(|unit| {
            let mut line = self.line(&unit.id);
            line.index = Some(list::index(unit, &self.units));
            line.minor = Some(unit.minor);
            line
        });
        let mut lines: Vec<Line> = here.collect();
        let record = self.record();
        let named = record.map_or_else(Vec::new, |record| {
            let units = record.held.values().chain(record.guests.values());
            units.flatten().cloned().collect()
        });
        for id in named {
            if !lines.iter().any(|line| line.id == id) {
                lines.push(self.line(&id));
            }
        }
        lines
    }

    /// What the checkpoint says, where that counts.
    fn record(&self) -> Option<&Record> {
        match &self.written {
            Written::Record(record) => Some(record),
            _ => None,
        }
    }

    fn line(&self, id: &UnitId) -> Line {
        let on = |all: &BTreeMap<ContainerId, Vec<UnitId>>| -> Vec<ContainerId> {
            let on = all
                .iter()
                .filter(|(container, units)| !container.is_nested() && units.contains(id));
            on.map(|(container, _)| container.clone()).collect()
        };
        let record = self.record();
        let granted = self.granted.iter().flatten().filter(|one| one.units.contains(id));
        let processes = self.processes.iter().filter(|process| &process.unit == id);
        Line {
            id: id.clone(),
            index: None,
            minor: None,
            written: record.map_or_else(Vec::new, |record| on(&record.held)),
            guests: record.map_or_else(Vec::new, |record| on(&record.guests)),
            granted: granted.map(|one| one.container.clone()).collect(),
            processes: processes
                .map(|process| (process.pid, process.container.clone()))
                .collect(),
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! What a container that outlived its agent holds: what two witnesses, the checkpoint and the kernel, say of it together.
//!
//! Each can know what the other does not. The checkpoint is written before the kernel changes, so after a crash it may be
//! one step ahead; containers of an allocator that was here before are in the kernel only; and the kernel knows numbers,
//! which it cannot tell of a GPU that is gone. A unit that either of them gives to a container stays held: an idle GPU is
//! a nuisance, and one with two holders is a fault.

use crate::domain::container::ContainerId;
use crate::domain::gpu::UnitId;
use crate::domain::inventory::Inventory;
use crate::domain::record::Record;
use crate::domain::words::listed;

/// What the checkpoint says of one container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checkpointed<'a> {
    /// It is in the record, with these units.
    Holds(&'a [UnitId]),
    /// There is a record, and it is not in there: nothing was given to it.
    NotListed,
    /// No record was ever written.
    NoRecord,
    /// What was written cannot be used.
    Unusable,
}

impl<'a> Checkpointed<'a> {
    /// What a record says of a container.
    pub fn in_record(record: &'a Record, container: &ContainerId) -> Self {
        record
            .held
            .get(container)
            .map_or(Self::NotListed, |units| Self::Holds(units))
    }
}

/// What is known of one root container.
#[derive(Debug, Clone, Copy)]
pub struct Witnesses<'a> {
    /// What the checkpoint says.
    pub checkpoint: Checkpointed<'a>,
    /// The units that its devices cgroup grants; none where that cannot be read or does not exist.
    pub kernel: Option<&'a [UnitId]>,
    /// Whether the record is of this boot ([`same_boot`]); says nothing where there is no record.
    pub same_boot: bool,
}

/// What a container holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// The units, each once: the checkpoint's in its order, then what only the kernel grants.
    pub units: Vec<UnitId>,
    /// What a person must know of it, for the log.
    pub notes: Vec<String>,
}

/// Whether a record of the one boot is of the other. A boot without an id may be any: in doubt units stay held.
pub fn same_boot(written: &str, now: &str) -> bool {
    written.is_empty() || now.is_empty() || written == now
}

/// The GPUs that a container was a guest on, as far as it can still be. The kernel grants a guest what it grants a holder, so
/// only the checkpoint tells the one from the other: its word is what is taken from the kernel's before that counts as a hold.
pub fn guest_of(record: &Record, container: &ContainerId, same_boot: bool) -> Vec<UnitId> {
    let written = record.guests.get(container).filter(|_| same_boot);
    written.cloned().unwrap_or_default()
}

/// What a container that was found at recovery, live or an orphan, holds.
pub fn holds(container: &ContainerId, witnesses: &Witnesses<'_>, inventory: &Inventory) -> Decision {
    // What ran in an earlier boot is dead, so what was written then gives nobody anything.
    let (written, dead) = match witnesses.checkpoint {
        Checkpointed::Holds(units) if witnesses.same_boot => (units, &[][..]),
        Checkpointed::Holds(units) => (&[][..], units),
        _ => (&[][..], &[][..]),
    };
    let granted = witnesses.kernel.unwrap_or(&[]);
    let units = union(written, granted);

    let lost = units
        .iter()
        .filter(|unit| inventory.get(unit).is_none())
        .collect();
    // The kernel cannot name a unit that is gone, so its silence on one contradicts nothing.
    let only_written = without(written, granted).filter(|unit| {
        let silent = witnesses.kernel.is_none();
        silent || inventory.get(unit).is_some()
    });
    let findings: [(&str, Vec<&UnitId>); 4] = [
        (on_only_written(witnesses), only_written.collect()),
        (on_only_granted(witnesses), without(granted, written).collect()),
        (
            "holds no more what the checkpoint lists in an earlier boot",
            without(dead, granted).collect(),
        ),
        ("keeps what is not among this agent's GPUs (any more)", lost),
    ];
    let mut notes: Vec<String> = findings
        .iter()
        .filter(|(_, units)| !units.is_empty())
        .map(|(what, units)| format!("container {container} {what}: {}", listed(units)))
        .collect();
    let no_record = matches!(
        witnesses.checkpoint,
        Checkpointed::NoRecord | Checkpointed::Unusable
    );
    if no_record && witnesses.kernel.is_none() {
        notes.push(format!(
            "cannot tell which GPUs container {container} holds: neither the checkpoint nor the kernel says it"
        ));
    }
    Decision { units, notes }
}

fn on_only_written(witnesses: &Witnesses<'_>) -> &'static str {
    match witnesses.kernel {
        Some(_) => "keeps what the checkpoint lists and the kernel does not grant",
        None => "keeps what the checkpoint lists, and the kernel does not say",
    }
}

fn on_only_granted(witnesses: &Witnesses<'_>) -> &'static str {
    match witnesses.checkpoint {
        Checkpointed::NoRecord => "holds what the kernel grants, there is no checkpoint",
        Checkpointed::Unusable => "holds what the kernel grants, the checkpoint cannot be used",
        _ if !witnesses.same_boot => "holds what the kernel grants, the checkpoint is of an earlier boot",
        _ => "keeps what the kernel grants and the checkpoint does not list",
    }
}

/// Each unit of either list once.
fn union(first: &[UnitId], second: &[UnitId]) -> Vec<UnitId> {
    let mut units: Vec<UnitId> = Vec::new();
    for unit in first.iter().chain(second) {
        if !units.contains(unit) {
            units.push(unit.clone());
        }
    }
    units
}

fn without<'a>(units: &'a [UnitId], others: &'a [UnitId]) -> impl Iterator<Item = &'a UnitId> {
    units.iter().filter(|unit| !others.contains(unit))
}

#[cfg(test)]
mod tests;

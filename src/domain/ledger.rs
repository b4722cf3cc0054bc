// SPDX-License-Identifier: Apache-2.0
//! Who holds what. The one book of the agent; a unit has at most one regular holder.

use crate::domain::container::ContainerId;
use crate::domain::gpu::{Unit, UnitId};
use crate::domain::placement;
use std::collections::{BTreeMap, BTreeSet};

/// What may be done with a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// It can be handed out.
    Free,
    /// A container has it.
    Held,
    /// No container has it any more, and it is not yet certain that nobody uses it.
    Releasing,
    /// It is set aside, for this reason.
    Sick(String),
    /// Somebody outside of this agent's containers uses it: in words, who.
    Foreign(String),
}

/// Why a container cannot have the units it asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{wanted} more wanted, {free} of {total} free{}", aside(*.releasing, .set_aside))]
pub struct Shortage {
    /// How many were asked for.
    pub wanted: usize,
    /// How many are free.
    pub free: usize,
    /// How many are being released.
    pub releasing: usize,
    /// The units that are set aside, each in words.
    pub set_aside: Vec<String>,
    /// How many this agent manages.
    pub total: usize,
}

fn aside(releasing: usize, set_aside: &[String]) -> String {
    let mut text = String::new();
    if releasing > 0 {
        text += &format!(", {releasing} being released");
    }
    for unit in set_aside {
        text += ", ";
        text += unit;
    }
    text
}

/// The book: for each container the units it holds, in the order in which they were taken.
///
/// Recovery can find two containers that the kernel lets use the same unit (after a lost checkpoint, or another
/// allocator's mistake). Both claims are kept, so that the unit is free only when both are gone.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    held: BTreeMap<ContainerId, Vec<UnitId>>,
    releasing: BTreeSet<UnitId>,
    sick: BTreeMap<UnitId, String>,
    foreign: BTreeMap<UnitId, String>,
}

impl Ledger {
    /// What may be done with a unit. Whoever holds a sick one keeps it.
    pub fn phase(&self, unit: &UnitId) -> Phase {
        if self.is_held(unit) {
            return Phase::Held;
        }
        if self.releasing.contains(unit) {
            return Phase::Releasing;
        }
        if let Some(reason) = self.sick.get(unit) {
            return Phase::Sick(reason.clone());
        }
        self.foreign
            .get(unit)
            .map_or(Phase::Free, |who| Phase::Foreign(who.clone()))
    }

    /// Takes `count` free units of `units` for a container, all or none.
    ///
    /// # Errors
    /// [`Shortage`] when fewer are free; then nothing is taken.
    pub fn take(
        &mut self,
        units: &[Unit],
        container: &ContainerId,
        count: usize,
    ) -> Result<Vec<UnitId>, Shortage> {
        let free = units.iter().filter(|unit| self.phase(&unit.id) == Phase::Free);
        let taken = placement::choose(free, count).ok_or_else(|| self.shortage(units, count))?;
        self.adopt(container, &taken);
        Ok(taken)
    }

    /// The numbers with which a request for `wanted` more is refused.
    pub fn shortage(&self, units: &[Unit], wanted: usize) -> Shortage {
        let mut shortage = Shortage {
            wanted,
            free: 0,
            releasing: 0,
            set_aside: Vec::new(),
            total: units.len(),
        };
        for unit in units {
            match self.phase(&unit.id) {
                Phase::Free => shortage.free += 1,
                Phase::Held => {}
                Phase::Releasing => shortage.releasing += 1,
                Phase::Sick(reason) => shortage
                    .set_aside
                    .push(format!("{} set aside: {reason}", unit.id)),
                Phase::Foreign(who) => shortage.set_aside.push(format!("{} used by {who}", unit.id)),
            }
        }
        shortage
    }

    /// Books units that a container has already, whoever else has them.
    pub fn adopt(&mut self, container: &ContainerId, units: &[UnitId]) {
        if units.is_empty() {
            return;
        }
        let held = self.held.entry(container.clone()).or_default();
        for unit in units {
            if !held.contains(unit) {
                held.push(unit.clone());
            }
        }
    }

    /// Gives some of a container's units back, free at once: nobody can have used them.
    pub fn give_back(&mut self, container: &ContainerId, units: &[UnitId]) {
        if let Some(held) = self.held.get_mut(container) {
            held.retain(|unit| !units.contains(unit));
            if held.is_empty() {
                self.held.remove(container);
            }
        }
    }

    /// Gives some of a container's units back that it may have used: they are free when it is certain that they are not
    /// used any more ([`Ledger::freed`]).
    pub fn let_go(&mut self, container: &ContainerId, units: &[UnitId]) {
        let had: Vec<UnitId> = self
            .held_by(container)
            .iter()
            .filter(|unit| units.contains(unit))
            .cloned()
            .collect();
        self.give_back(container, &had);
        self.releasing.extend(had);
    }

    /// Notes that somebody may use a unit that nobody holds, until it is [`Ledger::freed`].
    pub fn hold_back(&mut self, unit: &UnitId) {
        self.releasing.insert(unit.clone());
    }

    /// Notes that nobody uses a unit any more that was let go.
    pub fn freed(&mut self, unit: &UnitId) {
        self.releasing.remove(unit);
    }

    /// Sets a unit aside, or takes it up again.
    pub fn set_sick(&mut self, unit: &UnitId, reason: Option<String>) {
        match reason {
            Some(reason) => self.sick.insert(unit.clone(), reason),
            None => self.sick.remove(unit),
        };
    }

    /// Why a unit is set aside, whoever holds it.
    pub fn sick(&self, unit: &UnitId) -> Option<&str> {
        self.sick.get(unit).map(String::as_str)
    }

    /// Notes who outside of this agent's containers uses a unit.
    pub fn set_foreign(&mut self, unit: &UnitId, who: Option<String>) {
        match who {
            Some(who) => self.foreign.insert(unit.clone(), who),
            None => self.foreign.remove(unit),
        };
    }

    /// What a container holds, in the order in which it was taken.
    pub fn held_by(&self, container: &ContainerId) -> &[UnitId] {
        self.held.get(container).map_or(&[], Vec::as_slice)
    }

    /// All holders.
    pub fn all_held(&self) -> &BTreeMap<ContainerId, Vec<UnitId>> {
        &self.held
    }

    /// Who holds a unit: nobody, one container, or after a recovery in doubt several.
    pub fn holders<'a>(&'a self, unit: &'a UnitId) -> impl Iterator<Item = &'a ContainerId> {
        self.held
            .iter()
            .filter(|(_, units)| units.contains(unit))
            .map(|(container, _)| container)
    }

    /// Whether anybody holds the unit.
    pub fn is_held(&self, unit: &UnitId) -> bool {
        self.holders(unit).next().is_some()
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;

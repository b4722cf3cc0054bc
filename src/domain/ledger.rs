// SPDX-License-Identifier: Apache-2.0
//! Who holds what. The one book of the agent; a unit has at most one regular holder.

use crate::domain::container::ContainerId;
use crate::domain::gpu::{Unit, UnitId};
use crate::domain::placement;
use std::collections::BTreeMap;

/// Why a container cannot have the units it asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{wanted} more wanted, {free} of {total} free")]
pub struct Shortage {
    /// How many were asked for.
    pub wanted: usize,
    /// How many are free.
    pub free: usize,
    /// How many this agent manages.
    pub total: usize,
}

/// The book: for each container the units it holds, in the order in which they were taken.
///
/// Recovery can find two containers that the kernel lets use the same unit (after a lost checkpoint, or another
/// allocator's mistake). Both claims are kept, so that the unit is free only when both are gone.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    held: BTreeMap<ContainerId, Vec<UnitId>>,
}

impl Ledger {
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
        let free = || units.iter().filter(|unit| !self.is_held(&unit.id));
        let taken = placement::choose(free(), count).ok_or_else(|| Shortage {
            wanted: count,
            free: free().count(),
            total: units.len(),
        })?;
        self.adopt(container, &taken);
        Ok(taken)
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

    /// Gives some of a container's units back.
    pub fn give_back(&mut self, container: &ContainerId, units: &[UnitId]) {
        if let Some(held) = self.held.get_mut(container) {
            held.retain(|unit| !units.contains(unit));
            if held.is_empty() {
                self.held.remove(container);
            }
        }
    }

    /// What a container holds, in the order in which it was taken.
    pub fn held_by(&self, container: &ContainerId) -> &[UnitId] {
        self.held.get(container).map_or(&[], Vec::as_slice)
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
mod tests {
    use super::*;
    use crate::domain::gpu::UnitKind;
    use proptest::prelude::*;

    fn units(count: u8) -> Vec<Unit> {
        let unit = |i: u8| Unit {
            id: UnitId::new(&format!("GPU-{i}")),
            kind: UnitKind::Gpu,
            pci: format!("{i:02x}:00.0").parse().unwrap(),
            minor: u32::from(i),
            index: None,
            model: None,
            memory_bytes: None,
        };
        (0..count).map(unit).collect()
    }

    #[test]
    fn growing_keeps_what_was_held_before() {
        let (units, mut ledger, container) = (units(4), Ledger::default(), ContainerId::root_of("a"));
        let first = ledger.take(&units, &container, 1).unwrap();
        let more = ledger.take(&units, &container, 2).unwrap();
        assert_eq!(ledger.held_by(&container).len(), 3);
        assert!(!more.contains(&first[0]));
        ledger.give_back(&container, &more);
        assert_eq!(ledger.held_by(&container), first);
    }

    #[test]
    fn a_shortage_takes_nothing_and_names_the_numbers() {
        let (units, mut ledger) = (units(2), Ledger::default());
        ledger.take(&units, &ContainerId::root_of("a"), 1).unwrap();
        let error = ledger.take(&units, &ContainerId::root_of("b"), 2).unwrap_err();
        assert_eq!(error.to_string(), "2 more wanted, 1 of 2 free");
        assert!(ledger.held_by(&ContainerId::root_of("b")).is_empty());
    }

    #[test]
    fn a_unit_in_doubt_is_free_only_when_both_claims_are_gone() {
        let (units, mut ledger) = (units(1), Ledger::default());
        let (a, b) = (ContainerId::root_of("a"), ContainerId::root_of("b"));
        let id = [units[0].id.clone()];
        ledger.adopt(&a, &id);
        ledger.adopt(&b, &id);
        ledger.give_back(&a, &id);
        assert!(ledger.take(&units, &a, 1).is_err());
        ledger.give_back(&b, &id);
        assert!(ledger.take(&units, &a, 1).is_ok());
    }

    proptest! {
        #[test]
        fn no_sequence_of_verbs_shares_or_loses_a_unit(steps in prop::collection::vec((0..5usize, 0..4usize, any::<bool>()), 0..200)) {
            let units = units(4);
            let mut ledger = Ledger::default();
            let containers: Vec<_> = (0..5).map(|i| ContainerId::root_of(&i.to_string())).collect();
            for (who, count, take) in steps {
                let container = &containers[who];
                if take {
                    let free = units.iter().filter(|u| !ledger.is_held(&u.id)).count();
                    prop_assert_eq!(ledger.take(&units, container, count).is_ok(), count <= free);
                } else {
                    let some: Vec<_> = ledger.held_by(container).iter().take(count).cloned().collect();
                    ledger.give_back(container, &some);
                }
                for unit in &units {
                    prop_assert!(ledger.holders(&unit.id).count() <= 1);
                }
            }
            for container in &containers {
                let all = ledger.held_by(container).to_vec();
                ledger.give_back(container, &all);
            }
            prop_assert!(ledger.take(&units, &containers[0], 4).is_ok());
        }
    }
}

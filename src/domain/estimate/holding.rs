// SPDX-License-Identifier: Apache-2.0
//! What the estimate must know of the books: who has a GPU, and who else is on it.

use crate::domain::container::ContainerId;
use crate::domain::gpu::{Unit, UnitId, UnitKind};
use crate::domain::guests::Guests;
use crate::domain::ledger::Ledger;
use std::collections::BTreeMap;

/// One GPU in the books. Containers are top-level ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holding {
    /// Whose it is: nobody's, one container's, or after a recovery in doubt several ones'.
    pub holders: Vec<ContainerId>,
    /// Who is on it besides, as a guest.
    pub guests: Vec<ContainerId>,
    /// Whether a guest could be placed on it at all: it is a whole GPU, there, and not set aside.
    pub placeable: bool,
}

impl Holding {
    /// The one container that it belongs to.
    pub fn owner(&self) -> Option<&ContainerId> {
        match self.holders.as_slice() {
            [owner] => Some(owner),
            _ => None,
        }
    }
}

/// All GPUs of the agent.
pub type Books = BTreeMap<UnitId, Holding>;

/// What ledger and guest book say of these units. A MIG instance tells nothing of its use, and a unit that is set aside
/// serves nobody new.
pub fn books(units: &[Unit], ledger: &Ledger, guests: &Guests) -> Books {
    let mut holders: BTreeMap<&UnitId, Vec<ContainerId>> = BTreeMap::new();
    for (container, held) in ledger.all_held() {
        let root = container.root();
        for unit in held {
            let of_unit = holders.entry(unit).or_default();
            if !of_unit.contains(&root) {
                of_unit.push(root.clone());
            }
        }
    }
    let mut holding = |unit: &Unit| Holding {
        holders: holders.remove(&unit.id).unwrap_or_default(),
        guests: guests.on(&unit.id).iter().map(ContainerId::root).collect(),
        placeable: unit.kind == UnitKind::Gpu && ledger.sick(&unit.id).is_none(),
    };
    units
        .iter()
        .map(|unit| (unit.id.clone(), holding(unit)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_and_guests_are_top_level_containers_and_only_sound_whole_gpus_can_be_shared() {
        let unit = |id: &str, kind| Unit {
            id: UnitId::new(id),
            kind,
            pci: "0000:10:00.0".parse().unwrap(),
            minor: 0,
            index: None,
            model: None,
            memory_bytes: None,
        };
        let part = UnitKind::Mig {
            parent: UnitId::new("GPU-3"),
            gpu_instance: 1,
            compute_instance: 0,
            profile: None,
        };
        let units = [
            unit("GPU-1", UnitKind::Gpu),
            unit("GPU-2", UnitKind::Gpu),
            unit("MIG-1", part),
        ];
        let (a, guest) = (ContainerId::root_of("a"), ContainerId::root_of("g"));
        let child = ContainerId::from_path(vec!["a".into(), "b".into()]).unwrap();
        let mut ledger = Ledger::default();
        ledger.adopt(&a, &[units[0].id.clone(), units[2].id.clone()]);
        ledger.adopt(&child, &[units[0].id.clone()]);
        ledger.set_sick(&units[1].id, Some("it is lost".to_owned()));
        let mut guests = Guests::default();
        guests.add(&guest, &[units[0].id.clone()]);
        let holding = |holders: &[&ContainerId], guests: &[&ContainerId], placeable| Holding {
            holders: holders.iter().copied().cloned().collect(),
            guests: guests.iter().copied().cloned().collect(),
            placeable,
        };
        let want = [
            holding(&[&a], &[&guest], true),
            holding(&[], &[], false),
            holding(&[&a], &[], false),
        ];
        let books = books(&units, &ledger, &guests);
        assert_eq!(books.into_values().collect::<Vec<_>>(), want);
    }
}

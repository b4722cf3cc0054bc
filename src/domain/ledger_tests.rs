// SPDX-License-Identifier: Apache-2.0
//! The book keeps every unit with at most one regular holder, whatever is asked of it.

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

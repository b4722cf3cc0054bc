// SPDX-License-Identifier: Apache-2.0
//! Every case of one unit in one container, with its outcome written out; and that units do not sway one another.

use super::*;
use crate::domain::gpu::{Unit, UnitKind};
use proptest::prelude::*;

/// For each thing that the checkpoint can say of the unit and each that the kernel can: whether the container holds it,
/// where the record is of this boot (a unit of the inventory, a lost one) and where it is of an earlier one (the same two).
///
/// `held` or `-`, then the notes by the letters of [`NOTES`].
#[rustfmt::skip]
const TABLE: [(&str, &str, [&str; 4]); 15] = [
    // checkpoint    kernel       this boot                earlier boot
    //                            here       lost         here       lost
    ("names it",     "grants it", ["held",   "held L",    "held E",  "held E L"]),
    ("names it",     "not it",    ["held C", "held L",    "- D",     "- D"]),
    ("names it",     "silent",    ["held S", "held S L",  "- D",     "- D"]),
    ("names others", "grants it", ["held K", "held K L",  "held E",  "held E L"]),
    ("names others", "not it",    ["-",      "-",         "-",       "-"]),
    ("names others", "silent",    ["-",      "-",         "-",       "-"]),
    ("not listed",   "grants it", ["held K", "held K L",  "held E",  "held E L"]),
    ("not listed",   "not it",    ["-",      "-",         "-",       "-"]),
    ("not listed",   "silent",    ["-",      "-",         "-",       "-"]),
    ("no record",    "grants it", ["held N", "held N L",  "held N",  "held N L"]),
    ("no record",    "not it",    ["-",      "-",         "-",       "-"]),
    ("no record",    "silent",    ["- ?",    "- ?",       "- ?",     "- ?"]),
    ("unusable",     "grants it", ["held U", "held U L",  "held U",  "held U L"]),
    ("unusable",     "not it",    ["-",      "-",         "-",       "-"]),
    ("unusable",     "silent",    ["- ?",    "- ?",       "- ?",     "- ?"]),
];

#[rustfmt::skip]
const NOTES: [(&str, &str); 9] = [
    ("C", "keeps what the checkpoint lists and the kernel does not grant"),
    ("D", "holds no more what the checkpoint lists in an earlier boot"),
    ("E", "holds what the kernel grants, the checkpoint is of an earlier boot"),
    ("K", "keeps what the kernel grants and the checkpoint does not list"),
    ("N", "holds what the kernel grants, there is no checkpoint"),
    ("S", "keeps what the checkpoint lists, and the kernel does not say"),
    ("U", "holds what the kernel grants, the checkpoint cannot be used"),
    ("L", "keeps what is not among this agent's GPUs (any more)"),
    ("?", "cannot tell which GPUs container c holds"),
];

fn id(number: usize) -> UnitId {
    UnitId::new(&format!("GPU-{number}"))
}

fn inventory(numbers: impl IntoIterator<Item = usize>) -> Inventory {
    let unit = |number| Unit {
        id: id(number),
        kind: UnitKind::Gpu,
        pci: "01:00.0".parse().unwrap(),
        minor: 0,
        index: None,
        model: None,
        memory_bytes: None,
    };
    Inventory::new(numbers.into_iter().map(unit).collect(), None, vec![])
}

/// Puts one case of the table together around unit 1 and gives the outcome in the table's words. Unit 2 is the other one,
/// which both witnesses agree on wherever one is named.
fn outcome(checkpoint: &str, kernel: &str, here: bool, same_boot: bool) -> String {
    let container = ContainerId::root_of("c");
    let (it, others) = ([id(1)], [id(2)]);
    let with_others = [id(2), id(1)];
    let among_others = checkpoint == "names others";
    let checkpoint = match checkpoint {
        "names it" => Checkpointed::Holds(&it),
        "names others" => Checkpointed::Holds(&others),
        "not listed" => Checkpointed::NotListed,
        "no record" => Checkpointed::NoRecord,
        "unusable" => Checkpointed::Unusable,
        other => panic!("{other}"),
    };
    let kernel: Option<&[UnitId]> = match kernel {
        "grants it" if among_others => Some(&with_others),
        "grants it" => Some(&it),
        "not it" if among_others => Some(&others),
        "not it" => Some(&[]),
        "silent" => None,
        other => panic!("{other}"),
    };
    let witnesses = Witnesses {
        checkpoint,
        kernel,
        same_boot,
    };
    let inventory = inventory(if here { 1..=2 } else { 2..=2 });
    let decision = holds(&container, &witnesses, &inventory);

    let mut words = vec![if decision.units.contains(&id(1)) {
        "held"
    } else {
        "-"
    }];
    // Only what is said of unit 1, or of no unit at all.
    let notes: Vec<&String> = decision
        .notes
        .iter()
        .filter(|note| note.contains("GPU-1") || !note.contains("GPU-"))
        .collect();
    for note in &notes {
        assert!(note.contains("container c "), "{note}");
    }
    let said = |text: &str| notes.iter().filter(|note| note.contains(text)).count();
    words.extend(
        NOTES
            .iter()
            .filter(|(_, text)| said(text) == 1)
            .map(|(letter, _)| *letter),
    );
    assert_eq!(
        words.len() - 1,
        notes.len(),
        "each note has its letter: {notes:?}"
    );
    words.join(" ")
}

#[test]
fn every_case_of_one_unit_comes_out_as_the_table_says() {
    let mut wrong = Vec::new();
    for (checkpoint, kernel, wanted) in TABLE {
        let cases = [(true, true), (true, false), (false, true), (false, false)];
        for ((same_boot, here), want) in cases.into_iter().zip(wanted) {
            let got = outcome(checkpoint, kernel, here, same_boot);
            if got != want {
                wrong.push(format!(
                    "checkpoint {checkpoint}, kernel {kernel}, same boot {same_boot}, here {here}: {got:?}, not {want:?}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_has_every_case_once() {
    let told: Vec<_> = TABLE
        .iter()
        .map(|(checkpoint, kernel, _)| (*checkpoint, *kernel))
        .collect();
    let mut product = Vec::new();
    for checkpoint in ["names it", "names others", "not listed", "no record", "unusable"] {
        for kernel in ["grants it", "not it", "silent"] {
            product.push((checkpoint, kernel));
        }
    }
    assert_eq!(told, product);
}

#[test]
fn a_record_tells_of_a_container_that_is_in_it() {
    let container = ContainerId::root_of("c");
    let mut record = Record::default();
    assert_eq!(
        Checkpointed::in_record(&record, &container),
        Checkpointed::NotListed
    );
    record.held.insert(container.clone(), vec![id(1)]);
    assert_eq!(
        Checkpointed::in_record(&record, &container),
        Checkpointed::Holds(&[id(1)])
    );
}

#[test]
fn a_boot_without_an_id_may_be_the_same_one() {
    assert!(same_boot("a", "a") && same_boot("", "a") && same_boot("a", "") && same_boot("", ""));
    assert!(!same_boot("a", "b"));
}

/// Units as bits of a number.
fn set(bits: u8) -> Vec<UnitId> {
    (0..4)
        .filter(|number| bits & (1 << number) != 0)
        .map(id)
        .collect()
}

proptest! {
    #[test]
    fn each_unit_is_decided_by_itself_and_listed_once(
        written in 0..16u8, granted in prop::option::of(0..16u8), here in 0..16u8, same_boot in any::<bool>(), listed in any::<bool>(),
    ) {
        let container = ContainerId::root_of("c");
        let inventory = inventory((0..4).filter(|number| here & (1 << number) != 0));
        let decide = |mask: u8| {
            let written = set(written & mask);
            let granted = granted.map(|granted| set(granted & mask));
            let checkpoint = if listed { Checkpointed::Holds(&written) } else { Checkpointed::NoRecord };
            holds(&container, &Witnesses { checkpoint, kernel: granted.as_deref(), same_boot }, &inventory).units
        };
        let together = decide(0b1111);
        let mut alone: Vec<UnitId> = (0..4).flat_map(|number| decide(1 << number)).collect();
        let mut sorted = together.clone();
        sorted.sort();
        alone.sort();
        prop_assert_eq!(sorted, alone);
        // The order in which they were taken is the checkpoint's.
        if listed && same_boot {
            prop_assert!(together.starts_with(&set(written)));
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! How many GPUs an agent says it has.
//!
//! Mesos compares what an agent advertises after a restart with what it advertised before, and by default an agent whose
//! total changed does not come up again. So the first set is kept, whatever happened to the GPUs since: one that is gone is
//! held back, one that is new is left alone.

use crate::domain::gpu::UnitId;
use crate::domain::record::Advertised;
use crate::domain::words::listed;

/// What is advertised, and what a person must know of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advertising {
    /// The set.
    pub advertised: Advertised,
    /// For the log.
    pub notes: Vec<String>,
}

/// The set that was advertised before, if that still counts: the operator's selection is the same.
pub fn remembered(before: Option<&Advertised>, selection: &str, found: &[UnitId]) -> Option<Advertising> {
    let before = before.filter(|before| before.selection == selection && !before.units.is_empty())?;
    let lost: Vec<&UnitId> = before.units.iter().filter(|unit| !found.contains(unit)).collect();
    let new: Vec<&UnitId> = found.iter().filter(|unit| !before.units.contains(unit)).collect();
    let total = before.units.len();
    let mut notes = Vec::new();
    if !lost.is_empty() {
        notes.push(format!(
            "{} of {total} advertised GPUs are not there and are held back: {}",
            lost.len(),
            listed(lost)
        ));
    }
    if !new.is_empty() {
        notes.push(format!(
            "GPUs that this agent did not advertise when it registered are left alone: {}; to take them up, let the agent \
             register anew (remove meta from its --work_dir)",
            listed(new)
        ));
    }
    Some(Advertising {
        advertised: before.clone(),
        notes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(names: &[&str]) -> Vec<UnitId> {
        names.iter().map(|name| UnitId::new(name)).collect()
    }

    #[test]
    fn the_first_set_stays_whatever_is_lost_or_new() {
        let before = Advertised {
            selection: "all".to_owned(),
            units: units(&["a", "b"]),
        };
        let same = remembered(Some(&before), "all", &units(&["a", "b"])).unwrap();
        assert_eq!((same.advertised, same.notes), (before.clone(), vec![]));
        let changed = remembered(Some(&before), "all", &units(&["b", "c"])).unwrap();
        assert_eq!(changed.advertised, before);
        assert!(
            changed.notes[0].starts_with("1 of 2 advertised GPUs"),
            "{:?}",
            changed.notes
        );
        assert!(changed.notes[1].contains(": c;"), "{:?}", changed.notes);
        assert_eq!(remembered(Some(&before), "all", &[]).unwrap().advertised, before);
    }

    #[test]
    fn another_selection_or_an_empty_set_counts_no_more() {
        let before = Advertised {
            selection: "all".to_owned(),
            units: units(&["a"]),
        };
        assert_eq!(remembered(Some(&before), "0", &units(&["a"])), None);
        assert_eq!(remembered(None, "all", &units(&["a"])), None);
        let none = Advertised {
            units: vec![],
            ..before
        };
        assert_eq!(remembered(Some(&none), "all", &units(&["a"])), None);
    }
}

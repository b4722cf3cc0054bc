// SPDX-License-Identifier: Apache-2.0
//! `list`: the GPUs that an agent on this machine would manage, one a line.

use crate::domain::container::ContainerId;
use crate::domain::gpu::{Unit, UnitId, UnitKind};
use crate::ports::nvml::Survey;
use crate::tool::machine::holders::Written;
use crate::tool::table::{Cell, Tone, table};
use serde_json::{Value, json};

/// How a unit is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// NVML lists it.
    Good,
    /// NVML does not answer, in words.
    Unknown(String),
    /// It is set aside, in words.
    Sick(String),
}

/// Who holds a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// It is not known.
    Unknown,
    /// These, or nobody.
    Containers(Vec<ContainerId>),
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The unit.
    pub unit: Unit,
    /// NVML's index, or what it would be.
    pub index: usize,
    /// The NUMA node it is near.
    pub numa_node: Option<u32>,
    /// How it is.
    pub health: Health,
    /// Who holds it.
    pub holder: Holder,
}

/// The lines of the chosen units, in the machine's order.
pub fn rows(
    units: &[Unit],
    chosen: &[UnitId],
    survey: &Result<Survey, String>,
    written: &Written,
    numa_node: impl Fn(&Unit) -> Option<u32>,
) -> Vec<Row> {
    let chosen = units.iter().filter(|unit| chosen.contains(&unit.id));
    chosen
        .map(|unit| Row {
            index: index(unit, units),
            numa_node: numa_node(unit),
            health: health(unit, survey),
            holder: holder(&unit.id, written),
            unit: unit.clone(),
        })
        .collect()
}

/// NVML's, which follow the PCI address, or the place in that order where NVML did not tell.
pub(super) fn index(unit: &Unit, units: &[Unit]) -> usize {
    let told = unit.index.and_then(|index| usize::try_from(index).ok());
    told.unwrap_or_else(|| {
        let mut before: Vec<_> = units
            .iter()
            .map(|other| other.pci)
            .filter(|pci| *pci < unit.pci)
            .collect();
        before.sort();
        before.dedup();
        before.len()
    })
}

fn health(unit: &Unit, survey: &Result<Survey, String>) -> Health {
    let survey = match survey {
        Ok(survey) => survey,
        Err(why) => return Health::Unknown(why.clone()),
    };
    let about = |id: &UnitId| id == &unit.id || id == unit.gpu_id();
    let mut problems = survey.problems.iter();
    let problem = problems.find(|one| one.uuid.as_ref().is_some_and(about) || one.pci == Some(unit.pci));
    if let Some(problem) = problem {
        return Health::Sick(problem.text.clone());
    }
    if survey.gpus.iter().any(|gpu| &gpu.uuid == unit.gpu_id()) {
        Health::Good
    } else {
        Health::Sick("NVML does not list it".to_owned())
    }
}

fn holder(unit: &UnitId, written: &Written) -> Holder {
    match written {
        Written::Nothing | Written::Unusable(_) => Holder::Unknown,
        Written::EarlierBoot => Holder::Containers(Vec::new()),
        Written::Record(record) => {
            let held = record
                .held
                .iter()
                .filter(|(container, units)| !container.is_nested() && units.contains(unit));
            Holder::Containers(held.map(|(container, _)| container.clone()).collect())
        }
    }
}

/// The lines for people.
pub fn text(rows: &[Row], colour: bool) -> String {
    let head = [
        "INDEX", "MINOR", "UUID", "PCI", "MODEL", "MEMORY", "MIG", "NUMA", "HEALTH", "HOLDER",
    ];
    let cells: Vec<Vec<Cell>> = rows.iter().map(cells).collect();
    table(&head, &cells, colour)
}

fn cells(row: &Row) -> Vec<Cell> {
    let unit = &row.unit;
    let or_dash = |text: Option<String>| Cell::plain(text.unwrap_or_else(|| "-".to_owned()));
    vec![
        Cell::plain(row.index.to_string()),
        Cell::plain(unit.minor.to_string()),
        Cell::plain(unit.id.as_str()),
        Cell::plain(unit.pci.to_string()),
        or_dash(unit.model.clone()),
        or_dash(unit.memory_bytes.map(|bytes| format!("{} MiB", bytes >> 20))),
        or_dash(mig(unit)),
        or_dash(row.numa_node.map(|node| node.to_string())),
        match &row.health {
            Health::Good => Cell::of("ok", Tone::Good),
            Health::Unknown(_) => Cell::of("unknown", Tone::Odd),
            Health::Sick(_) => Cell::of("sick", Tone::Bad),
        },
        match &row.holder {
            Holder::Unknown => Cell::of("?", Tone::Faint),
            Holder::Containers(none) if none.is_empty() => Cell::plain("-"),
            Holder::Containers(some) => Cell::plain(names(some)),
        },
    ]
}

/// The containers in one text.
pub(super) fn names(containers: &[ContainerId]) -> String {
    let names: Vec<String> = containers.iter().map(ToString::to_string).collect();
    names.join(", ")
}

fn mig(unit: &Unit) -> Option<String> {
    match &unit.kind {
        UnitKind::Gpu => None,
        UnitKind::Mig {
            gpu_instance,
            compute_instance,
            profile,
            ..
        } => {
            let profile = profile.as_deref().unwrap_or("MIG");
            Some(format!("{profile} {gpu_instance}/{compute_instance}"))
        }
    }
}

/// What is wrong with units, one a line.
pub fn notes(rows: &[Row]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for row in rows {
        let note = match &row.health {
            Health::Good => continue,
            Health::Unknown(why) => format!("NVML's word on the GPUs is missing: {why}"),
            Health::Sick(why) => format!("{} is set aside: {why}", row.unit.id),
        };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// The lines for machines.
pub fn json(rows: &[Row], driver_version: Option<&str>) -> Value {
    let gpus: Vec<Value> = rows.iter().map(one).collect();
    json!({ "driver_version": driver_version, "gpus": gpus })
}

fn one(row: &Row) -> Value {
    let unit = &row.unit;
    let mig = match &unit.kind {
        UnitKind::Gpu => Value::Null,
        UnitKind::Mig {
            parent,
            gpu_instance,
            compute_instance,
            profile,
        } => json!({
            "parent": parent.as_str(),
            "gpu_instance": gpu_instance,
            "compute_instance": compute_instance,
            "profile": profile,
        }),
    };
    let (health, why) = match &row.health {
        Health::Good => ("ok", None),
        Health::Unknown(why) => ("unknown", Some(why)),
        Health::Sick(why) => ("sick", Some(why)),
    };
    let holders: Option<Vec<String>> = match &row.holder {
        Holder::Unknown => None,
        Holder::Containers(all) => Some(all.iter().map(ToString::to_string).collect()),
    };
    json!({
        "index": row.index,
        "minor": unit.minor,
        "uuid": unit.id.as_str(),
        "pci": unit.pci.to_string(),
        "model": unit.model,
        "memory_mib": unit.memory_bytes.map(|bytes| bytes >> 20),
        "mig": mig,
        "numa_node": row.numa_node,
        "health": health,
        "health_reason": why,
        "holders": holders,
    })
}

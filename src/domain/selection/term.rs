// SPDX-License-Identifier: Apache-2.0
//! One name of a GPU or MIG instance, and what it names on a machine.

use std::collections::BTreeSet;
use std::fmt;

use crate::domain::gpu::{PciAddress, Unit, UnitKind};
use crate::domain::words::listed;

/// A name. One of a whole GPU that is cut into MIG instances names all of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Term {
    /// NVML indices, both ends included.
    Indices(u32, u32),
    /// `GPU-…` or `MIG-…`, as the driver spells it.
    Uuid(String),
    /// Where the GPU sits.
    Pci(PciAddress),
    /// What is in one GPU instance.
    Instance(Parent, u32),
}

/// The GPU that an instance is cut from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Parent {
    /// By NVML index.
    Index(u32),
    /// By UUID.
    Uuid(String),
}

impl Term {
    /// Reads a term without its `!`; the error says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err("it is empty");
        }
        // A PCI address has a function or a domain: `3b:00` alone would be taken for a MIG instance.
        let looks_like_pci = !is_uuid_like(text) && (text.contains('.') || text.matches(':').count() > 1);
        if looks_like_pci {
            return text.parse().map(Self::Pci).map_err(|_| "no PCI address");
        }
        if let Some((parent, instance)) = text.split_once(':') {
            let parent = match gpu_uuid(parent) {
                Some(uuid) => Parent::Uuid(uuid),
                None => Parent::Index(
                    number(parent).ok_or("the GPU before the colon is no index and no GPU UUID")?,
                ),
            };
            let instance = number(instance).ok_or("the instance after the colon is no number")?;
            return Ok(Self::Instance(parent, instance));
        }
        if is_uuid_like(text) {
            return uuid(text).map(Self::Uuid).ok_or("no UUID");
        }
        if let Some((first, last)) = text.split_once('-') {
            let (first, last) = number(first)
                .zip(number(last))
                .ok_or("an end of the range is no index")?;
            return if first <= last {
                Ok(Self::Indices(first, last))
            } else {
                Err("the range is reversed")
            };
        }
        number(text)
            .map(|index| Self::Indices(index, index))
            .ok_or("no index, UUID or PCI address")
    }

    /// Whether two terms name the same thing on every machine.
    pub(super) fn same_name(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Indices(a, b), Self::Indices(c, d)) => a <= d && c <= b,
            (Self::Uuid(a), Self::Uuid(b)) => a.eq_ignore_ascii_case(b),
            (Self::Instance(Parent::Uuid(a), i), Self::Instance(Parent::Uuid(b), j)) => {
                a.eq_ignore_ascii_case(b) && i == j
            }
            _ => self == other,
        }
    }

    /// The positions of the units that the term names; the error is the name that names none.
    pub(super) fn names(&self, units: &[Unit]) -> Result<Vec<usize>, String> {
        let at = |named: &dyn Fn(&Unit) -> bool, name: String| {
            let found: Vec<usize> = (0..units.len()).filter(|&at| named(&units[at])).collect();
            if found.is_empty() { Err(name) } else { Ok(found) }
        };
        match self {
            Self::Indices(first, last) => {
                let mut all = Vec::new();
                // Ends at the first index that is missing, however long the range.
                for index in *first..=*last {
                    all.extend(at(&|unit| index_of(unit, units) == index, index.to_string())?);
                }
                Ok(all)
            }
            Self::Uuid(uuid) => at(
                &|unit| is(unit.id.as_str(), uuid) || is(gpu_of(unit), uuid),
                uuid.clone(),
            ),
            Self::Pci(pci) => at(&|unit| unit.pci == *pci, pci.to_string()),
            Self::Instance(parent, instance) => at(
                &|unit| {
                    let UnitKind::Mig { gpu_instance, .. } = &unit.kind else {
                        return false;
                    };
                    let same_gpu = match parent {
                        Parent::Index(index) => index_of(unit, units) == *index,
                        Parent::Uuid(uuid) => is(gpu_of(unit), uuid),
                    };
                    same_gpu && gpu_instance == instance
                },
                self.to_string(),
            ),
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Indices(first, last) if first == last => write!(f, "{first}"),
            Self::Indices(first, last) => write!(f, "{first}-{last}"),
            Self::Uuid(uuid) => f.write_str(uuid),
            Self::Pci(pci) => write!(f, "{pci}"),
            Self::Instance(Parent::Index(index), instance) => write!(f, "{index}:{instance}"),
            Self::Instance(Parent::Uuid(uuid), instance) => write!(f, "{uuid}:{instance}"),
        }
    }
}

/// What a machine has, for a message.
pub(super) fn what_exists(units: &[Unit]) -> String {
    if units.is_empty() {
        return "there are no GPUs".to_owned();
    }
    let one = |unit: &Unit| match &unit.kind {
        UnitKind::Gpu => format!("{} = {} at {}", index_of(unit, units), unit.id, unit.pci),
        UnitKind::Mig { gpu_instance, .. } => {
            format!("{}:{gpu_instance} = {}", index_of(unit, units), unit.id)
        }
    };
    format!("there are {}", listed(units.iter().map(one)))
}

/// NVML's index of the unit's GPU; before NVML has answered, its rank by PCI address, which is how NVML counts.
fn index_of(unit: &Unit, units: &[Unit]) -> u32 {
    unit.index.unwrap_or_else(|| {
        let before: BTreeSet<PciAddress> = units
            .iter()
            .map(|u| u.pci)
            .filter(|pci| *pci < unit.pci)
            .collect();
        u32::try_from(before.len()).unwrap_or(u32::MAX)
    })
}

/// The UUID of the whole GPU that the unit is, or is cut from.
fn gpu_of(unit: &Unit) -> &str {
    match &unit.kind {
        UnitKind::Gpu => unit.id.as_str(),
        UnitKind::Mig { parent, .. } => parent.as_str(),
    }
}

fn is(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

fn is_uuid_like(text: &str) -> bool {
    ["GPU-", "MIG-"]
        .iter()
        .any(|prefix| text.get(..4).is_some_and(|start| is(start, prefix)))
}

/// A UUID in any of the spellings that drivers have used; the old one of an instance is `MIG-GPU-…/1/0`.
fn uuid(text: &str) -> Option<String> {
    let rest = text.get(4..).filter(|_| is_uuid_like(text))?;
    let ok = !rest.is_empty()
        && rest
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'/');
    ok.then(|| text.to_owned())
}

fn gpu_uuid(text: &str) -> Option<String> {
    uuid(text).filter(|_| text.get(..4).is_some_and(|start| is(start, "GPU-")))
}

/// A number of digits alone: `parse` would also take a sign.
fn number(text: &str) -> Option<u32> {
    text.parse()
        .ok()
        .filter(|_| text.bytes().all(|b| b.is_ascii_digit()))
}

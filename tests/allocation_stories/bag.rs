// SPDX-License-Identifier: Apache-2.0
//! Resources of the model: exact sums by kind and reservation.

use mesos_gpu::filter::{Kind, Piece};
use std::collections::BTreeMap;

/// What a part of a bag is: of which kind, and for whom.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    kind: u8,
    role: Option<String>,
}

/// Resources, in thousandths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bag(BTreeMap<Part, u64>);

const KINDS: [Kind; 3] = [Kind::Gpus, Kind::Cpus, Kind::Mem];

/// Unreserved resources, in thousandths.
pub fn amounts(gpus: u64, cpus: u64, mem: u64) -> Bag {
    Bag::default().and(None, gpus, cpus, mem)
}

/// Unreserved resources.
pub fn bag(gpus: u64, cpus: u64, mem: u64) -> Bag {
    amounts(gpus * 1000, cpus * 1000, mem * 1000)
}

impl Bag {
    /// With more, in thousandths, for a role.
    pub fn and(mut self, role: Option<&str>, gpus: u64, cpus: u64, mem: u64) -> Self {
        for (kind, amount) in (0..).zip([gpus, cpus, mem]) {
            let role = role.map(str::to_owned);
            if amount > 0 {
                *self.0.entry(Part { kind, role }).or_default() += amount;
            }
        }
        self
    }

    pub fn parts(&self) -> Vec<Part> {
        self.0.keys().cloned().collect()
    }

    pub fn pieces(&self) -> Vec<Piece> {
        self.0
            .iter()
            .map(|(part, amount)| Piece {
                kind: KINDS[usize::from(part.kind)],
                amount: *amount as f64 / 1000.0,
                reserved: part.role.is_some(),
                revocable: false,
            })
            .collect()
    }

    pub fn put(&mut self, part: &Part, amount: f64) {
        *self.0.entry(part.clone()).or_default() += (amount * 1000.0).round() as u64;
    }

    pub fn add(&mut self, other: &Self) {
        for (part, amount) in &other.0 {
            *self.0.entry(part.clone()).or_default() += amount;
        }
    }

    /// Takes what must be there.
    pub fn take(&mut self, other: &Self) {
        assert!(self.covers(other), "{other:?} is taken out of {self:?}");
        self.take_what_there_is(other);
    }

    pub fn take_what_there_is(&mut self, other: &Self) {
        for (part, amount) in &other.0 {
            if let Some(own) = self.0.get_mut(part) {
                *own = own.saturating_sub(*amount);
            }
        }
        self.0.retain(|_, amount| *amount > 0);
    }

    pub fn covers(&self, other: &Self) -> bool {
        let own = |part| self.0.get(part).copied().unwrap_or(0);
        other.0.iter().all(|(part, amount)| own(part) >= *amount)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn of_role(&self, role: &str) -> Self {
        let for_role = |part: &Part| part.role.as_ref().is_none_or(|own| own == role);
        let parts = self.0.iter().filter(|(part, _)| for_role(part));
        Self(parts.map(|(part, amount)| (part.clone(), *amount)).collect())
    }

    pub fn without_gpus(&self) -> Self {
        let parts = self.0.iter().filter(|(part, _)| part.kind != 0);
        Self(parts.map(|(part, amount)| (part.clone(), *amount)).collect())
    }

    fn sum(&self, kind: u8) -> u64 {
        let parts = self.0.iter().filter(|(part, _)| part.kind == kind);
        parts.map(|(_, amount)| amount).sum()
    }

    pub fn gpus(&self) -> u64 {
        self.sum(0)
    }

    pub fn cpus(&self) -> u64 {
        self.sum(1)
    }

    pub fn mem(&self) -> u64 {
        self.sum(2)
    }

    /// As Mesos by default: something of cpus or of mem.
    pub fn is_allocatable(&self) -> bool {
        self.cpus() >= 10 || self.mem() >= 32_000
    }

    /// Cuts what is unreserved to limits; a kind without one has none.
    pub fn chop(&mut self, limits: &Self) {
        for kind in 0..3 {
            let part = Part { kind, role: None };
            let limit = limits.0.get(&part).copied().unwrap_or(0);
            if let Some(own) = self.0.get_mut(&part) {
                *own = (*own).min(limit);
            }
        }
        self.0.retain(|_, amount| *amount > 0);
    }

    pub fn share_of(&self, total: &Self) -> f64 {
        let share = |kind| self.sum(kind) as f64 / total.sum(kind).max(1) as f64;
        (0..3).map(share).fold(0.0, f64::max)
    }
}

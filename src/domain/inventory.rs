// SPDX-License-Identifier: Apache-2.0
//! The units of this machine, joined from what the kernel driver tells at once and what NVML tells later.

use crate::domain::gpu::{PciAddress, Unit, UnitId, UnitKind};

/// All units, ordered by PCI address, then by MIG instance: the order in which they are listed and handed out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inventory {
    units: Vec<Unit>,
    /// The driver's version; none when the driver is not loaded.
    pub driver_version: Option<String>,
    /// What is set aside and why, for the log.
    pub problems: Vec<String>,
}

impl Inventory {
    /// An inventory of these units, in order. A second unit with the UUID of an earlier one is set aside.
    pub fn new(units: Vec<Unit>, driver_version: Option<String>, problems: Vec<String>) -> Self {
        let mut inventory = Self {
            units: Vec::new(),
            driver_version,
            problems,
        };
        for unit in units {
            if inventory.get(&unit.id).is_some() {
                inventory.problems.push(format!(
                    "a second GPU at {} says it is {}; it is set aside",
                    unit.pci, unit.id
                ));
            } else {
                inventory.units.push(unit);
            }
        }
        inventory
            .units
            .sort_by(|a, b| Self::order(a).cmp(&Self::order(b)));
        inventory
    }

    fn order(unit: &Unit) -> (PciAddress, u32, u32) {
        match unit.kind {
            UnitKind::Gpu => (unit.pci, 0, 0),
            UnitKind::Mig {
                gpu_instance,
                compute_instance,
                ..
            } => (unit.pci, gpu_instance, compute_instance),
        }
    }

    /// The units, in order.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// The unit of this identity.
    pub fn get(&self, id: &UnitId) -> Option<&Unit> {
        self.units.iter().find(|unit| &unit.id == id)
    }

    /// Adds a unit that came back.
    pub fn add(&mut self, unit: Unit) {
        if self.get(&unit.id).is_none() {
            self.units.push(unit);
            self.units.sort_by_key(Self::order);
        }
    }

    /// Keeps the chosen units only.
    pub fn retain(&mut self, chosen: &[UnitId]) {
        self.units.retain(|unit| chosen.contains(&unit.id));
    }

    /// Takes from a later, richer answer what is not known yet of the units that are here. Returns, in words, what
    /// contradicts: units that only one side knows, and other minors.
    ///
    /// The set of units stays as it is: what an agent advertised must not change under it.
    pub fn enrich(&mut self, later: &Inventory) -> Vec<String> {
        let mut contradictions = Vec::new();
        for unit in &mut self.units {
            let Some(told) = later.get(&unit.id) else {
                contradictions.push(format!("NVML does not list {} at {}", unit.id, unit.pci));
                continue;
            };
            if told.minor != unit.minor {
                contradictions.push(format!(
                    "NVML gives {} minor {}, the driver {}",
                    unit.id, told.minor, unit.minor
                ));
            }
            unit.index = told.index.or(unit.index);
            unit.model = told.model.clone().or(unit.model.take());
            unit.memory_bytes = told.memory_bytes.or(unit.memory_bytes);
        }
        self.driver_version = self.driver_version.take().or(later.driver_version.clone());
        contradictions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(uuid: &str, pci: &str, minor: u32) -> Unit {
        Unit {
            id: UnitId::new(uuid),
            kind: UnitKind::Gpu,
            pci: pci.parse().unwrap(),
            minor,
            index: None,
            model: None,
            memory_bytes: None,
        }
    }

    #[test]
    fn units_are_in_pci_order_and_a_second_uuid_is_set_aside() {
        let units = vec![
            unit("GPU-b", "3b:00.0", 0),
            unit("GPU-a", "06:00.0", 1),
            unit("GPU-b", "af:00.0", 2),
        ];
        let inventory = Inventory::new(units, None, vec![]);
        assert_eq!(
            inventory
                .units()
                .iter()
                .map(|u| u.id.as_str())
                .collect::<Vec<_>>(),
            ["GPU-a", "GPU-b"]
        );
        assert_eq!(inventory.problems.len(), 1);
    }

    #[test]
    fn a_later_answer_fills_gaps_and_changes_no_identity() {
        let mut inventory = Inventory::new(
            vec![unit("GPU-a", "06:00.0", 1), unit("GPU-b", "3b:00.0", 0)],
            None,
            vec![],
        );
        let mut told = unit("GPU-a", "06:00.0", 7);
        told.memory_bytes = Some(5);
        told.index = Some(0);
        let later = Inventory::new(
            vec![told, unit("GPU-new", "af:00.0", 2)],
            Some("580".into()),
            vec![],
        );
        let contradictions = inventory.enrich(&later);
        assert_eq!(contradictions.len(), 2, "{contradictions:?}");
        let first = &inventory.units()[0];
        assert_eq!(
            (first.minor, first.memory_bytes, first.index),
            (1, Some(5), Some(0))
        );
        assert_eq!(inventory.units().len(), 2);
        assert_eq!(inventory.driver_version.as_deref(), Some("580"));
    }
}

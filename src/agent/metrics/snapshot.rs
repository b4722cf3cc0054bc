// SPDX-License-Identifier: Apache-2.0
//! Collects the agent's numbers from its books.

use crate::agent::sampling::Reading;
use crate::agent::state::State;
use crate::domain::container::ContainerId;
use crate::domain::gpu::{UnitId, UnitKind};
use crate::domain::metrics::{GpuNumbers, GpuTold, Named, Snapshot, UnitNumbers, UseNumbers, Who};
use std::collections::{BTreeMap, BTreeSet};

/// All numbers as of now.
pub(super) fn take(state: &State) -> Snapshot {
    let guests = state.guests.by_guest();
    Snapshot {
        version: env!("CARGO_PKG_VERSION"),
        driver: state.inventory.driver_version.clone(),
        sound: state.sound().is_ok(),
        units: units(state),
        waiting: waiting(state),
        holders: state.ledger.all_held().len(),
        guests: guests.len(),
        gpus: gpus(state),
        uses: uses(state, &guests),
        nvml: state.readings.numbers(),
        calls: state.calls.numbers(),
    }
}

fn units(state: &State) -> Vec<UnitNumbers> {
    let advertised = state.advertised.units.iter();
    advertised
        .map(|id| {
            let unit = state.inventory.get(id);
            let parent = unit.filter(|unit| unit.kind != UnitKind::Gpu);
            UnitNumbers {
                named: named(state, id),
                index: unit.and_then(|unit| unit.index),
                pci: unit.map(|unit| unit.pci.to_string()),
                model: unit.and_then(|unit| unit.model.clone()),
                parent: parent.map(|unit| unit.gpu_id().to_string()),
                phase: state.ledger.phase(id),
                sick: state.ledger.sick(id).is_some(),
            }
        })
        .collect()
}

/// The GPUs themselves, also those whose instances are handed out.
fn gpus(state: &State) -> Vec<GpuNumbers> {
    let mut seen = BTreeSet::new();
    let units = state.inventory.units().iter();
    units
        .filter(|unit| seen.insert(unit.gpu_id()))
        .filter_map(|unit| {
            let (age, reading) = state.readings.of(unit.gpu_id())?;
            Some(GpuNumbers {
                named: Named {
                    gpu: unit.gpu_id().to_string(),
                    minor: Some(unit.minor),
                },
                age,
                told: reading.map(told),
            })
        })
        .collect()
}

fn told(reading: &Reading) -> GpuTold {
    let sample = &reading.sample;
    GpuTold {
        utilization: sample.utilization,
        memory: sample.memory,
        power: sample.power,
        temperature: sample.temperature,
    }
}

fn uses(state: &State, guests: &BTreeMap<ContainerId, Vec<UnitId>>) -> Vec<UseNumbers> {
    let one = |container: &ContainerId, unit: &UnitId, guest| {
        let reading = state.readings.of(unit).and_then(|(_, reading)| reading);
        let used = reading.and_then(|reading| reading.used_by(container));
        UseNumbers {
            who: who(state, container),
            named: named(state, unit),
            guest,
            utilization: used.and_then(|used| used.utilization),
            memory: used.and_then(|used| used.memory),
        }
    };
    let held = state.ledger.all_held().iter().flat_map(|(container, units)| {
        let of = move |unit| one(container, unit, false);
        units.iter().map(of)
    });
    let shared = guests.iter().flat_map(|(container, units)| {
        // Named once, whatever the books say.
        let beside = units
            .iter()
            .filter(|unit| !state.ledger.held_by(container).contains(unit));
        beside.map(move |unit| one(container, unit, true))
    });
    held.chain(shared).collect()
}

fn waiting(state: &State) -> Vec<(Who, usize)> {
    let mut by_container: BTreeMap<&ContainerId, usize> = BTreeMap::new();
    for (container, gpus) in state.waiting.each() {
        *by_container.entry(container).or_default() += gpus;
    }
    let each = by_container.into_iter();
    each.map(|(container, gpus)| (who(state, container), gpus))
        .collect()
}

fn named(state: &State, unit: &UnitId) -> Named {
    Named {
        gpu: unit.to_string(),
        minor: state.inventory.get(unit).map(|unit| unit.minor),
    }
}

fn who(state: &State, container: &ContainerId) -> Who {
    let known = state.containers.get(container);
    let executor = known.and_then(|known| known.executor.as_ref());
    Who {
        container: container.to_string(),
        executor: executor.map(|executor| (executor.framework.clone(), executor.id.clone())),
    }
}

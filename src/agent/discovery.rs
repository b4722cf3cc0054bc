// SPDX-License-Identifier: Apache-2.0
//! Finding the units of this machine, without waiting for NVML where the kernel driver has told already.
//!
//! The kernel driver lists its GPUs under `/proc` with UUID, address and minor, at once and without touching the
//! hardware. Only where it says nothing is NVML waited for, and then not for long: an agent must become ready beside a
//! driver that hangs. NVML's answer later fills in what is missing. A GPU that is cut into MIG instances is the exception:
//! only NVML knows the UUIDs of those, so where the kernel driver tells of a cut NVML is waited for as well.

use crate::agent::state::State;
use crate::agent::{Agent, health};
use crate::config::Mode;
use crate::domain::gpu::{Unit, UnitKind};
use crate::domain::inventory::Inventory;
use crate::ports::driver_proc::{DriverProc, ProcReport};
use crate::ports::nvml::{Nvml, NvmlFailure, NvmlGpu, Survey};
use std::sync::mpsc::channel;
use std::time::Duration;

/// What was found, and by whom.
#[derive(Debug)]
pub struct Discovery {
    /// The units.
    pub inventory: Inventory,
    /// Who told.
    pub source: Source,
}

/// Who told of the units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The kernel driver, under `/proc`.
    Driver,
    /// NVML, which was waited for.
    Nvml,
    /// Nobody: no driver, or none that works. In words, why.
    Nobody(String),
}

/// Asks the kernel driver, and where it lists nothing waits for NVML up to `wait`.
pub fn discover(driver: &dyn DriverProc, nvml: &dyn Nvml, wait: Duration) -> Discovery {
    let report = driver.read();
    let is_cut = report.gpus.iter().any(|gpu| !gpu.mig.is_empty());
    if !report.gpus.is_empty() && !is_cut {
        return Discovery {
            inventory: from_report(report),
            source: Source::Driver,
        };
    }
    let (tell, told) = channel();
    nvml.survey(Box::new(move |answer| {
        // Nobody listens any more after the wait is over.
        let _ = tell.send(answer);
    }));
    let nobody = |why: String, mut report: ProcReport| {
        let source = if report.gpus.is_empty() {
            Source::Nobody(why.clone())
        } else {
            Source::Driver
        };
        for gpu in report.gpus.extract_if(.., |gpu| !gpu.mig.is_empty()) {
            let problem = format!(
                "{} at {} is cut into MIG instances, which only NVML can name: {why}",
                gpu.uuid, gpu.pci
            );
            report.problems.push(problem);
        }
        Discovery {
            inventory: from_report(report),
            source,
        }
    };
    match told.recv_timeout(wait) {
        Ok(Ok(survey)) if survey.gpus.is_empty() => {
            let mut discovery = nobody("NVML lists no GPU".to_owned(), report);
            discovery
                .inventory
                .problems
                .extend(survey.problems.iter().map(ToString::to_string));
            discovery.inventory.driver_version = survey.driver_version.or(discovery.inventory.driver_version);
            discovery
        }
        Ok(Ok(survey)) => Discovery {
            inventory: from_survey(survey),
            source: Source::Nvml,
        },
        Ok(Err(failure)) => nobody(failure.to_string(), report),
        Err(_) => nobody(format!("NVML did not answer within {wait:?}"), report),
    }
}

/// What can wait until the agent's own start is over waits so long. NVML can: loading the driver's library takes the loader's
/// lock and a core.
pub const AFTER_START: Duration = Duration::from_millis(300);

/// Asks NVML, takes from its answer what is not known yet, and looks after the GPUs from then on. Nobody waits for it.
pub fn enrich_later(agent: &Agent) {
    agent.post("nvml.survey", |state| {
        state.later(AFTER_START, "nvml.survey", ask)
    });
}

fn ask(state: &mut State) {
    let mailbox = state.mailbox.clone();
    state.machine.nvml.survey(Box::new(move |answer| {
        mailbox.post("nvml.survey", move |state| enrich(state, answer));
    }));
}

fn enrich(state: &mut State, answer: Result<Survey, NvmlFailure>) {
    match &answer {
        Ok(survey) => {
            state.products.learn(survey);
            let later = from_survey(survey.clone());
            for problem in later
                .problems
                .iter()
                .cloned()
                .chain(state.inventory.enrich(&later))
            {
                log::warn!("{problem}");
            }
            for unit in state.inventory.units() {
                log::info!("NVML confirms {}", describe(unit));
            }
            state.board.show_units(state.inventory.units().to_vec());
        }
        Err(failure) if state.inventory.units().is_empty() => log::info!("NVML: {failure}"),
        Err(failure) => log::warn!("GPUs are served without NVML's word on them: {failure}"),
    }
    if state.mode == Mode::Exclusive {
        health::examine(state, answer);
        state.later(state.patience.health_interval, "health", health::watch);
    }
}

/// A unit in one line, for the log.
pub fn describe(unit: &Unit) -> String {
    let index = unit
        .index
        .map_or_else(String::new, |index| format!("index {index}, "));
    let memory = unit
        .memory_bytes
        .map_or_else(String::new, |bytes| format!(", {} MiB", bytes >> 20));
    let model = unit.model.as_deref().unwrap_or("unknown model");
    format!(
        "{} at {}, {index}minor {}: {model}{memory}",
        unit.id, unit.pci, unit.minor
    )
}

pub(super) fn from_report(report: ProcReport) -> Inventory {
    let mut problems = report.problems;
    let mut units = Vec::new();
    for gpu in report.gpus {
        if gpu.excluded {
            problems.push(format!("{} at {} is excluded by the driver", gpu.uuid, gpu.pci));
            continue;
        }
        units.push(Unit {
            id: gpu.uuid,
            kind: UnitKind::Gpu,
            pci: gpu.pci,
            minor: gpu.minor,
            index: None,
            model: gpu.model,
            memory_bytes: None,
        });
    }
    Inventory::new(units, report.driver_version, problems)
}

pub(super) fn from_survey(survey: Survey) -> Inventory {
    let units = survey.gpus.into_iter().flat_map(units_of).collect();
    let problems = survey.problems.into_iter().map(|problem| problem.text).collect();
    Inventory::new(units, survey.driver_version, problems)
}

/// A GPU with MIG on is its instances; nobody can use it as a whole.
fn units_of(gpu: NvmlGpu) -> Vec<Unit> {
    let whole = Unit {
        id: gpu.uuid.clone(),
        kind: UnitKind::Gpu,
        pci: gpu.pci,
        minor: gpu.minor,
        index: Some(gpu.index),
        model: gpu.name,
        memory_bytes: gpu.memory_bytes,
    };
    let Some(instances) = gpu.mig else {
        return vec![whole];
    };
    instances
        .into_iter()
        .map(|instance| Unit {
            id: instance.uuid,
            kind: UnitKind::Mig {
                parent: gpu.uuid.clone(),
                gpu_instance: instance.gpu_instance,
                compute_instance: instance.compute_instance,
                profile: instance.name.as_deref().and_then(profile_of),
            },
            model: instance.name,
            memory_bytes: instance.memory_bytes,
            ..whole.clone()
        })
        .collect()
}

/// NVML names an instance by the GPU's model, the word MIG and the profile.
fn profile_of(name: &str) -> Option<String> {
    name.split_once(" MIG ")
        .map(|(_, profile)| profile.trim().to_owned())
}

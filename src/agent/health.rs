// SPDX-License-Identifier: Apache-2.0
//! Looking after the GPUs while the agent runs: one that vanishes or fails is set aside, one that comes back is served
//! again, and one that somebody else uses is left alone. What was advertised stays as it is.

use crate::agent::discovery::{describe, from_report, from_survey};
use crate::agent::state::State;
use crate::agent::{metrics, waiting};
use crate::domain::gpu::UnitId;
use crate::domain::inventory::Inventory;
use crate::domain::ledger::Phase;
use crate::ports::driver_proc::ProcReport;
use crate::ports::nvml::{NvmlFailure, Survey};

/// Looks, and again after each interval.
pub fn watch(state: &mut State) {
    let mailbox = state.mailbox.clone();
    state.machine.nvml.survey(Box::new(move |answer| {
        mailbox.post("health", move |state| {
            examine(state, answer);
            metrics::publish(state);
            state.later(state.patience.health_interval, "health", watch);
        });
    }));
}

/// Compares what driver and NVML say now with the books.
pub fn examine(state: &mut State, answer: Result<Survey, NvmlFailure>) {
    let found = Found::of(state.driver().clone(), answer);
    for unit in state.advertised.units.clone() {
        // What a release set aside, the release takes up again.
        if state.releases.contains_key(&unit) {
            continue;
        }
        let reason = found.trouble(state, &unit);
        if reason.as_deref() != state.ledger.sick(&unit) {
            match (&reason, state.ledger.sick(&unit)) {
                (Some(reason), _) => log::error!("{unit} is set aside: {reason}"),
                (None, Some(was)) => log::info!("{unit} is served again; it was set aside because {was}"),
                (None, None) => {}
            }
            state.ledger.set_sick(&unit, reason);
        }
        note_strangers(state, &unit, &found);
    }
    waiting::serve(state);
    metrics::soon(state);
}

/// A unit that no container has and that processes compute on belongs to somebody else for now.
fn note_strangers(state: &mut State, unit: &UnitId, found: &Found) {
    if !state.patience.check_processes || !state.recovered {
        return;
    }
    let Some(processes) = found.processes(unit) else {
        return;
    };
    let was = state.ledger.phase(unit);
    if matches!(was, Phase::Held | Phase::Releasing) {
        return state.ledger.set_foreign(unit, None);
    }
    let who = (!processes.is_empty())
        .then(|| format!("processes {processes:?} outside of this agent's containers"));
    match (&who, &was) {
        (Some(who), Phase::Free) => log::warn!("{unit} is not handed out: {who} compute on it"),
        (None, Phase::Foreign(_)) => log::info!("{unit} is not used by strangers any more"),
        _ => {}
    }
    state.ledger.set_foreign(unit, who);
}

/// What is there now.
struct Found {
    driver: Inventory,
    nvml: Option<(Inventory, Survey)>,
    /// Why no new program can use any GPU.
    unusable: Option<String>,
}

impl Found {
    fn of(report: ProcReport, answer: Result<Survey, NvmlFailure>) -> Self {
        // A driver that hangs or fails in another way may still serve programs; with two versions of it, it cannot.
        let unusable = match &answer {
            Err(failure @ NvmlFailure::VersionMismatch { .. }) => Some(failure.to_string()),
            _ => None,
        };
        let nvml = answer.ok().map(|survey| (from_survey(survey.clone()), survey));
        Self {
            driver: from_report(report),
            nvml,
            unusable,
        }
    }

    /// Why a unit cannot be handed out; a unit that is back is taken up on the way.
    fn trouble(&self, state: &mut State, unit: &UnitId) -> Option<String> {
        let nvml_lists = self.nvml.as_ref().and_then(|(inventory, _)| inventory.get(unit));
        let listed = self.driver.get(unit).or(nvml_lists).cloned();
        let gpu = listed
            .as_ref()
            .or(state.inventory.get(unit))
            .map_or(unit, |known| known.gpu_id())
            .clone();
        if let Some(problem) = self.unusable.clone().or_else(|| self.problem(&gpu)) {
            return Some(problem);
        }
        let driver_speaks = !self.driver.units().is_empty();
        if driver_speaks && self.driver.get(&gpu).is_none() {
            return Some("the driver does not list it any more".to_owned());
        }
        if let (Some((_, survey)), None) = (&self.nvml, nvml_lists) {
            // A GPU that is lost early may tell its address only, or nothing: then its absence must do.
            let pci = listed
                .as_ref()
                .or(state.inventory.get(unit))
                .map(|known| known.pci);
            let nameless = survey
                .problems
                .iter()
                .find(|problem| problem.uuid.is_none() && (problem.pci.is_none() || problem.pci == pci));
            if let Some(problem) = nameless {
                return Some(format!("NVML does not list it: {problem}"));
            }
            if !driver_speaks {
                return Some("NVML does not list it any more".to_owned());
            }
        }
        if let (None, Some(back)) = (state.inventory.get(unit), listed) {
            log::info!("found again: {}", describe(&back));
            state.inventory.add(back);
            state.board.show_units(state.inventory.units().to_vec());
        }
        match state.inventory.get(unit) {
            Some(_) => None,
            None => Some("it was not found at the start and is not back".to_owned()),
        }
    }

    fn problem(&self, gpu: &UnitId) -> Option<String> {
        let (_, survey) = self.nvml.as_ref()?;
        survey
            .problems
            .iter()
            .find(|problem| problem.uuid.as_ref() == Some(gpu))
            .map(|problem| problem.text.clone())
    }

    fn processes(&self, unit: &UnitId) -> Option<Vec<u32>> {
        let (_, survey) = self.nvml.as_ref()?;
        survey.processes(unit).cloned()
    }
}

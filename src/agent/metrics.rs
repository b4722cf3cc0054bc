// SPDX-License-Identifier: Apache-2.0
//! Publishing the agent's numbers, and which containers are on which GPU for dcgm-exporter, where somebody wants them.
//! What changes in the books is published a moment later and together, so that no launch pays for it and many launches are
//! not many files.

mod snapshot;

use crate::agent::panic_text;
use crate::agent::state::State;
use crate::domain::jobs::{self, Jobs};
use crate::domain::metrics;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// How long a change waits for others.
const PAUSE: Duration = Duration::from_millis(100);

/// What was published, so that nothing is written when nothing changed and a failure is said once.
#[derive(Debug, Default)]
pub struct Published {
    text: String,
    failure: Option<String>,
    jobs: Option<Jobs>,
    jobs_failure: Option<String>,
    /// Whether publishing is put off already.
    due: bool,
}

/// Publishes in a moment.
pub fn soon(state: &mut State) {
    let wanted = state.machine.metrics.is_some() || state.machine.jobs.is_some();
    if wanted && !std::mem::replace(&mut state.published.due, true) {
        state.later(PAUSE, "metrics", |state| {
            state.published.due = false;
            publish(state);
        });
    }
}

/// Publishes, if anything changed. A panic here is logged and poisons nothing: the books are only read.
pub fn publish(state: &mut State) {
    let published = catch_unwind(AssertUnwindSafe(|| {
        numbers(state);
        mapping(state);
    }));
    if let Err(panic) = published {
        log::error!("cannot publish the metrics: {}", panic_text(panic.as_ref()));
    }
}

fn numbers(state: &mut State) {
    let Some(port) = &state.machine.metrics else {
        return;
    };
    let text = metrics::text(&snapshot::take(state));
    if text == state.published.text && state.published.failure.is_none() {
        return;
    }
    let failure = port.publish(&text).err();
    say(failure.as_ref(), state.published.failure.as_ref());
    state.published.text = text;
    state.published.failure = failure;
}

/// The mapping. Nothing is said before the containers of the agent before are known, and before NVML has told by which
/// numbers it goes: until then what an agent before said is nearer to the truth.
fn mapping(state: &mut State) {
    let Some(port) = &state.machine.jobs else { return };
    let units = state.inventory.units();
    if !state.recovered || units.iter().any(|unit| unit.index.is_none()) {
        return;
    }
    let guests = state.guests.by_guest();
    let on = state.ledger.all_held().iter().chain(&guests);
    let jobs = jobs::by_index(on.flat_map(|(container, units)| {
        let known = state.containers.get(container);
        let job = jobs::id(container, known.and_then(|known| known.executor.as_ref()));
        let found = units.iter().filter_map(|unit| state.inventory.get(unit)?.index);
        found.map(move |index| (index, job.clone()))
    }));
    if state.published.jobs.as_ref() == Some(&jobs) && state.published.jobs_failure.is_none() {
        return;
    }
    let failure = port.publish(&jobs).err();
    say(failure.as_ref(), state.published.jobs_failure.as_ref());
    state.published.jobs = Some(jobs);
    state.published.jobs_failure = failure;
}

fn say(failure: Option<&String>, before: Option<&String>) {
    if let Some(why) = failure.filter(|_| failure != before) {
        log::warn!("{why}");
    }
}

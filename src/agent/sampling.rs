// SPDX-License-Identifier: Apache-2.0
//! Looking at how much the GPUs are used, while oversubscription is on or metrics are asked for: asks NVML at each interval,
//! keeps what it told for the metrics, lets the estimate judge, and says what changed. Nobody waits for NVML here: a look to
//! which no answer came counts as one that says nothing.
//!
//! What others need of it, on the agent thread: [`oversubscribable`] (the answer to Mesos's estimator), [`offerable`] (where a
//! guest can be placed now), [`corrected`] (guests were sent away for another reason). Those that must go are sent away by
//! [`eviction`] after each look. Who is a guest is in [`State::guests`], which whoever places guests keeps.

mod attribution;
mod estimation;
mod readings;

pub use attribution::{Owners, Used};
pub use estimation::{Clock, Decision, Estimation};
pub use readings::{Reading, Readings};

use crate::agent::state::State;
use crate::agent::{eviction, metrics};
use crate::domain::estimate::{self, Books, MustGo, Sample};
use crate::domain::gpu::UnitId;
use crate::domain::words::listed;
use crate::error::Error;
use crate::ports::nvml::NvmlFailure;
use crate::wire::Resource;
use std::time::Duration;

/// Looks, and again after each interval. Without oversubscription and metrics it does nothing.
pub fn watch(state: &mut State) {
    let Some(interval) = state.estimate.interval().or(state.readings.interval()) else {
        return;
    };
    ask(state);
    // By way of the mailbox, so that looks that are due together do not keep the thread from everything else.
    state.mailbox.clone().post("sampling", move |state| {
        state.later(interval, "sampling", watch);
    });
}

fn ask(state: &mut State) {
    let asked = Asked {
        for_estimate: state.estimate.ask(),
        // Without GPUs a driver that is not there is no failure.
        for_readings: (!state.advertised.units.is_empty())
            .then(|| state.readings.ask())
            .flatten(),
    };
    // A second question would hear nothing before the first does.
    if asked.for_estimate.is_none() && state.estimate.interval().is_some() {
        look(state, Err("NVML has not answered yet".to_owned()));
    }
    if asked.for_readings.is_none() && state.readings.interval().is_some() {
        metrics::publish(state);
    }
    if asked == Asked::default() {
        return;
    }
    let processes = state
        .machine
        .cgroup
        .as_ref()
        .ok()
        .map(|devices| devices.processes());
    let (mailbox, root) = (state.mailbox.clone(), state.cgroups_root.clone());
    state.machine.nvml.sample(Box::new(move |answer| {
        let answer = answer.map(|sample| {
            let owners = Owners::of(&sample, processes.as_deref(), &root);
            (sample, owners)
        });
        mailbox.post("sampling", move |state| heard(state, asked, answer));
    }));
}

/// When NVML was asked, for whom; none for one who did not ask this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Asked {
    for_estimate: Option<Duration>,
    for_readings: Option<Duration>,
}

fn heard(state: &mut State, asked: Asked, answer: Result<(Sample, Owners), NvmlFailure>) {
    if let Some(asked) = asked.for_readings {
        state.readings.answered(asked, &answer);
    }
    if let Some(asked) = asked.for_estimate {
        let in_time = state.estimate.answered(asked);
        match answer {
            Err(failure) => look(state, Err(failure.to_string())),
            Ok((sample, owners)) => look(state, in_time.map(|()| (&sample, owners))),
        }
    }
    if asked.for_readings.is_some() {
        metrics::publish(state);
    }
}

fn look(state: &mut State, told: Result<(&Sample, Owners), String>) {
    let books = books(state);
    let before = state.estimate.decision().clone();
    let new = state.estimate.look(told, &books);
    announce(&before, state.estimate.decision(), &new);
    eviction::after_look(state);
}

/// Says what changed; that is the one place where it is known.
fn announce(before: &Decision, now: &Decision, new: &[MustGo]) {
    for must_go in new {
        log::warn!(
            "the guests of {} must go ({}): {}",
            must_go.gpu,
            listed(&must_go.guests),
            must_go.why
        );
    }
    if now.offerable != before.offerable {
        match now.offerable.as_slice() {
            [] => log::info!("no held GPU is idle any more"),
            idle => log::info!("held GPUs that are idle and can take a guest: {}", listed(idle)),
        }
    }
}

/// Who has which GPU, and who is on it besides, as of now.
pub fn books(state: &State) -> Books {
    estimate::books(state.inventory.units(), &state.ledger, &state.guests)
}

/// The held GPUs that can take one guest more each now, the first to be taken first. `promised` is how many launches that
/// Mesos counts already were promised one and are not among the guests yet.
pub fn offerable(state: &State, promised: usize) -> Vec<UnitId> {
    match state.sound() {
        Ok(()) => state.estimate.offerable(&books(state), promised),
        Err(_) => Vec::new(),
    }
}

/// The GPUs with guests that must go, until these have gone.
pub fn must_go(state: &State) -> Vec<MustGo> {
    state.estimate.must_go(&books(state))
}

/// Notes that guests of a GPU were sent away for another reason than the estimate's, so that it pauses there too.
pub fn corrected(state: &mut State, gpu: &UnitId) {
    state.estimate.corrected(gpu);
}

/// What can be offered as revocable in addition to what Mesos has allocated as such already; `promised` as in
/// [`offerable`].
///
/// # Errors
/// When the books are in doubt: Mesos logs it and goes on with what it was told before.
pub fn oversubscribable(state: &State, promised: usize) -> Result<Vec<Resource>, Error> {
    state.sound()?;
    let count = offerable(state, promised).len();
    Ok(Resource::revocable_gpus(count).into_iter().collect())
}

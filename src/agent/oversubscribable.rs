// SPDX-License-Identifier: Apache-2.0
//! The answer to Mesos's resource estimator: how many GPUs can be given out a second time, beyond those that are already.
//!
//! Mesos counts what it has given out from the moment at which it takes a launch; this agent knows a guest from its `prepare`
//! on. What lies in between was promised an idle GPU and is not seen on one, so Mesos is asked for its count first. Where it
//! does not tell, the answer is a failure: Mesos logs it, keeps what it was told before, and asks again.

use crate::agent::reply::Reply;
use crate::agent::sampling;
use crate::agent::state::State;
use crate::domain::guests::Guests;
use crate::domain::request::gpus_wanted;
use crate::error::Error;
use crate::ports::usage::Usage;
use crate::wire::Resource;
use crate::wire::resource::gpu_shares;
use crate::wire::usage::{ExecutorUsage, ResourceUsage};
use std::time::Duration;

/// How long Mesos may take to tell who has what. It asks all isolators about all containers for that.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Answers what can be offered as revocable in addition to what Mesos has given out as such.
pub fn answer(state: &mut State, usage: &dyn Usage, reply: Reply<Vec<Resource>>) {
    match sampling::oversubscribable(state, 0) {
        // Where nothing is idle, what was promised makes no difference, and Mesos need not look at all its containers.
        Ok(nothing) if nothing.is_empty() => return reply.answer(Ok(nothing)),
        Err(error) => return reply.fail(&error),
        Ok(_) => {}
    }
    let late = reply.clone();
    state.later(PATIENCE, "oversubscribable", move |_| {
        late.fail(&Error::machine(format!(
            "cannot tell how many idle GPUs are promised already: Mesos did not say within {} s who has what",
            PATIENCE.as_secs()
        )));
    });
    let mailbox = state.mailbox.clone();
    usage.ask(Box::new(move |told| {
        mailbox.post("oversubscribable", move |state| {
            reply.answer(heard(state, told));
        });
    }));
}

fn heard(state: &State, told: Result<ResourceUsage, String>) -> Result<Vec<Resource>, Error> {
    let told = told.map_err(|why| {
        Error::machine(format!(
            "cannot tell how many idle GPUs are promised already: Mesos does not say who has what: {why}"
        ))
    })?;
    sampling::oversubscribable(state, promised(&told, &state.guests)?)
}

/// How many revocable GPUs Mesos has given to executors that are not guests on as many yet.
fn promised(usage: &ResourceUsage, guests: &Guests) -> Result<usize, Error> {
    let of_each = usage.executors.iter().map(|executor| {
        let given = revocable(executor)?;
        let container = executor.container().map_err(defect)?;
        Ok(given.saturating_sub(guests.of(&container).len()))
    });
    of_each.sum()
}

/// How many revocable GPUs an executor was given.
fn revocable(executor: &ExecutorUsage) -> Result<usize, Error> {
    let mut shares = gpu_shares(&executor.allocated).map_err(defect)?;
    shares.retain(|share| share.revocable);
    let count = gpus_wanted(&shares).map_err(defect)?;
    usize::try_from(count).map_err(defect)
}

fn defect(why: impl std::fmt::Display) -> Error {
    Error::defect(format!(
        "cannot tell how many idle GPUs are promised already: {why}"
    ))
}

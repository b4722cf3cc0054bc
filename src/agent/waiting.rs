// SPDX-License-Identifier: Apache-2.0
//! Launches and growths that wait for GPUs that are being released, first come, first served. Guests on GPUs that nobody holds
//! make room for them.

use crate::agent::state::State;
use crate::agent::{eviction, release};
use crate::domain::container::ContainerId;
use crate::domain::gpu::UnitId;
use crate::domain::ledger::Shortage;
use crate::error::Error;
use std::collections::VecDeque;

/// What goes on when the units are there, or will not come.
pub type Then = Box<dyn FnOnce(&mut State, Result<Vec<UnitId>, Error>) + Send>;

struct Waiting {
    number: u64,
    container: ContainerId,
    more: usize,
    then: Then,
}

/// The queue.
#[derive(Default)]
pub struct Queue {
    waiting: VecDeque<Waiting>,
    next: u64,
}

impl Queue {
    /// The container that waits first.
    pub fn first(&self) -> Option<&ContainerId> {
        self.waiting.front().map(|waiting| &waiting.container)
    }

    /// Those in the queue, each with how many units it waits for.
    pub fn each(&self) -> impl Iterator<Item = (&ContainerId, usize)> {
        self.waiting
            .iter()
            .map(|waiting| (&waiting.container, waiting.more))
    }

    /// How many units those in the queue wait for.
    pub fn wanted(&self) -> usize {
        self.waiting.iter().map(|waiting| waiting.more).sum()
    }
}

/// Takes `more` units for a container: those first that it gave back itself a moment ago, then free ones, now or when enough
/// of those that are being released are free, within the agent's patience. `then` runs exactly once.
pub fn take(state: &mut State, container: &ContainerId, more: usize, then: Then) {
    let own = release::take_back(state, container, more);
    let left = more - own.len();
    if left == 0 {
        return then(state, Ok(own));
    }
    let id = container.clone();
    let joined = move |state: &mut State, taken: Result<Vec<UnitId>, Error>| {
        if taken.is_err() {
            release::begin(state, &id, &own, true);
        }
        then(state, taken.map(|taken| own.into_iter().chain(taken).collect()));
    };
    take_others(state, container, left, Box::new(joined));
}

fn take_others(state: &mut State, container: &ContainerId, more: usize, then: Then) {
    let before = state.waiting.wanted();
    let shortage = shortage(state, more);
    if shortage.free >= before + more {
        let taken = state.ledger.take(state.inventory.units(), container, more);
        return then(
            state,
            taken.map_err(|shortage| refused(container, &shortage, before)),
        );
    }
    if shortage.free + shortage.releasing < before + more {
        return then(state, Err(refused(container, &shortage, before)));
    }
    let number = state.waiting.next;
    state.waiting.next += 1;
    log::info!("container {container} waits for GPUs: {shortage}");
    state.waiting.waiting.push_back(Waiting {
        number,
        container: container.clone(),
        more,
        then,
    });
    eviction::make_room(state, true);
    state.later(state.patience.release_wait, "release.wait", move |state| {
        give_up(state, number)
    });
}

/// Serves those in front for whom there are enough now.
pub fn serve(state: &mut State) {
    while let Some(first) = state.waiting.waiting.front() {
        let (container, more) = (first.container.clone(), first.more);
        // Its own can have had guests when it asked.
        let own = release::own(state, &container).len().min(more);
        let Ok(mut taken) = state.ledger.take(state.inventory.units(), &container, more - own) else {
            return;
        };
        taken.extend(release::take_back(state, &container, own));
        if let Some(first) = state.waiting.waiting.pop_front() {
            (first.then)(state, Ok(taken));
        }
    }
}

/// Takes a container that ends out of the queue.
pub fn withdraw(state: &mut State, container: &ContainerId) {
    while let Some(at) = state
        .waiting
        .waiting
        .iter()
        .position(|waiting| &waiting.container == container)
    {
        refuse(state, at);
    }
}

fn give_up(state: &mut State, number: u64) {
    if let Some(at) = state
        .waiting
        .waiting
        .iter()
        .position(|waiting| waiting.number == number)
    {
        refuse(state, at);
    }
    // Those behind may want fewer.
    serve(state);
}

fn refuse(state: &mut State, at: usize) {
    let Some(waiting) = state.waiting.waiting.remove(at) else {
        return;
    };
    let before = state
        .waiting
        .waiting
        .iter()
        .take(at)
        .map(|waiting| waiting.more)
        .sum();
    let shortage = shortage(state, waiting.more);
    let error = refused(&waiting.container, &shortage, before);
    (waiting.then)(state, Err(error));
}

/// `before` is how many those wait for who asked before: without it a refusal beside free GPUs could not be understood.
/// The numbers, with those of the GPUs that were advertised and have not been there since the start.
fn shortage(state: &State, wanted: usize) -> Shortage {
    let mut shortage = state.ledger.shortage(state.inventory.units(), wanted);
    let missing = |unit: &&UnitId| state.inventory.get(unit).is_none();
    for unit in state.advertised.units.iter().filter(missing) {
        shortage.total += 1;
        if !state.ledger.is_held(unit) {
            let reason = state.ledger.sick(unit).unwrap_or("it is not there");
            shortage.set_aside.push(format!("{unit} set aside: {reason}"));
        }
    }
    shortage
}

fn refused(container: &ContainerId, shortage: &Shortage, before: usize) -> Error {
    let before = match before {
        0 => String::new(),
        some => format!("; {some} are for containers that asked before"),
    };
    Error::request(format!(
        "cannot give GPUs to container {container}: {shortage}{before}"
    ))
}

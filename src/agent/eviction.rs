// SPDX-License-Identifier: Apache-2.0
//! Sending guests away: when the estimate says so, when a container that is to hold GPUs needs theirs, and when sharing was
//! switched off.
//!
//! There are two ways. Mesos's QoS controller, where it is loaded, is told to kill the guest's executor; frameworks then hear
//! of it as Mesos itself tells it. Where it is not, or nothing came of it, the guest's `watch` is answered, which kills the
//! container at once.

use crate::agent::corrections::Correction;
use crate::agent::sampling;
use crate::agent::state::State;
use crate::domain::container::ContainerId;
use crate::domain::gpu::UnitId;
use crate::domain::ledger::Phase;
use crate::wire::ContainerLimitation;
use crate::wire::launch::REASON_CONTAINER_PREEMPTED;
use prost::Message;
use std::collections::BTreeMap;

/// The guests that were told to go and have not ended.
#[derive(Debug, Default)]
pub struct Evictions {
    going: BTreeMap<ContainerId, Going>,
}

#[derive(Debug)]
struct Going {
    why: String,
    /// Whether its watch is to be answered.
    by_watch: bool,
}

impl Evictions {
    /// Whether a guest was told to go.
    pub fn is_going(&self, guest: &ContainerId) -> bool {
        self.going.contains_key(guest)
    }

    /// What a watch on a container is to be answered at once.
    pub fn answer(&self, container: &ContainerId) -> Option<Vec<u8>> {
        let going = self.going.get(container)?;
        going.by_watch.then(|| limitation(&going.why))
    }

    /// A container is gone.
    pub fn forget(&mut self, container: &ContainerId) {
        self.going.remove(container);
    }
}

/// Sends away whom the look that was taken found, and those for whose GPUs somebody still waits.
pub(super) fn after_look(state: &mut State) {
    for must_go in state.estimate.decision().must_go.clone() {
        let why = format!("{} is needed by its owner: {}", must_go.gpu, must_go.why);
        evict(state, &must_go.gpu, &why);
    }
    make_room(state, false);
}

/// Sends the guests of as many GPUs away as are needed for those who wait to hold some. GPUs without guests that are being
/// released count as theirs too at first: most are free in a moment. Not at the next look (`at_first` is over), because one
/// that stays in use would make them wait for a guest.
pub fn make_room(state: &mut State, at_first: bool) {
    let Some(first) = state.waiting.first().cloned() else {
        return;
    };
    while let Some(gpu) = needed(state, at_first) {
        let why = format!("{gpu} is needed by container {first}, which is to hold it");
        log::info!("the guests of {gpu} must go: container {first} is to hold it");
        evict(state, &gpu, &why);
        sampling::corrected(state, &gpu);
    }
}

/// Sends every guest away.
pub fn all(state: &mut State, why: &str) {
    let gpus: Vec<UnitId> = state.guests.gpus().cloned().collect();
    for gpu in gpus {
        let why = format!("{gpu} is not shared any more: {why}");
        log::warn!("{why}");
        evict(state, &gpu, &why);
    }
}

/// The first GPU whose guests must go for those who wait.
fn needed(state: &State, at_first: bool) -> Option<UnitId> {
    let (mut coming, mut occupied) = (0, None);
    for unit in state.inventory.units() {
        let guests = state.guests.on(&unit.id);
        let leaving = guests.iter().all(|guest| state.evictions.is_going(guest));
        match state.ledger.phase(&unit.id) {
            Phase::Free => coming += 1,
            Phase::Releasing if guests.is_empty() => coming += usize::from(at_first),
            Phase::Releasing if leaving => coming += 1,
            Phase::Releasing if state.ledger.sick(&unit.id).is_none() => {
                occupied.get_or_insert_with(|| unit.id.clone());
            }
            _ => {}
        }
    }
    occupied.filter(|_| coming < state.waiting.wanted())
}

/// Sends the guests of one GPU away, each once.
fn evict(state: &mut State, gpu: &UnitId, why: &str) {
    for guest in state.guests.on(gpu).to_vec() {
        if state.evictions.is_going(&guest) {
            continue;
        }
        let going = Going {
            why: why.to_owned(),
            by_watch: false,
        };
        state.evictions.going.insert(guest.clone(), going);
        let executor = state
            .containers
            .get(&guest)
            .and_then(|known| known.executor.clone());
        let Some(executor) = executor.filter(|_| state.corrections.is_asked()) else {
            end(state, &guest);
            continue;
        };
        state.corrections.send(Correction {
            container: guest.clone(),
            executor,
            why: why.to_owned(),
        });
        let patience = state.estimate.interval().unwrap_or_default();
        state.later(patience, "eviction", move |state| end(state, &guest));
    }
}

/// Answers the watch on a guest that has not ended, now or when it comes.
fn end(state: &mut State, guest: &ContainerId) {
    let Some(going) = state.evictions.going.get_mut(guest) else {
        return;
    };
    going.by_watch = true;
    let watch = state
        .containers
        .get_mut(guest)
        .and_then(|known| known.watch.take());
    if let Some(watch) = watch {
        log::warn!("container {guest} is ended: {}", going.why);
        watch.answer(Ok(limitation(&going.why)));
    }
}

fn limitation(why: &str) -> Vec<u8> {
    let limitation = ContainerLimitation {
        message: Some(why.to_owned()),
        reason: Some(REASON_CONTAINER_PREEMPTED),
        ..ContainerLimitation::default()
    };
    limitation.encode_to_vec()
}

// SPDX-License-Identifier: Apache-2.0
//! `cleanup`: all processes of a container are gone. It never fails, because Mesos would keep the container for ever, and
//! may come for a container that was never prepared, or twice.

use crate::agent::reply::Reply;
use crate::agent::state::State;
use crate::agent::{release, waiting};
use crate::domain::container::ContainerId;
use crate::domain::words::listed;
use crate::isolator::{children, devices, guest, observe, shrink};

/// Gives back what the container held.
pub fn cleanup(state: &mut State, container: &ContainerId, reply: &Reply<()>) {
    waiting::withdraw(state, container);
    state.machine.images.ended(&container.to_string());
    if container.is_nested() {
        children::cleanup(state, container);
        shrink::catch_up(state, &container.root());
    } else if observe::is_on(state) {
        observe::forget(state, container);
    } else {
        root(state, container);
    }
    reply.answer(Ok(()));
}

fn root(state: &mut State, container: &ContainerId) {
    state.containers.retain(|known, _| &known.root() != container);
    state.evictions.forget(container);
    state.corrections.forget(container);
    release::container_ended(state, container);
    let units = state.units_of(container);
    if units.is_empty() {
        return;
    }
    let shared = state.guests.of(container);
    // Its cgroup outlives this call; withdrawn here, no two cgroups ever name the same GPU.
    for failure in devices::revoke(state, &container.cgroup(&state.cgroups_root), &units, &[]) {
        log::warn!("container {container} is gone, but {failure}");
    }
    log::info!("container {container} ended and gave back {}", listed(&units));
    guest::leave(state, container, &shared, false);
    let held = state.ledger.held_by(container).to_vec();
    release::begin(state, container, &held, false);
}

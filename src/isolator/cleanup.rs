// SPDX-License-Identifier: Apache-2.0
//! `cleanup`: all processes of a container are gone. It never fails, because Mesos would keep the container for ever, and
//! may come for a container that was never prepared, or twice.

use crate::agent::reply::Reply;
use crate::agent::state::State;
use crate::domain::container::ContainerId;
use crate::isolator::{devices, prepare};

/// Gives back what the container held.
pub fn cleanup(state: &mut State, container: &ContainerId, reply: &Reply<()>) {
    let units = state.ledger.held_by(container).to_vec();
    if !units.is_empty() {
        // Its cgroup outlives this call; withdrawn here, no two cgroups ever name the same GPU.
        let cgroup = container.cgroup(&state.cgroups_root);
        for failure in devices::revoke(state, &cgroup, &units, &[]) {
            log::warn!("container {container} is gone, but {failure}");
        }
        state.ledger.give_back(container, &units);
        log::info!(
            "container {container} ended and gave back {}",
            prepare::list(&units)
        );
    }
    state.containers.remove(container);
    reply.answer(Ok(()));
}

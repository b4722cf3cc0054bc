// SPDX-License-Identifier: Apache-2.0
//! `recover`: the agent starts, perhaps beside containers of its predecessor.
//!
//! What the kernel lets a container open is what it holds; so the books are read back from the devices cgroups, of live
//! containers and of orphans alike (those are destroyed later, and hold until then). Nothing here fails the agent: one
//! container that cannot be read costs a log line.

use crate::agent::reply::Reply;
use crate::agent::state::State;
use crate::domain::container::ContainerId;
use crate::isolator::devices;

/// Takes up the containers of the agent before.
pub fn recover(state: &mut State, live: Vec<ContainerId>, orphans: Vec<ContainerId>, reply: &Reply<()>) {
    for container in live.iter().chain(&orphans) {
        state.containers.entry(container.clone()).or_default();
        adopt(state, container);
    }
    let held = state
        .inventory
        .units()
        .iter()
        .filter(|unit| state.ledger.is_held(&unit.id))
        .count();
    log::info!(
        "recovered {} containers and {} orphans; they hold {held} of {} GPUs",
        live.len(),
        orphans.len(),
        state.inventory.units().len()
    );
    reply.answer(Ok(()));
}

/// Books what the kernel grants a container. Children share their root's grant, which the root's own record covers.
pub(super) fn adopt(state: &mut State, container: &ContainerId) {
    if container.is_nested() {
        return;
    }
    let cgroup = container.cgroup(&state.cgroups_root);
    if !devices::controller(state).is_ok_and(|control| control.exists(&cgroup)) {
        return;
    }
    let units = match devices::granted(state, &cgroup) {
        Ok(units) => units,
        Err(error) => {
            log::error!("cannot tell which GPUs container {container} holds: {error}");
            return;
        }
    };
    for unit in &units {
        let others: Vec<String> = state.ledger.holders(unit).map(ToString::to_string).collect();
        if !others.is_empty() {
            log::error!(
                "{unit} is granted to container {container} and to {}; both keep it",
                others.join(", ")
            );
        }
    }
    state.ledger.adopt(container, &units);
}

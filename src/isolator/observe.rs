// SPDX-License-Identifier: Apache-2.0
//! Observing: Mesos's own isolator hands GPUs out, and this one only reads from the kernel what it handed out, to name it
//! in the environment and in the labels. It writes no device rule and keeps no GPU from anyone.

use crate::agent::state::State;
use crate::config::Mode;
use crate::domain::container::ContainerId;
use crate::domain::gpu::UnitId;
use crate::error::Error;
use crate::isolator::devices;
use std::time::Duration;

/// Mesos updates all isolators at the same time, so the built-in's rules are there a little later.
const SOON: [Duration; 3] = [
    Duration::from_millis(20),
    Duration::from_millis(200),
    Duration::from_secs(2),
];

/// Whether this agent only observes.
pub(super) fn is_on(state: &State) -> bool {
    state.mode == Mode::Observe
}

/// What the kernel lets a container open now.
///
/// # Errors
/// The kernel's refusal to tell.
pub(super) fn look(state: &mut State, container: &ContainerId) -> Result<Vec<UnitId>, Error> {
    let cgroup = container.cgroup(&state.cgroups_root);
    let units = if devices::controller(state)?.exists(&cgroup) {
        devices::granted(state, &cgroup)?
    } else {
        Vec::new()
    };
    let had = state.ledger.held_by(container).to_vec();
    state.ledger.give_back(container, &had);
    state.ledger.adopt(container, &units);
    state.record();
    Ok(units)
}

/// Looks when the built-in has had time to write its rules.
pub(super) fn look_again_soon(state: &mut State, container: &ContainerId) {
    for wait in SOON {
        let container = container.clone();
        state.later(wait, "observe", move |state| {
            if !state.containers.contains_key(&container) {
                return;
            }
            if let Err(error) = look(state, &container) {
                log::warn!("cannot tell which GPUs container {container} was given: {error}");
            }
        });
    }
}

/// A container is gone.
pub(super) fn forget(state: &mut State, container: &ContainerId) {
    state.containers.retain(|known, _| &known.root() != container);
    let had = state.ledger.held_by(container).to_vec();
    state.ledger.give_back(container, &had);
    state.record();
}

// SPDX-License-Identifier: Apache-2.0
//! Taking GPUs from a container that goes on.
//!
//! Mesos tells how many are to stay, not which. Those that a running child uses stay; of the others the ones taken last go
//! first. When children still use more than may stay, the rest goes when they end: the end of a task can be told before
//! its container is gone.

use crate::agent::release;
use crate::agent::state::State;
use crate::domain::container::ContainerId;
use crate::domain::gpu::UnitId;
use crate::isolator::{children, devices, prepare};

/// Makes a container keep `target` GPUs, at once or as its children end.
pub(super) fn to(state: &mut State, container: &ContainerId, target: usize) {
    let held = state.ledger.held_by(container).to_vec();
    let used = children::given_below(state, container);
    let idle: Vec<&UnitId> = held.iter().rev().filter(|unit| !used.contains(unit)).collect();
    let surplus: Vec<UnitId> = idle
        .into_iter()
        .take(held.len().saturating_sub(target))
        .cloned()
        .collect();
    let left = held.len() - surplus.len();
    if let Some(known) = state.containers.get_mut(container) {
        known.target = (left > target).then_some(target);
    }
    if !surplus.is_empty() {
        take_away(state, container, &held, &surplus);
    }
}

/// Goes on with a shrink that waited for a child to end.
pub(super) fn catch_up(state: &mut State, container: &ContainerId) {
    if let Some(target) = state.containers.get(container).and_then(|known| known.target) {
        to(state, container, target);
    }
}

/// A rule that cannot be withdrawn keeps its unit with the container: nobody else may get a GPU that this one can open.
fn take_away(state: &mut State, container: &ContainerId, held: &[UnitId], surplus: &[UnitId]) {
    let kept: Vec<UnitId> = held
        .iter()
        .filter(|unit| !surplus.contains(unit))
        .cloned()
        .collect();
    let failures = devices::revoke(state, &container.cgroup(&state.cgroups_root), surplus, &kept);
    if !failures.is_empty() {
        return log::error!(
            "container {container} keeps {}: {}",
            prepare::list(surplus),
            failures.join("; ")
        );
    }
    log::info!("container {container} gave back {}", prepare::list(surplus));
    release::begin(state, container, surplus, true);
}

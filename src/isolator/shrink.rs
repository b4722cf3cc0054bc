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
use crate::domain::request::Wanted;
use crate::domain::words::listed;
use crate::isolator::{children, devices, guest};

/// How many GPUs a container has.
pub(super) fn has(state: &State, container: &ContainerId) -> Wanted {
    Wanted {
        regular: state.ledger.held_by(container).len(),
        revocable: state.guests.of(container).len(),
    }
}

/// Makes a container keep `target` GPUs, where it has more, at once or as its children end.
pub(super) fn to(state: &mut State, container: &ContainerId, target: Wanted) {
    let (held, shared) = (
        state.ledger.held_by(container).to_vec(),
        state.guests.of(container),
    );
    let used = children::given_below(state, container);
    let surplus = |units: &[UnitId], target: usize| -> Vec<UnitId> {
        let idle = units.iter().rev().filter(|unit| !used.contains(unit));
        idle.take(units.len().saturating_sub(target)).cloned().collect()
    };
    let of_held = surplus(&held, target.regular);
    let of_shared = surplus(&shared, target.revocable);
    let left = Wanted {
        regular: held.len() - of_held.len(),
        revocable: shared.len() - of_shared.len(),
    };
    if let Some(known) = state.containers.get_mut(container) {
        known.target = (!left.beyond(target).is_none()).then_some(target);
    }
    if !of_held.is_empty() || !of_shared.is_empty() {
        take_away(state, container, &of_held, &of_shared);
    }
}

/// Goes on with a shrink that waited for a child to end.
pub(super) fn catch_up(state: &mut State, container: &ContainerId) {
    if let Some(target) = state.containers.get(container).and_then(|known| known.target) {
        to(state, container, target);
    }
}

/// A rule that cannot be withdrawn keeps its unit with the container: nobody else may get a GPU that this one can open.
fn take_away(state: &mut State, container: &ContainerId, held: &[UnitId], shared: &[UnitId]) {
    let surplus = [held, shared].concat();
    let mut kept = state.units_of(container);
    kept.retain(|unit| !surplus.contains(unit));
    let failures = devices::revoke(state, &container.cgroup(&state.cgroups_root), &surplus, &kept);
    if !failures.is_empty() {
        return log::error!(
            "container {container} keeps {}: {}",
            listed(&surplus),
            failures.join("; ")
        );
    }
    log::info!("container {container} gave back {}", listed(&surplus));
    guest::leave(state, container, shared, true);
    release::begin(state, container, held, true);
}

// SPDX-License-Identifier: Apache-2.0
//! Device rules that others took away are put back, and those that they added are withdrawn. Whoever manages cgroups beside Mesos (systemd, on a reload of its units)
//! can write its own rules over those that a running container needs, and so can a driver that was loaded again and got other
//! numbers.

use crate::agent::state::State;
use crate::config::Mode;
use crate::domain::container::ContainerId;
use crate::domain::gpu::UnitId;
use crate::domain::words::listed;
use crate::isolator::devices;
use std::collections::BTreeSet;

/// Looks at every container with GPUs, and again after each interval.
pub fn watch(state: &mut State) {
    if state.mode == Mode::Observe {
        return;
    }
    repair(state);
    state.later(state.patience.health_interval, "reconcile", watch);
}

/// Makes the kernel let every container with GPUs open what it holds or is a guest on, and no other: for all of them it is
/// withdrawn before for any of them it is granted, so that two whose GPUs changed places never have the same.
pub fn repair(state: &mut State) {
    let holders = state.ledger.all_held().keys().cloned();
    let all: BTreeSet<ContainerId> = holders.chain(state.guests.by_guest().into_keys()).collect();
    for container in &all {
        withdraw(state, container);
    }
    for container in &all {
        grant(state, container);
    }
}

/// The same for one container.
pub(super) fn container(state: &mut State, container: &ContainerId) {
    withdraw(state, container);
    grant(state, container);
}

fn withdraw(state: &State, container: &ContainerId) {
    let cgroup = container.cgroup(&state.cgroups_root);
    let has = state.units_of(container);
    let Ok(mut stray) = devices::granted(state, &cgroup) else {
        return;
    };
    stray.retain(|unit| !has.contains(unit));
    if stray.is_empty() {
        return;
    }
    log::warn!(
        "container {container} could open {}, which it does not hold",
        listed(&stray)
    );
    for failure in devices::revoke(state, &cgroup, &stray, &has) {
        log::error!("container {container} still can: {failure}");
    }
}

fn grant(state: &mut State, container: &ContainerId) {
    let cgroup = container.cgroup(&state.cgroups_root);
    // After a recovery in doubt two can hold the same unit; then it stays as the kernel has it. A guest is no holder.
    let in_doubt = |unit: &UnitId| {
        state.ledger.held_by(container).contains(unit) && state.ledger.holders(unit).count() != 1
    };
    let mut sure = state.units_of(container);
    sure.retain(|unit| !in_doubt(unit));
    match devices::missing(state, &cgroup, &sure) {
        Ok(missing) if missing.is_empty() => {}
        Ok(missing) => {
            log::warn!(
                "container {container} could not open {}: somebody else changed its device rules, or the agent ended \
                 before it came to them",
                listed(&missing)
            );
            state.record();
            if let Err(error) = devices::allow_all(state, &cgroup, &missing) {
                log::error!("cannot give container {container} its devices back: {error}");
            }
        }
        // A GPU that is gone cannot be granted; its health is looked after elsewhere.
        Err(_) => {}
    }
}

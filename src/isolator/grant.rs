// SPDX-License-Identifier: Apache-2.0
//! Giving a container more GPUs: booked, written down, granted by the kernel, in this order, all or none.

use crate::agent::release;
use crate::agent::state::State;
use crate::agent::waiting::{self, Then};
use crate::domain::container::ContainerId;
use crate::domain::gpu::UnitId;
use crate::error::Error;
use crate::isolator::{devices, unified_memory};

/// Gives a container `more` GPUs, now or when enough of those that are being released are free. `then` runs exactly once;
/// on a failure the container has what it had.
pub(super) fn give(state: &mut State, container: &ContainerId, more: usize, then: Then) {
    if more == 0 {
        return then(state, Ok(Vec::new()));
    }
    if let Err(error) = ready_for_gpus(state, container) {
        return then(state, Err(error));
    }
    let id = container.clone();
    let taken = move |state: &mut State, units: Result<Vec<UnitId>, Error>| match units {
        Err(error) => then(state, Err(error)),
        Ok(units) => unified_memory::ensure(
            state,
            Box::new(move |state, nodes| {
                let granted = nodes.and_then(|()| grant(state, &id, &units));
                if granted.is_err() {
                    take_back(state, &id, &units);
                }
                then(state, granted.map(|()| units));
            }),
        ),
    };
    waiting::take(state, container, more, Box::new(taken));
}

/// Lets a container open the control nodes, where every container may. One with GPUs has them already.
pub(super) fn control_nodes(state: &State, container: &ContainerId) -> Result<(), Error> {
    let cgroup = container.cgroup(&state.cgroups_root);
    if !state.patience.control_nodes_for_all || !state.ledger.held_by(container).is_empty() {
        return Ok(());
    }
    if !devices::controller(state)?.exists(&cgroup) {
        return Ok(());
    }
    devices::grant(state, &cgroup, &[])
}

/// Some of the units can be the container's own of a moment ago, which its processes may still use; and while it waited for
/// its nodes they can have been granted, as what it holds.
fn take_back(state: &mut State, container: &ContainerId, units: &[UnitId]) {
    let held = state.ledger.held_by(container);
    let kept: Vec<UnitId> = held
        .iter()
        .filter(|unit| !units.contains(unit))
        .cloned()
        .collect();
    let cgroup = container.cgroup(&state.cgroups_root);
    for failure in devices::revoke(state, &cgroup, units, &kept) {
        log::error!("container {container} can still open what it did not get: {failure}");
    }
    // What it lost meanwhile, because it ended, is somebody else's business.
    let held = state.ledger.held_by(container);
    let still: Vec<UnitId> = units.iter().filter(|unit| held.contains(unit)).cloned().collect();
    release::begin(state, container, &still, true);
}

fn ready_for_gpus(state: &State, container: &ContainerId) -> Result<(), Error> {
    state.sound()?;
    let cgroup = container.cgroup(&state.cgroups_root);
    if devices::controller(state)?.exists(&cgroup) {
        return Ok(());
    }
    Err(Error::machine(format!(
        "cannot grant GPUs to container {container}: it has no devices cgroup {cgroup}; name cgroups/devices or \
         cgroups/all in --isolation"
    )))
}

fn grant(state: &mut State, container: &ContainerId, units: &[UnitId]) -> Result<(), Error> {
    // It can have waited for its nodes, and ended meanwhile.
    if !units
        .iter()
        .all(|unit| state.ledger.held_by(container).contains(unit))
    {
        return Err(Error::request(format!(
            "container {container} ended before it got its GPUs"
        )));
    }
    ready_for_gpus(state, container)?;
    state.record();
    devices::grant(state, &container.cgroup(&state.cgroups_root), units)
}

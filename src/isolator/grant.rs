// SPDX-License-Identifier: Apache-2.0
//! Giving a container more GPUs: booked, written down, granted by the kernel, in this order, all or none.

use crate::agent::release;
use crate::agent::state::State;
use crate::agent::waiting::{self, Then};
use crate::domain::container::ContainerId;
use crate::domain::gpu::UnitId;
use crate::domain::request::Wanted;
use crate::error::Error;
use crate::isolator::{devices, guest, unified_memory};

/// Gives a container `more` GPUs: those that it is to hold now or when enough of those that are being released are free, and
/// the revocable ones when it has the others. `then` runs exactly once; on a failure the container has what it had. `first`
/// runs before the kernel is told, when it is known by then which GPUs they are: what it starts elsewhere is done meanwhile.
pub(super) fn give(
    state: &mut State,
    container: &ContainerId,
    more: Wanted,
    first: impl FnOnce(&mut State, &[UnitId]) + Send + 'static,
    then: Then,
) {
    if more.is_none() {
        return then(state, Ok(Vec::new()));
    }
    // Who cannot be a guest now need not wait for the rest.
    let ready =
        ready_for_gpus(state, container).and_then(|()| guest::choose(state, container, more.revocable));
    if let Err(error) = ready {
        return then(state, Err(error));
    }
    let id = container.clone();
    let taken = move |state: &mut State, units: Result<Vec<UnitId>, Error>| match units {
        Err(error) => then(state, Err(error)),
        Ok(units) => unified_memory::ensure(
            state,
            Box::new(move |state, nodes| {
                if nodes.is_ok() && more.revocable == 0 {
                    first(state, &units);
                }
                let granted = nodes.and_then(|()| grant(state, &id, &units, more.revocable));
                if granted.is_err() {
                    take_back(state, &id, &units);
                }
                then(state, granted);
            }),
        ),
    };
    waiting::take(state, container, more.regular, Box::new(taken));
}

/// Lets a container open the control nodes, where every container may. One with GPUs has them already.
pub(super) fn control_nodes(state: &State, container: &ContainerId) -> Result<(), Error> {
    let cgroup = container.cgroup(&state.cgroups_root);
    if !state.patience.control_nodes_for_all || !state.units_of(container).is_empty() {
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
    let mut kept = state.units_of(container);
    kept.retain(|unit| !units.contains(unit));
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

/// Grants what a container holds now, and places it as a guest on so many more. All of these come back.
fn grant(
    state: &mut State,
    container: &ContainerId,
    held: &[UnitId],
    revocable: usize,
) -> Result<Vec<UnitId>, Error> {
    // It can have waited for its nodes, and ended meanwhile.
    let has = state.ledger.held_by(container);
    if !state.containers.contains_key(container) || !held.iter().all(|unit| has.contains(unit)) {
        return Err(Error::request(format!(
            "container {container} ended before it got its GPUs"
        )));
    }
    ready_for_gpus(state, container)?;
    let shared = guest::place(state, container, revocable)?;
    let units = [held, &shared].concat();
    let granted = if state.record() || shared.is_empty() {
        devices::grant(state, &container.cgroup(&state.cgroups_root), &units)
    } else {
        // The kernel alone would make a holder of it.
        Err(Error::machine(format!(
            "cannot give revocable GPUs to container {container}: it could not be written down that it is a guest"
        )))
    };
    if granted.is_err() {
        guest::leave(state, container, &shared, true);
    }
    granted.map(|()| units)
}

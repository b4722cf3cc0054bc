// SPDX-License-Identifier: Apache-2.0
//! Revocable GPUs: a container that asks for them is a guest on GPUs that others hold and leave idle. It holds nothing, waits
//! for nothing, and goes when a holder wants its GPU.

use crate::agent::state::State;
use crate::agent::{release, sampling};
use crate::domain::container::ContainerId;
use crate::domain::gpu::UnitId;
use crate::error::Error;

/// Whether a container can have so many revocable GPUs on this agent at all.
///
/// # Errors
/// The parameter that forbids it.
pub(super) fn allowed(state: &State, container: &ContainerId, revocable: usize) -> Result<(), Error> {
    // While it only observes it never estimates.
    if revocable == 0 || state.estimate.interval().is_some() {
        return Ok(());
    }
    Err(Error::request(format!(
        "cannot give {revocable} revocable GPUs to container {container}: the parameter oversubscribe is off on this agent; \
         ask for regular gpus, or switch oversubscribe on"
    )))
}

/// The idle GPUs of others that a container would be placed on, now.
///
/// # Errors
/// When there are fewer; nothing is wrong then, and a later offer can be met.
pub(super) fn choose(state: &State, container: &ContainerId, more: usize) -> Result<Vec<UnitId>, Error> {
    if more == 0 {
        return Ok(Vec::new());
    }
    allowed(state, container, more)?;
    let has = state.units_of(container);
    let mut idle = sampling::offerable(state, 0);
    idle.retain(|unit| !has.contains(unit));
    if idle.len() < more {
        return Err(Error::request(format!(
            "cannot give {more} revocable GPUs to container {container}: only {} held GPUs are idle now and can take a guest; \
             try again with a later offer",
            idle.len()
        )));
    }
    idle.truncate(more);
    Ok(idle)
}

/// Books a container as a guest on so many more GPUs.
///
/// # Errors
/// As [`choose`]; then nothing is booked.
pub(super) fn place(state: &mut State, container: &ContainerId, more: usize) -> Result<Vec<UnitId>, Error> {
    let units = choose(state, container, more)?;
    state.guests.add(container, &units);
    Ok(units)
}

/// Notes that a guest left these units, whose rules are withdrawn, and writes that down. `alive` tells whether it goes on.
pub(super) fn leave(state: &mut State, container: &ContainerId, units: &[UnitId], alive: bool) {
    if !units.is_empty() {
        release::guest_left(state, container, units, alive);
    }
}

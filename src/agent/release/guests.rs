// SPDX-License-Identifier: Apache-2.0
//! Guests on GPUs that nobody holds any more: until they are gone such a GPU is on its way back. Its processes are looked at
//! only then, because they are the guests' own.

use super::{Release, look};
use crate::agent::state::State;
use crate::domain::container::ContainerId;
use crate::domain::gpu::UnitId;

/// A guest left these units, and its device rules are withdrawn. Those that somebody holds stay as they are. `alive` tells
/// whether the guest goes on.
pub fn guest_left(state: &mut State, guest: &ContainerId, units: &[UnitId], alive: bool) {
    state.guests.leave(guest, units);
    let mut any = false;
    for unit in units {
        if state.ledger.is_held(unit) {
            continue;
        }
        let mut release = Release::new(state, guest, alive, true);
        // Who held it and lives can still use it, and can take it back.
        if let Some(before) = state.releases.get(unit).filter(|before| before.alive) {
            release.container.clone_from(&before.container);
            (release.alive, release.guest) = (true, before.guest);
        }
        state.ledger.hold_back(unit);
        state.releases.insert(unit.clone(), release);
        any = true;
    }
    state.record();
    if any {
        look(state);
    }
}

/// Keeps the units back that have guests and that nobody holds: their holders ended while the agent was away.
pub fn of_guests(state: &mut State) {
    for (guest, units) in state.guests.by_guest() {
        for unit in units {
            if !state.ledger.is_held(&unit) {
                state.ledger.hold_back(&unit);
                let release = Release::new(state, &guest, false, true);
                state.releases.insert(unit, release);
            }
        }
    }
}

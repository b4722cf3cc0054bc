// SPDX-License-Identifier: Apache-2.0
//! Publishing the agent's numbers whenever they change.

use crate::agent::state::State;
use crate::domain::metrics;

/// What was published, so that nothing is written when nothing changed and a failure is said once.
#[derive(Debug, Default)]
pub struct Published {
    text: String,
    failure: Option<String>,
}

/// Publishes, if anything changed.
pub fn publish(state: &mut State) {
    let units = state
        .advertised
        .units
        .iter()
        .map(|unit| (unit.clone(), state.ledger.phase(unit)));
    let guests = state.guests.by_guest().len();
    let text = metrics::text(&units.collect::<Vec<_>>(), state.waiting.wanted(), guests);
    if text == state.published.text && state.published.failure.is_none() {
        return;
    }
    let failure = state.machine.metrics.publish(&text).err();
    if let Some(why) = failure
        .as_ref()
        .filter(|why| state.published.failure.as_ref() != Some(why))
    {
        log::warn!("{why}");
    }
    state.published = Published { text, failure };
}

// SPDX-License-Identifier: Apache-2.0
//! The numbers of the state.

use super::state::State;
use crate::domain::allocation_metrics::{self, Totals, Withheld};
use crate::domain::allocation_policy::cut::Reason;
use std::collections::BTreeMap;

/// The numbers, with so many agents that have GPUs.
pub fn text(state: &State, agents: usize) -> String {
    let mut withheld = Vec::new();
    let mut roles: BTreeMap<&str, u64> = BTreeMap::new();
    for framework in state.frameworks.iter() {
        for reason in Reason::ALL {
            let times = framework.withheld[reason as usize];
            if times > 0 {
                withheld.push(Withheld {
                    framework: &framework.id,
                    name: &framework.name,
                    reason: reason.label(),
                    times,
                });
            }
        }
        for role in framework.roles.iter().filter(|_| state.counts) {
            *roles.entry(&role.name).or_default() += role.held;
        }
    }
    withheld.sort_by(|a, b| (a.framework, a.reason).cmp(&(b.framework, b.reason)));
    let totals = Totals {
        agents,
        give_backs: state.give_backs,
    };
    allocation_metrics::text(&withheld, &roles, totals)
}

// SPDX-License-Identifier: Apache-2.0
//! The allocator in the real master: made through the real module manager, with a real agent behind it. Whatever the
//! master asks of an allocator must reach Mesos's own, and its answers the master.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

#[path = "allocator/agents.rs"]
mod agents;
#[path = "allocator/cluster.rs"]
mod cluster;
#[path = "allocator/failures.rs"]
mod failures;
#[path = "allocator/frameworks.rs"]
mod frameworks;
#[path = "allocator/maintenance.rs"]
mod maintenance;
#[path = "allocator/offers.rs"]
mod offers;
#[path = "allocator/refusals.rs"]
mod refusals;
#[path = "allocator/reservations.rs"]
mod reservations;
#[path = "allocator/roles.rs"]
mod roles;

use cluster::{agent, framework, master, offer};
use testbed::Testbed;

#[test]
fn a_master_starts_with_each_policy_and_offers_a_gpu_framework_all_of_a_gpu_agent() {
    for policy in ["strict", "share", "open"] {
        let bed = Testbed::new().unwrap();
        let master = master(&bed, &[("policy", policy)]);
        let _agent = agent(&bed);
        let gpus = framework(&master, "gpus", "r", true);
        let offer = offer(&gpus);
        assert_eq!(
            (offer.gpus(), offer.cpus(), offer.mem()),
            (4.0, 8.0, 8192.0),
            "{policy}"
        );
    }
}

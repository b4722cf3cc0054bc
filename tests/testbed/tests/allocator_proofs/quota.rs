// SPDX-License-Identifier: Apache-2.0
//! The promise that free GPUs keep what they need also from those to whom a quota hides the GPUs, whenever the quota was set.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common::{Amounts, Cluster, PATIENCE, amounts_of, lacking};

const AGENTS: [(&str, &str); 1] = [("one", "cpus:4;mem:4096;disk:1024;gpus:3")];

#[test]
fn ROOT_a_quota_that_is_set_while_gpus_are_in_use_leaves_the_free_ones_what_they_need() {
    if lacking("quota beside running tasks") {
        return;
    }
    let share = [("policy", "share"), ("cpus_per_gpu", "1"), ("mem_per_gpu", "512")];
    let cluster = Cluster::start(Some(&share), "100ms", &AGENTS);
    let gpus = cluster.framework("gpus", "gpus", true);
    let one = [("cpus", 0.5), ("mem", 128.0), ("gpus", 1.0)];
    cluster.hold(&gpus, "one", "first", &one);
    let operator = cluster.master.operator();
    operator.set_quota("batch", &[], &[("gpus", 0.0)]).unwrap();
    let looks = |free: Amounts| {
        let batch = cluster.framework("batch", "batch", false);
        let offers = cluster.offers(&batch, 8);
        let offers = offers.iter();
        let offered: Vec<_> = offers
            .map(|offer| (offer.hostname().to_owned(), Amounts::of(offer.resources())))
            .collect();
        assert_eq!(amounts_of(&offered, "one"), free);
        batch.teardown().unwrap();
    };
    looks(Amounts::new(0.0, 1.5, 2944.0));
    // What is taken after that counts, and what comes back.
    gpus.revive().unwrap();
    cluster.hold(&gpus, "one", "second", &one);
    looks(Amounts::new(0.0, 2.0, 3328.0));
    let agent = gpus.updates()[0].agent_id.clone().unwrap();
    gpus.kill("first", &agent).unwrap();
    gpus.wait_terminal("first", PATIENCE).unwrap();
    looks(Amounts::new(0.0, 1.5, 2944.0));
}

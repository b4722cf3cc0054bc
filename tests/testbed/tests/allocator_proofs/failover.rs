// SPDX-License-Identifier: Apache-2.0
//! The promise that a new leader goes on from what agents and frameworks tell it: after kill -9 in the middle of the load
//! offers resume, and what is in use stays in use.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use std::time::{Duration, Instant};

use testbed::scheduler::{Framework, FrameworkOptions};

use crate::common::load::Load;
use crate::common::random::setting;
use crate::common::{Allocator, Amounts, Cluster, PATIENCE, amounts_of, eventually, lacking, options};

const AGENTS: [(&str, &str); 2] = [
    ("one", "cpus:4;mem:4096;disk:1024;gpus:4"),
    ("two", "cpus:4;mem:4096;disk:1024;gpus:2"),
];
const TOTALS: [(&str, Amounts); 2] = [
    ("one", Amounts::new(4.0, 4.0, 4096.0)),
    ("two", Amounts::new(2.0, 4.0, 4096.0)),
];
/// What the holder leaves.
const LEFT: [(&str, Amounts); 2] = [
    ("one", Amounts::new(2.0, 3.0, 3968.0)),
    ("two", Amounts::new(2.0, 4.0, 4096.0)),
];
const FRAMEWORKS: u64 = 8;

#[test]
fn ROOT_offers_resume_and_nothing_is_lost_when_the_master_dies_in_the_load() {
    if lacking("master failover under load") {
        return;
    }
    proof(Some(&[
        ("policy", "share"),
        ("cpus_per_gpu", "0.5"),
        ("mem_per_gpu", "256"),
        ("gpu_caps", "role:holder=2"),
    ]));
}

/// What the proof rests on.
#[test]
fn ROOT_the_masters_own_allocator_survives_the_same() {
    if lacking("master failover under load") {
        return;
    }
    proof(None);
}

fn proof(allocator: Allocator<'_>) {
    let mut cluster = Cluster::start(allocator, "20ms", &AGENTS);
    let holder_options = options("holder", "holder", true);
    let holder = Framework::subscribe(cluster.master.address(), &holder_options).unwrap();
    cluster.hold(
        &holder,
        "one",
        "held",
        &[("cpus", 1.0), ("mem", 128.0), ("gpus", 2.0)],
    );
    let held = Amounts::new(2.0, 1.0, 128.0);
    let load = Load::patient(
        cluster.master.address(),
        FRAMEWORKS,
        setting("MESOS_GPU_SEED", 21),
    );
    for _ in 0..2 {
        load.wait_offers(100, || {
            cluster.given_away();
        });
        cluster.master.kill9().unwrap();
        cluster.master.restart().unwrap();
        cluster.master.wait_ready(PATIENCE).unwrap();
        // The agents are given back their ids.
        eventually("the agents to come back", || {
            (cluster.given_away().len() == AGENTS.len()).then_some(())
        });
        load.wait_offers(100, || {
            let given = amounts_of(&cluster.given_away(), "one");
            assert!(
                given.gpus >= held.gpus,
                "the held GPUs were given to others: {given:?}"
            );
        });
    }
    let quiet = load.stop();
    println!("{}", quiet.done);
    cluster.wait_unoffered(&quiet.frameworks.iter().collect::<Vec<_>>());
    let again = FrameworkOptions {
        id: Some(holder.id().to_owned()),
        ..holder_options
    };
    let holder = Framework::subscribe(cluster.master.address(), &again).unwrap();
    // No more GPUs are offered to it: its role's cap is reached.
    let offers = cluster.offers(&holder, 5);
    let capped = offers.iter().all(|offer| offer.gpus() == 0.0);
    assert!(allocator.is_none() || capped, "{offers:?}");
    holder.suppress().unwrap();
    for offer in &offers {
        holder.decline(offer, 0.0).unwrap();
    }
    cluster.wait_unoffered(&[&holder]);
    // It holds what it held.
    let until = Instant::now() + PATIENCE;
    loop {
        let given = cluster.given_away();
        if amounts_of(&given, "one") == held && amounts_of(&given, "two") == Amounts::default() {
            break;
        }
        assert!(
            Instant::now() < until,
            "only {held:?} is held, on the agent one, and {given:?} is given away"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(holder.updates().iter().all(|update| !update.is_terminal()));
    // Of the others nobody holds what another one could have.
    cluster.assert_free(&LEFT);
    quiet.leave();
    holder.teardown().unwrap();
    cluster.assert_free(&TOTALS);
    assert!(!cluster.master.log().contains("Check failed"));
}

// SPDX-License-Identifier: Apache-2.0
//! The promise of the policy `share` towards those who call REVIVE all the time, which takes back what they were refused:
//! they cannot keep the GPUs from others by that, and what they revive comes all the same.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use std::time::{Duration, Instant};

use testbed::scheduler::Offer;

use crate::common::{Cluster, PATIENCE, lacking};
use crate::starvation::{AGENTS, ALL_GPUS, NEVER, SHARE, framework_with_a_task};

/// Longer than the test: what was declined for so long comes again by a revival only.
const FOR_LONG: f64 = 3600.0;

/// Each revival that is passed on brings a cycle by itself, and where none is, one is made.
#[test]
fn ROOT_a_gpu_framework_gets_all_its_gpus_within_three_cycles_beside_one_that_declines_and_revives_in_each() {
    if lacking("starvation by reviving") {
        return;
    }
    let cluster = Cluster::start(Some(&SHARE), NEVER, &AGENTS);
    // The first answer may have been on its way when the allocator made its offers.
    let cycles = || cluster.cycles().max(cluster.cycles());
    let gpus = framework_with_a_task(&cluster);
    for _ in 0..3 {
        let declining = cluster.framework("declining", "declining", false);
        cluster.wait_unoffered(&[&declining]);
        let mut held: Vec<Offer> = Vec::new();
        let before = cycles();
        gpus.revive().unwrap();
        cluster.await_cycle(before);
        loop {
            cluster.wait_held(&[&declining], || {
                held.extend(gpus.take_offers());
                held.len()
            });
            let passed = cycles() - before;
            if held.iter().map(Offer::gpus).sum::<f64>() >= ALL_GPUS {
                println!("all GPUs were offered after {passed} cycles");
                break;
            }
            assert!(passed < 3, "{passed} cycles, and only {held:?} is offered");
            let now = cycles();
            declining.revive().unwrap();
            if cycles() == now {
                cluster.cycle();
            }
        }
        gpus.suppress().unwrap();
        for offer in &held {
            gpus.decline(offer, 0.0).unwrap();
        }
        // It goes while a revival of it waits.
        declining.revive().unwrap();
        declining.teardown().unwrap();
        cluster.wait_unoffered(&[&gpus]);
    }
}

#[test]
fn ROOT_a_revival_that_had_to_wait_is_passed_on() {
    if lacking("revivals that wait") {
        return;
    }
    let share = [SHARE.as_slice(), &[("refuse_time", "1secs")]].concat();
    let cluster = Cluster::start(Some(&share), "200ms", &AGENTS);
    let gpus = framework_with_a_task(&cluster);
    let declining = cluster.framework("declining", "declining", false);
    gpus.revive().unwrap();
    let (mut lent, mut with_gpus) = (0, 0);
    let until = Instant::now() + PATIENCE;
    while lent < 5 || with_gpus < 5 {
        assert!(
            Instant::now() < until,
            "{lent} offers without GPUs and {with_gpus} with them"
        );
        for offer in declining.take_offers() {
            lent += usize::from(offer.hostname() == "one");
            declining.decline(&offer, FOR_LONG).unwrap();
        }
        for offer in gpus.take_offers() {
            with_gpus += usize::from(offer.hostname() == "one" && offer.gpus() > 0.0);
            gpus.decline(&offer, 0.0).unwrap();
        }
        declining.revive().unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
}

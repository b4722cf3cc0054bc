// SPDX-License-Identifier: Apache-2.0
//! The promise of the policy `share`: a framework without GPUs can neither keep the GPUs from those who have use for them,
//! by taking and declining all the time, nor take what the GPUs need beside them; and a cap holds whoever accepts what.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use testbed::scheduler::{Framework, Offer, Task};

use crate::common::{Amounts, Cluster, PATIENCE, amounts_of, eventually, lacking};

const SHARE: [(&str, &str); 3] = [("policy", "share"), ("cpus_per_gpu", "1"), ("mem_per_gpu", "512")];
/// So slow that what a test does between two cycles is done.
const SLOW: &str = "1secs";
const QUICK: &str = "100ms";
const SMALL: [(&str, f64); 2] = [("cpus", 0.1), ("mem", 32.0)];

#[test]
fn ROOT_a_gpu_framework_gets_all_its_gpus_within_three_cycles_beside_one_that_declines_at_once() {
    if lacking("starvation by declining") {
        return;
    }
    let agents = [
        ("one", "cpus:4;mem:4096;disk:1024;gpus:4"),
        ("two", "cpus:4;mem:4096;disk:1024;gpus:2"),
        ("plain", "cpus:4;mem:4096;disk:1024"),
    ];
    let cluster = Cluster::start(Some(&SHARE), SLOW, &agents);
    // It has something already, so that the other one's share is the lower.
    let gpus = cluster.framework("gpus", "gpus", true);
    cluster.hold(&gpus, "plain", "small", &[("cpus", 2.0), ("mem", 2048.0)]);
    let declining = cluster.framework("declining", "declining", false);
    let (stop, declined) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for offer in declining.take_offers() {
                    assert!(offer.gpus() == 0.0, "{:?}", offer.raw());
                    declining.decline(&offer, 0.0).unwrap();
                    declined.store(true, Ordering::Relaxed);
                }
                thread::sleep(Duration::from_millis(5));
            }
        });
        eventually("the other framework to decline", || {
            declined.load(Ordering::Relaxed).then_some(())
        });
        // As often as it asks.
        for _ in 0..5 {
            let mut held: Vec<Offer> = Vec::new();
            let before = cluster.cycles();
            gpus.revive().unwrap();
            eventually("an offer of all GPUs", || {
                held.extend(gpus.take_offers());
                (held.iter().map(Offer::gpus).sum::<f64>() >= 6.0).then_some(())
            });
            let cycles = cluster.cycles() - before;
            println!("all GPUs were offered after {cycles} cycles");
            assert!(cycles <= 3, "{cycles} cycles passed until all GPUs were offered");
            let usable = |offer: &Offer| offer.cpus() >= offer.gpus() && offer.mem() >= 512.0 * offer.gpus();
            assert!(held.iter().all(usable), "{held:?}");
            gpus.suppress().unwrap();
            for offer in &held {
                gpus.decline(offer, 0.0).unwrap();
            }
            cluster.wait_unoffered(&[&gpus]);
            cluster.wait_cycles(2);
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn ROOT_cpu_tasks_cannot_take_the_headroom_of_free_gpus_and_have_it_when_the_gpus_are_in_use() {
    if lacking("headroom of free GPUs") {
        return;
    }
    let agents = [("one", "cpus:4;mem:4096;disk:1024;gpus:2")];
    let cluster = Cluster::start(Some(&SHARE), QUICK, &agents);
    let greedy = cluster.framework("greedy", "greedy", false);
    let mut tasks = 0;
    accept_everything(&cluster, &[&greedy], &mut tasks);
    assert_eq!(
        cluster.given_away(),
        [("one".to_owned(), Amounts::new(0.0, 2.0, 3072.0))],
        "all but one cpu and 512 MB a GPU"
    );
    let gpus = cluster.framework("gpus", "gpus", true);
    cluster.hold(
        &gpus,
        "one",
        "training",
        &[("cpus", 0.5), ("mem", 128.0), ("gpus", 2.0)],
    );
    let everything = Amounts::new(2.0, 4.0, 4096.0);
    eventually("the headroom to be released", || {
        accept_everything(&cluster, &[&greedy], &mut tasks);
        (amounts_of(&cluster.given_away(), "one") == everything).then_some(())
    });
}

#[test]
fn ROOT_a_cap_on_gpus_holds_against_frameworks_that_accept_everything() {
    if lacking("caps on GPUs") {
        return;
    }
    let agents = ["one", "two", "three"].map(|name| (name, "cpus:4;mem:4096;disk:1024;gpus:2"));
    let caps = [
        SHARE.as_slice(),
        &[("gpu_caps", "role:capped=2,framework:single=1")],
    ]
    .concat();
    let cluster = Cluster::start(Some(&caps), QUICK, &agents);
    let mut tasks = 0;
    let gpus = || {
        let given = cluster.given_away();
        given.iter().map(|(_, amounts)| amounts.gpus).sum::<f64>()
    };
    // Each step: who accepts everything, and how many GPUs are in use then.
    let capped = ["first", "second"].map(|name| cluster.framework(name, "capped", true));
    accept_everything(&cluster, &capped.each_ref(), &mut tasks);
    assert!((gpus() - 2.0).abs() < 0.001, "{:?}", cluster.given_away());
    let single = cluster.framework("single", "other", true);
    accept_everything(&cluster, &[&single, &capped[0], &capped[1]], &mut tasks);
    assert!((gpus() - 3.0).abs() < 0.001, "{:?}", cluster.given_away());
    // The others' GPUs were left with what they need.
    let rest = cluster.framework("rest", "rest", true);
    eventually("the rest of the GPUs to be taken", || {
        accept_everything(&cluster, &[&rest], &mut tasks);
        ((gpus() - 6.0).abs() < 0.001).then_some(())
    });
}

/// Starts a task on all of every offer, until none has come for ten cycles. Each task's name is new.
fn accept_everything(cluster: &Cluster, frameworks: &[&Framework], tasks: &mut usize) {
    let mut quiet_since = cluster.cycles();
    while cluster.cycles() < quiet_since + 10 {
        for framework in frameworks {
            for offer in framework.take_offers() {
                quiet_since = cluster.cycles();
                let has_all = SMALL.iter().all(|(name, least)| offer.amount(name) >= *least);
                if !has_all {
                    framework.decline(&offer, 0.0).unwrap();
                    continue;
                }
                *tasks += 1;
                let name = format!("task-{tasks}");
                let amounts = ["cpus", "mem", "disk", "gpus"].map(|name| (name, offer.amount(name)));
                let some: Vec<_> = amounts.into_iter().filter(|(_, amount)| *amount > 0.0).collect();
                let task = Task::new(&name, "exec sleep 1000").resources(&some);
                framework.launch(&offer, &[task]).unwrap();
                framework.wait_state(&name, "TASK_RUNNING", PATIENCE).unwrap();
            }
        }
        cluster.given_away();
        thread::sleep(Duration::from_millis(20));
    }
}

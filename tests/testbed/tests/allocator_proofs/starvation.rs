// SPDX-License-Identifier: Apache-2.0
//! The promise of the policy `share`: a framework without GPUs can neither keep the GPUs from those who have use for them,
//! by taking and declining all the time, nor take what the GPUs need beside them; and a cap holds whoever accepts what.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use testbed::scheduler::{Framework, Offer, Task};

use crate::common::{Amounts, Cluster, PATIENCE, amounts_of, eventually, lacking};

pub const SHARE: [(&str, &str); 3] = [("policy", "share"), ("cpus_per_gpu", "1"), ("mem_per_gpu", "512")];
/// Cycles come where something happens only.
pub const NEVER: &str = "1hrs";
const SLOW: &str = "1secs";
/// Of a second, in milliseconds.
const TOO_SLOW: u64 = 400;
const QUICK: &str = "100ms";
const SMALL: [(&str, f64); 2] = [("cpus", 0.1), ("mem", 32.0)];

pub const AGENTS: [(&str, &str); 3] = [
    ("one", "cpus:4;mem:4096;disk:1024;gpus:4"),
    ("two", "cpus:4;mem:4096;disk:1024;gpus:2"),
    ("plain", "cpus:4;mem:4096;disk:1024"),
];
pub const ALL_GPUS: f64 = 6.0;

/// A GPU framework that has something already, so that the others' share is the lower, and wants no offers yet.
pub fn framework_with_a_task(cluster: &Cluster) -> Framework {
    let gpus = cluster.framework("gpus", "gpus", true);
    cluster.hold(&gpus, "plain", "all", &[("cpus", 4.0), ("mem", 4096.0)]);
    gpus
}

/// No cycle comes by itself here, and the next not before all was declined, so their number does not depend on how busy the
/// machine is. It is the highest that there can be: the agent was offered with its GPUs, so it is lent in the first cycle;
/// in each of the next ones another framework without GPUs comes out of turn, gets nothing, and is refused; the last is left
/// to the one that waits.
#[test]
fn ROOT_a_gpu_framework_gets_all_its_gpus_within_three_cycles_beside_one_that_declines_at_once() {
    if lacking("starvation by declining") {
        return;
    }
    let cluster = Cluster::start(Some(&SHARE), NEVER, &AGENTS);
    let gpus = framework_with_a_task(&cluster);
    for others in [1, 1, 3, 1] {
        // New ones, of which none is refused anything.
        let declining: Vec<Framework> = (0..others)
            .map(|nth| cluster.framework(&format!("declining-{nth}"), "declining", false))
            .collect();
        let declining: Vec<&Framework> = declining.iter().collect();
        cluster.wait_unoffered(&declining);
        let mut held: Vec<Offer> = Vec::new();
        let mut cycles = 1;
        let before = cluster.cycles();
        gpus.revive().unwrap();
        cluster.await_cycle(before);
        loop {
            cluster.wait_held(&declining, || {
                held.extend(gpus.take_offers());
                held.len()
            });
            if held.iter().map(Offer::gpus).sum::<f64>() >= ALL_GPUS {
                break;
            }
            assert!(
                cycles < others + 2,
                "{others} others, {cycles} cycles, and only {held:?} is offered"
            );
            cluster.cycle();
            cycles += 1;
        }
        println!("beside {others}: all GPUs were offered after {cycles} cycles");
        let usable = |offer: &Offer| offer.cpus() >= offer.gpus() && offer.mem() >= 512.0 * offer.gpus();
        assert!(held.iter().all(usable), "{held:?}");
        gpus.suppress().unwrap();
        for offer in &held {
            gpus.decline(offer, 0.0).unwrap();
        }
        for one in declining {
            one.teardown().unwrap();
        }
        cluster.wait_unoffered(&[&gpus]);
    }
}

/// The same in time, where who was refused comes back. Each measure begins right after a cycle; one in which anything took
/// so long that it may have missed the next cycle is none.
#[test]
fn ROOT_the_gpus_come_within_three_cycles_again_and_again_while_the_other_one_comes_back() {
    if lacking("starvation by declining again and again") {
        return;
    }
    let cluster = Cluster::start(Some(&SHARE), SLOW, &AGENTS);
    let gpus = framework_with_a_task(&cluster);
    let declining = cluster.framework("declining", "declining", false);
    let (stop, slowest) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut last = Instant::now();
            while !stop.load(Ordering::Relaxed) {
                for offer in declining.take_offers() {
                    assert!(offer.gpus() == 0.0, "{:?}", offer.raw());
                    declining.decline(&offer, 0.0).unwrap();
                }
                thread::sleep(Duration::from_millis(5));
                slowest.fetch_max(milliseconds(last), Ordering::Relaxed);
                last = Instant::now();
            }
        });
        let _told = Told(&stop);
        let mut measures = 0;
        for _ in 0..20 {
            let mut held: Vec<Offer> = Vec::new();
            cluster.wait_cycles(1);
            slowest.store(0, Ordering::Relaxed);
            let asks = Instant::now();
            let before = cluster.cycles();
            gpus.revive().unwrap();
            let asked = milliseconds(asks);
            let mut looked = Instant::now();
            eventually("an offer of all GPUs", || {
                slowest.fetch_max(milliseconds(looked), Ordering::Relaxed);
                looked = Instant::now();
                held.extend(gpus.take_offers());
                (held.iter().map(Offer::gpus).sum::<f64>() >= ALL_GPUS).then_some(())
            });
            let cycles = cluster.cycles() - before;
            let slowest = asked + milliseconds(looked).max(slowest.load(Ordering::Relaxed));
            println!("all GPUs were offered after {cycles} cycles; the slowest step took {slowest} ms");
            if slowest < TOO_SLOW {
                assert!(cycles <= 3, "{cycles} cycles passed until all GPUs were offered");
                measures += 1;
            }
            gpus.suppress().unwrap();
            for offer in &held {
                gpus.decline(offer, 0.0).unwrap();
            }
            cluster.wait_unoffered(&[&gpus]);
            if measures == 5 {
                break;
            }
        }
        assert_eq!(measures, 5, "the machine is too slow for cycles of a second");
    });
}

/// Tells the other thread to stop also where this one panics, which waits for it.
struct Told<'a>(&'a AtomicBool);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn milliseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap()
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

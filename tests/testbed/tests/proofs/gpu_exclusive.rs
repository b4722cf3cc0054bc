// SPDX-License-Identifier: Apache-2.0
//! Rule number one: a GPU is never in two containers, however they come and go.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use common::random::Random;
use common::{Grants, assert_all_free, assert_none_shared, end, gpu_agent, launch};
use fake_nvml::Machine;
use testbed::{Agent, Testbed};

const LAUNCHES: u32 = 200;
const AT_ONCE: u64 = 8;

/// What the threads did, together.
#[derive(Default)]
struct Tally {
    begun: AtomicU32,
    launched: AtomicU32,
    refused: AtomicU32,
    looks_at_several: AtomicU32,
}

#[test]
fn ROOT_CGROUPS_no_gpu_is_ever_in_two_containers_over_200_launches_8_at_once() {
    if common::lacking("exclusive GPUs") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let bed = Testbed::new().unwrap();
    let mut agent = gpu_agent(&bed).machine(&machine).start().unwrap();
    agent.wait_ready(common::PATIENCE).unwrap();
    let tally = Tally::default();
    thread::scope(|scope| {
        for seed in 1..=AT_ONCE {
            let (agent, tally) = (&agent, &tally);
            scope.spawn(move || launch_and_end(agent, Random::new(seed * 0x9e37_79b9), tally));
        }
    });
    let count = |counter: &AtomicU32| counter.load(Ordering::Relaxed);
    assert_eq!(count(&tally.launched), LAUNCHES);
    // Otherwise the run proved nothing.
    assert!(count(&tally.refused) > 0, "there was never a shortage");
    assert!(
        count(&tally.looks_at_several) > 0,
        "there were never two containers at once"
    );
    assert_all_free(&agent, &machine);
}

fn launch_and_end(agent: &Agent, mut random: Random, tally: &Tally) {
    while tally.begun.fetch_add(1, Ordering::Relaxed) < LAUNCHES {
        let wanted = 1 + random.below(3);
        let id = launch_when_free(agent, wanted, &mut random, tally);
        let grants = assert_exclusive(agent, tally);
        let held = grants.get(&id).map_or(0, |minors| minors.len());
        assert_eq!(
            held,
            usize::try_from(wanted).unwrap(),
            "container {id} in {grants:?}"
        );
        thread::sleep(random.moment(30));
        end(agent, &id);
        assert_exclusive(agent, tally);
    }
}

/// Tries until a container runs; gives back its id.
fn launch_when_free(agent: &Agent, wanted: u64, random: &mut Random, tally: &Tally) -> String {
    loop {
        let id = common::fresh_id("c");
        let launched = launch(agent, &id, u32::try_from(wanted).unwrap().into(), "sleep 1000");
        let Err(error) = launched else {
            tally.launched.fetch_add(1, Ordering::Relaxed);
            return id;
        };
        tally.refused.fetch_add(1, Ordering::Relaxed);
        assert_says_the_numbers(error.body(), &id, wanted);
        assert_exclusive(agent, tally);
        thread::sleep(Duration::from_millis(50) + random.moment(150));
    }
}

/// Where enough are free, those are for containers that wait since before.
fn assert_says_the_numbers(refusal: &str, id: &str, wanted: u64) {
    let says = |free: u64| {
        refusal.contains(&format!(
            "mesos_gpu: cannot give GPUs to container {id}: {wanted} more wanted, {free} of 4 free"
        ))
    };
    let before = refusal.contains(" are for containers that asked before");
    assert!(
        (0..wanted).any(says) || before && (wanted..=4).any(says),
        "{refusal:?}"
    );
}

/// Looks at every container's devices cgroup.
fn assert_exclusive(agent: &Agent, tally: &Tally) -> Grants {
    let grants = assert_none_shared(agent);
    if grants.len() > 1 {
        tally.looks_at_several.fetch_add(1, Ordering::Relaxed);
    }
    grants
}

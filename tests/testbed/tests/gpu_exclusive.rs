// SPDX-License-Identifier: Apache-2.0
//! Rule number one: a GPU is never in two containers, however they come and go.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

mod common;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use common::{Grants, assert_all_free, end, gpu_agent, grants, launch};
use fake_nvml::Machine;
use testbed::{Agent, Testbed};

const LAUNCHES: u32 = 200;
const AT_ONCE: u64 = 8;

/// Marsaglia's xorshift: the same numbers in every run, from a seed that is not 0.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

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
            scope.spawn(move || launch_and_end(agent, Random(seed * 0x9e37_79b9), tally));
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
        thread::sleep(Duration::from_millis(random.below(30)));
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
        thread::sleep(Duration::from_millis(50 + random.below(150)));
    }
}

fn assert_says_the_numbers(refusal: &str, id: &str, wanted: u64) {
    let says = |free: u64| {
        refusal.contains(&format!(
            "mesos_gpu: cannot give GPUs to container {id}: {wanted} more wanted, {free} of 4 free"
        ))
    };
    assert!((0..wanted).any(says), "{refusal:?}");
}

/// Looks at every container's devices cgroup.
///
/// The containers are read one after the other, so a GPU that moves from one to the next in that time shows up in both.
/// Ids are used once and nothing is given twice to the same container here, so if the first still has the GPU after the
/// second was seen with it, they had it at the same time.
fn assert_exclusive(agent: &Agent, tally: &Tally) -> Grants {
    let first = grants(agent);
    if first.len() > 1 {
        tally.looks_at_several.fetch_add(1, Ordering::Relaxed);
    }
    let doubled = in_two(&first);
    if !doubled.is_empty() {
        let again = in_two(&grants(agent));
        for (minor, holders) in doubled {
            let still = again
                .get(&minor)
                .map_or(0, |now| now.iter().filter(|id| holders.contains(id)).count());
            assert!(still < 2, "GPU {minor} is in {holders:?}\n{}", agent.log());
        }
    }
    first
}

/// The GPUs that more than one container has, with these.
fn in_two(grants: &Grants) -> BTreeMap<u32, Vec<String>> {
    let mut holders: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (container, minors) in grants {
        for minor in minors {
            holders.entry(*minor).or_default().push(container.clone());
        }
    }
    holders.retain(|_, containers| containers.len() > 1);
    holders
}

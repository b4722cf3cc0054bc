// SPDX-License-Identifier: Apache-2.0
//! Rule number one over crashes: the agent is killed at random moments of a mixed load, and started again each time. No
//! GPU is lost, and none is ever in two containers.
//!
//! `MESOS_GPU_KILLS` says how often, and `MESOS_GPU_SEED` from which seed the load and the moments are drawn; what the
//! machine makes of them differs from run to run.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use common::mixed_load::Load;
use common::random::{Random, setting};
use common::{
    Cluster, PATIENCE, assert_all_free, assert_none_shared, end, fresh_id, gpu_agent, grants, launch,
};
use fake_nvml::Machine;
use testbed::Agent;

const GPUS: u32 = 6;

#[test]
fn ROOT_CGROUPS_no_gpu_is_lost_or_shared_when_the_agent_is_killed_at_any_moment() {
    if common::lacking("an agent that is killed at any moment") {
        return;
    }
    let kills = setting("MESOS_GPU_KILLS", 8);
    let seed = setting("MESOS_GPU_SEED", 0x5eed);
    println!("MESOS_GPU_KILLS={kills} MESOS_GPU_SEED={seed}");
    let machine = Machine::with_gpus(GPUS);
    let mut cluster = Cluster::with(|bed| {
        gpu_agent(bed)
            .machine(&machine)
            // Each start waits that long for executors to come back.
            .flag("executor_reregistration_timeout", "1secs")
            .flag("registration_backoff_factor", "20ms")
            .flag("authentication_backoff_factor", "20ms")
    });
    let mut load = Load::new(&cluster, Random::new(seed));
    let (mut roots, mut nested) = (0, 0);
    for kill in 0..kills {
        let steps = load.steps();
        thread::sleep(load.moment());
        cluster.agent.kill9().unwrap();
        for step in steps {
            step.join().unwrap();
        }
        let (below, above): (Vec<_>, Vec<_>) = assert_none_shared(&cluster.agent)
            .into_keys()
            .partition(|container| container.contains('/'));
        nested += below.len();
        roots += above.len();
        cluster.agent.restart().unwrap();
        if let Err(why) = cluster.agent.wait_registered(PATIENCE) {
            panic!("after kill {kill}: {why}\n{}", cluster.agent.log());
        }
        assert_none_shared(&cluster.agent);
        assert_none_lost(&cluster.agent, kill);
    }
    println!("at the {kills} kills {roots} containers and {nested} nested cgroups had GPUs");
    // Otherwise the run proved nothing.
    assert!(roots > 0, "no container ever had a GPU");
    load.finish(&cluster.agent);
    assert_all_free(&cluster.agent, &machine);
}

/// Asserts that every GPU that the kernel grants to nobody can be had, by giving all of these to one container, as soon as
/// what the crash left behind is gone.
fn assert_none_lost(agent: &Agent, kill: u64) {
    let until = Instant::now() + PATIENCE;
    loop {
        let held: BTreeSet<u32> = grants(agent).into_values().flatten().collect();
        let free = GPUS - u32::try_from(held.len()).unwrap();
        if free == 0 {
            return;
        }
        let id = fresh_id("spare");
        match launch(agent, &id, free.into(), "exec sleep 1000") {
            Ok(()) => {
                let now = grants(agent);
                let got = now.get(&id).cloned().unwrap_or_default();
                assert_eq!(got.len(), usize::try_from(free).unwrap(), "kill {kill}: {now:?}");
                assert_none_shared(agent);
                return end(agent, &id);
            }
            Err(refusal) if Instant::now() >= until => panic!(
                "kill {kill}: {free} GPUs are lost: {refusal}\n{:?}\n{}",
                grants(agent),
                agent.log()
            ),
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
    }
}

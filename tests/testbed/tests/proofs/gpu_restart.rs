// SPDX-License-Identifier: Apache-2.0
//! An agent that is killed and started again finds its containers with the GPUs they had, and gives these to nobody else.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use std::collections::BTreeSet;
use std::fs;

use common::{Cluster, PATIENCE, assert_all_free, end, eventually, grants, launch};
use fake_nvml::Machine;
use testbed::scheduler::{ExecutorSpec, Framework, FrameworkOptions, Task};

const SMALL: [(&str, f64); 2] = [("cpus", 0.1), ("mem", 32.0)];

/// Starts a task with one GPU on an executor that outlives the agent, and a standalone container with two.
fn run_both(cluster: &Cluster) -> Framework {
    let options = FrameworkOptions {
        checkpoint: true,
        ..FrameworkOptions::named("gpu-restart")
    };
    let framework = Framework::subscribe(cluster.master.address(), &options).unwrap();
    let program = cluster.agent.folder().join("launcher/mesos-executor");
    let executor = ExecutorSpec::custom("x", &format!("exec {} --stay", program.display())).resources(&SMALL);
    let offer = framework.offer_with(&[("gpus", 1.0)], PATIENCE).unwrap();
    let task = Task::new("task", "sleep 1000")
        .resources(&SMALL)
        .resources(&[("gpus", 1.0)])
        .executor(&executor);
    framework.launch(&offer, &[task]).unwrap();
    let running = framework.wait_state("task", "TASK_RUNNING", PATIENCE);
    assert!(running.is_ok(), "{running:?}\n{}", cluster.agent.log());
    launch(&cluster.agent, "alone", 2.0, "exec sleep 1000").unwrap();
    framework
}

#[test]
fn ROOT_CGROUPS_containers_keep_their_gpus_over_a_kill_9_of_the_agent_and_nobody_else_gets_them() {
    if common::lacking("GPUs over a restart") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let mut cluster = Cluster::start(&machine);
    let framework = run_both(&cluster);
    let held = grants(&cluster.agent);
    assert_eq!(held.values().map(BTreeSet::len).sum::<usize>(), 3, "{held:?}");
    let processes = cluster.agent.container_processes().unwrap();

    cluster.agent.kill9().unwrap();
    assert_eq!(grants(&cluster.agent), held, "nobody is there to change them");
    cluster.agent.restart().unwrap();
    let agent_id = cluster.agent.wait_registered(PATIENCE).unwrap();
    assert_eq!(grants(&cluster.agent), held);
    let after = cluster.agent.container_processes().unwrap();
    assert!(
        processes.iter().all(|process| after.contains(process)),
        "{processes:?} {after:?}"
    );
    common::logged(
        &cluster.agent,
        &["mesos_gpu: recovered 2 containers and 0 orphans; they hold 3 of 4 GPUs"],
    );

    let refusal = launch(&cluster.agent, "greedy", 2.0, "true").unwrap_err();
    assert!(refusal.body().contains("2 more wanted, 1 of 4 free"), "{refusal}");
    launch(&cluster.agent, "fits", 1.0, "sleep 1000").unwrap();
    let now = grants(&cluster.agent);
    let all: BTreeSet<u32> = now.values().flatten().copied().collect();
    assert_eq!((now.len(), all.len()), (3, 4), "{now:?}");

    // The executor is back with the agent: what it gives back is noticed.
    eventually("the executor to come back", || {
        framework.kill("task", &agent_id).unwrap();
        framework.wait_state("task", "TASK_KILLED", common::SHORT).ok()
    });
    eventually("the executor to give back its GPU", || {
        (grants(&cluster.agent).len() == 2).then_some(())
    });
    for id in ["alone", "fits"] {
        end(&cluster.agent, id);
    }
    assert_all_free(&cluster.agent, &machine);
}

#[test]
fn ROOT_CGROUPS_the_gpus_of_a_container_that_the_agent_forgot_are_free_once_it_is_destroyed() {
    if common::lacking("GPUs of orphans") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let mut cluster = Cluster::start(&machine);
    let _framework = run_both(&cluster);
    let held = grants(&cluster.agent);
    let alone = held["alone"].clone();

    cluster.agent.kill9().unwrap();
    fs::remove_dir_all(cluster.agent.work_dir().join("meta")).unwrap();
    cluster.agent.restart().unwrap();
    cluster.agent.wait_registered(PATIENCE).unwrap();
    common::logged(
        &cluster.agent,
        &["mesos_gpu: recovered 1 containers and 1 orphans; they hold 3 of 4 GPUs"],
    );
    eventually("the orphan to go", || {
        (grants(&cluster.agent).len() == 1).then_some(())
    });
    assert_eq!(grants(&cluster.agent)["alone"], alone);
    launch(&cluster.agent, "next", 2.0, "sleep 1000").unwrap();
    assert!(grants(&cluster.agent)["next"].is_disjoint(&alone));
    for id in ["next", "alone"] {
        end(&cluster.agent, id);
    }
    assert_all_free(&cluster.agent, &machine);
}

// SPDX-License-Identifier: Apache-2.0
//! The agent dies between two steps that belong together: between writing a GPU down and granting it, and between taking
//! one from a container and the end of the process that still uses it. The next agent finishes either.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use std::collections::BTreeSet;
use std::fs;
use std::thread;

use common::{Cluster, PATIENCE, SHORT, assert_all_free, end, eventually, grants, launch, logged};
use fake_nvml::{Machine, Process};
use testbed::bed::cgroups::Hierarchies;
use testbed::scheduler::{ExecutorSpec, Framework, FrameworkOptions, Task};

const SMALL: [(&str, f64); 2] = [("cpus", 0.1), ("mem", 32.0)];

/// Runs an executor that outlives the agent with two tasks, one GPU each; gives back the executor's cgroup below the
/// agent's root.
fn run_two(cluster: &Cluster) -> (Framework, String) {
    let options = FrameworkOptions {
        checkpoint: true,
        ..FrameworkOptions::named("gpu-crash-between")
    };
    let framework = Framework::subscribe(cluster.master.address(), &options).unwrap();
    let program = cluster.agent.folder().join("launcher/mesos-executor");
    let executor = ExecutorSpec::custom("x", &format!("exec {} --stay", program.display())).resources(&SMALL);
    for id in ["one", "two"] {
        let offer = framework.offer_with(&[("gpus", 1.0)], PATIENCE).unwrap();
        let task = Task::new(id, "sleep 1000")
            .resources(&SMALL)
            .resources(&[("gpus", 1.0)])
            .executor(&executor);
        framework.launch(&offer, &[task]).unwrap();
        let running = framework.wait_state(id, "TASK_RUNNING", PATIENCE);
        assert!(running.is_ok(), "{running:?}\n{}", cluster.agent.log());
    }
    let grants = grants(&cluster.agent);
    assert_eq!(grants.len(), 1, "{grants:?}");
    (framework, grants.into_keys().next().unwrap())
}

fn restart(cluster: &mut Cluster) {
    cluster.agent.restart().unwrap();
    cluster.agent.wait_registered(PATIENCE).unwrap();
}

fn finish(cluster: &Cluster, framework: &Framework, machine: &Machine) {
    framework.teardown().unwrap();
    eventually("the executor to go", || {
        grants(&cluster.agent).is_empty().then_some(())
    });
    assert_all_free(&cluster.agent, machine);
}

#[test]
fn ROOT_CGROUPS_a_gpu_that_was_written_down_and_not_yet_granted_is_granted_after_the_restart() {
    if common::lacking("a crash before a GPU is granted") {
        return;
    }
    let machine = Machine::with_gpus(3);
    let mut cluster = Cluster::start(&machine);
    let (framework, executor) = run_two(&cluster);
    let both = grants(&cluster.agent);
    cluster.agent.kill9().unwrap();
    // As if it had not come to the second.
    let minor = *both[&executor].first().unwrap();
    let hierarchies = Hierarchies::find().unwrap();
    let folder = hierarchies.folder().join("devices");
    let deny = folder
        .join(cluster.agent.cgroups_root())
        .join(&executor)
        .join("devices.deny");
    fs::write(deny, format!("c 195:{minor} rw")).unwrap();
    assert_eq!(grants(&cluster.agent)[&executor].len(), 1);

    restart(&mut cluster);
    eventually("the executor to have both", || {
        (grants(&cluster.agent) == both).then_some(())
    });
    logged(
        &cluster.agent,
        &["could not open 195:", "or the agent ended before"],
    );
    finish(&cluster, &framework, &machine);
}

#[test]
fn ROOT_CGROUPS_a_gpu_that_its_last_container_still_uses_is_nobody_elses_after_the_restart() {
    if common::lacking("a crash before a GPU is free") {
        return;
    }
    let machine = Machine::with_gpus(2);
    let mut cluster = Cluster::start(&machine);
    let (framework, executor) = run_two(&cluster);
    let mut busy = machine.clone();
    for gpu in &mut busy.gpus {
        gpu.processes = vec![Process {
            pid: 4_000_000,
            used_memory: None,
            sm_util: 0,
            mem_util: 0,
            gpu_instance: None,
            compute_instance: None,
        }];
    }
    cluster.agent.simulation().unwrap().update(&busy).unwrap();
    let agent_id = cluster.agent.id().unwrap();
    framework.kill("two", &agent_id).unwrap();
    framework.wait_state("two", "TASK_KILLED", PATIENCE).unwrap();
    let minors = || -> BTreeSet<u32> { grants(&cluster.agent)[&executor].clone() };
    assert_eq!(minors().len(), 1);

    cluster.agent.kill9().unwrap();
    restart(&mut cluster);
    thread::scope(|scope| {
        let agent = &cluster.agent;
        let next = scope.spawn(|| launch(agent, "next", 1.0, "sleep 1000"));
        thread::sleep(SHORT);
        assert_eq!(grants(agent).len(), 1, "it waits: {}", agent.log());
        assert!(!next.is_finished(), "it waits: {:?}", next.join());
        agent.simulation().unwrap().update(&machine).unwrap();
        next.join().unwrap().unwrap();
    });
    let now = grants(&cluster.agent);
    assert!(now["next"].is_disjoint(&now[&executor]), "{now:?}");
    end(&cluster.agent, "next");
    finish(&cluster, &framework, &machine);
}

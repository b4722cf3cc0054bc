// SPDX-License-Identifier: Apache-2.0
//! The promise of our scheduler and executors: the real master and agent take them for their own.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]

use std::os::unix::fs::symlink;
use std::time::Duration;

use testbed::operator::LaunchContainer;
use testbed::scheduler::{ExecutorSpec, Framework, FrameworkOptions, Task};
use testbed::{Agent, Master, Testbed, support};

const PATIENCE: Duration = Duration::from_secs(60);
const ONE_GPU: [(&str, f64); 3] = [("cpus", 0.1), ("mem", 32.0), ("gpus", 1.0)];

/// A cluster of one agent with three GPUs that nobody checks, and a framework; `None` where it cannot run.
fn cluster() -> Option<(Testbed, Master, Agent, Framework)> {
    if let Some(lacking) = support::lacking_for_cgroups() {
        support::skip(&format!("real Mesos with cgroups: {lacking}"));
        return None;
    }
    let bed = Testbed::new().unwrap();
    let mut master = bed.master().start().unwrap();
    master.wait_ready(PATIENCE).unwrap();
    let mut agent = bed
        .agent()
        .resources("cpus:4;mem:2048;disk:1024;gpus:3")
        .start()
        .unwrap();
    agent.wait_registered(PATIENCE).unwrap();
    let options = FrameworkOptions {
        failover_timeout: 600.0,
        ..FrameworkOptions::named("test")
    };
    let framework = Framework::subscribe(master.address(), &options).unwrap();
    Some((bed, master, agent, framework))
}

/// Our executor in the form that takes many tasks.
fn stay_executor(bed: &Testbed, id: &str) -> ExecutorSpec {
    let link = bed.folder().join("mesos-executor");
    if !link.exists() {
        symlink(Testbed::program().unwrap(), &link).unwrap();
    }
    let command = format!("exec {} --stay", link.display());
    ExecutorSpec::custom(id, &command).resources(&[("cpus", 0.1), ("mem", 32.0)])
}

fn run(framework: &Framework, task: Task, id: &str) {
    let offer = framework.offer_with(&ONE_GPU, PATIENCE).unwrap();
    framework.launch(&offer, &[task.resources(&ONE_GPU)]).unwrap();
    framework.wait_state(id, "TASK_RUNNING", PATIENCE).unwrap();
}

#[test]
fn ROOT_CGROUPS_command_tasks_finish_fail_and_are_killed() {
    let Some((_bed, _master, _agent, framework)) = cluster() else {
        return;
    };
    run(&framework, Task::new("well", "test $A = b").env("A", "b"), "well");
    assert_eq!(
        framework.wait_terminal("well", PATIENCE).unwrap().state,
        "TASK_FINISHED"
    );
    run(&framework, Task::new("ill", "exit 4"), "ill");
    let ill = framework.wait_terminal("ill", PATIENCE).unwrap();
    assert_eq!(
        (ill.state.as_str(), ill.message.as_deref()),
        ("TASK_FAILED", Some("command exited with status 4"))
    );
    run(
        &framework,
        Task::new("deaf", "trap '' TERM; while :; do sleep 0.1; done").kill_grace(0.3),
        "deaf",
    );
    let agent = framework
        .wait_state("deaf", "TASK_RUNNING", PATIENCE)
        .unwrap()
        .agent_id
        .unwrap();
    framework.kill("deaf", &agent).unwrap();
    let deaf = framework.wait_terminal("deaf", PATIENCE).unwrap();
    assert_eq!(deaf.state, "TASK_KILLED", "{deaf}");
    assert!(deaf.message.unwrap().contains("SIGKILL"));
    framework.teardown().unwrap();
}

#[test]
fn ROOT_CGROUPS_an_executor_grows_by_tasks_and_shows_a_session() {
    let Some((bed, _master, agent, framework)) = cluster() else {
        return;
    };
    let executor = stay_executor(&bed, "stay");
    for (id, command) in [("first", "sleep 1000"), ("second", "sleep 1"), ("third", "true")] {
        run(&framework, Task::new(id, command).executor(&executor), id);
    }
    for id in ["second", "third"] {
        assert_eq!(
            framework.wait_terminal(id, PATIENCE).unwrap().state,
            "TASK_FINISHED"
        );
    }
    let first = framework.wait_state("first", "TASK_RUNNING", PATIENCE).unwrap();
    let path = [first.container[0].as_str(), "session"];
    let said = agent
        .operator()
        .launch_nested_session(&LaunchContainer::new(&path, "echo out; echo err >&2"))
        .unwrap();
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("out\n", "err\n"));
    framework.kill("first", &first.agent_id.unwrap()).unwrap();
    assert_eq!(
        framework.wait_terminal("first", PATIENCE).unwrap().state,
        "TASK_KILLED"
    );
    framework.teardown().unwrap();
}

#[test]
fn ROOT_CGROUPS_a_task_group_lives_and_dies_together_in_cgroups_of_its_own() {
    let Some((_bed, _master, agent, framework)) = cluster() else {
        return;
    };
    let task = |id: &str, command: &str| Task::new(id, command).resources(&ONE_GPU).share_cgroups(false);
    let own = "grep -q 'devices:.*/mesos/' /proc/self/cgroup";
    let offer = framework.offer_with(&[("gpus", 2.0)], PATIENCE).unwrap();
    let executor = ExecutorSpec::default_executor("well");
    framework
        .launch_group(&offer, &executor, &[task("a", own), task("b", own)])
        .unwrap();
    for id in ["a", "b"] {
        let end = framework.wait_terminal(id, PATIENCE).unwrap();
        assert_eq!(end.state, "TASK_FINISHED", "{end}");
    }
    let offer = framework.offer_with(&[("gpus", 2.0)], PATIENCE).unwrap();
    let executor = ExecutorSpec::default_executor("ill");
    framework
        .launch_group(
            &offer,
            &executor,
            &[task("c", "sleep 1; exit 1"), task("d", "sleep 1000")],
        )
        .unwrap();
    assert_eq!(
        framework.wait_terminal("c", PATIENCE).unwrap().state,
        "TASK_FAILED"
    );
    assert_eq!(
        framework.wait_terminal("d", PATIENCE).unwrap().state,
        "TASK_KILLED"
    );
    drop(agent);
}

#[test]
fn ROOT_CGROUPS_executors_come_back_to_an_agent_that_was_killed() {
    let Some((bed, _master, mut agent, framework)) = cluster() else {
        return;
    };
    let id = agent.id().unwrap();
    run(
        &framework,
        Task::new("custom", "sleep 1000").executor(&stay_executor(&bed, "stay")),
        "custom",
    );
    run(&framework, Task::new("command", "sleep 1000"), "command");
    let offer = framework.offer_with(&ONE_GPU, PATIENCE).unwrap();
    let group = [Task::new("group", "sleep 1000").resources(&ONE_GPU)];
    framework
        .launch_group(&offer, &ExecutorSpec::default_executor("default"), &group)
        .unwrap();
    framework.wait_state("group", "TASK_RUNNING", PATIENCE).unwrap();
    agent.kill9().unwrap();
    agent.restart().unwrap();
    assert_eq!(agent.wait_registered(PATIENCE).unwrap(), id);
    for task in ["custom", "command", "group"] {
        framework.kill(task, &id).unwrap();
        let end = framework.wait_terminal(task, PATIENCE).unwrap();
        assert_eq!(end.state, "TASK_KILLED", "{task}: {end}");
    }
    framework.teardown().unwrap();
}

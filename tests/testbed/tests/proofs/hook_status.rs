// SPDX-License-Identifier: Apache-2.0
//! The label in a task's status that names its GPUs, against a real Mesos: it is there where the task has GPUs and only
//! there, and whatever fails inside costs the label, never the status.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use std::collections::BTreeSet;

use common::faults::{WAYS, cluster};
use common::{Cluster, PATIENCE, assert_serves_without_gpus, logged, probe};
use fake_nvml::Machine;
use testbed::scheduler::{ExecutorSpec, Framework, FrameworkOptions, Task, TaskUpdate};

/// The label's key, as users know it.
const KEY: &str = "nvidia.com/gpu.uuids";

/// What every task here asks for besides GPUs.
const SMALL: [(&str, f64); 2] = [("cpus", 0.1), ("mem", 32.0)];

fn framework(cluster: &Cluster) -> Framework {
    Framework::subscribe(cluster.master.address(), &FrameworkOptions::named("hook-status")).unwrap()
}

/// A task with GPUs; none when `gpus` is 0.
fn task(id: &str, gpus: u32, command: &str) -> Task {
    let task = Task::new(id, command).resources(&SMALL);
    if gpus == 0 {
        task
    } else {
        task.resources(&[("gpus", gpus.into())])
    }
}

/// Runs a command task to its end.
fn run(framework: &Framework, id: &str, gpus: u32, command: &str) -> [TaskUpdate; 2] {
    let offer = framework.offer_with(&[("gpus", gpus.into())], PATIENCE).unwrap();
    framework.launch(&offer, &[task(id, gpus, command)]).unwrap();
    let running = framework.wait_state(id, "TASK_RUNNING", PATIENCE).unwrap();
    let ended = framework.wait_terminal(id, PATIENCE).unwrap();
    assert_eq!(ended.state, "TASK_FINISHED", "{ended}");
    [running, ended]
}

/// The names of what a status says, without labels.
fn says(update: &TaskUpdate) -> BTreeSet<&str> {
    let fields = update.raw.as_object().unwrap().keys();
    fields
        .map(String::as_str)
        .filter(|name| *name != "labels")
        .collect()
}

#[test]
fn ROOT_CGROUPS_the_statuses_of_a_task_name_its_gpus_and_say_all_else_as_before() {
    if common::lacking("labels of tasks with GPUs") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let cluster = Cluster::start(&machine);
    let framework = framework(&cluster);
    let plain = run(&framework, "plain", 0, "true");
    for update in &plain {
        assert!(update.labels.is_empty(), "{update:?}");
    }
    for gpus in [1, 3] {
        let (id, out) = (
            format!("t{gpus}"),
            cluster.bed.folder().join(format!("seen{gpus}")),
        );
        let updates = run(&framework, &id, gpus, &probe::command(&out));
        let seen = probe::read(&out);
        seen.assert_has(&machine, usize::try_from(gpus).unwrap());
        for (update, without) in updates.iter().zip(&plain) {
            let named = seen.env["NVIDIA_VISIBLE_DEVICES"].clone();
            assert_eq!(update.labels, [(KEY.to_owned(), named)], "{update:?}");
            assert_eq!(says(update), says(without));
            assert_eq!(
                (&update.source, &update.reason, &update.message),
                (&without.source, &without.reason, &without.message)
            );
            assert_eq!(update.container.len(), 1, "{update:?}");
        }
    }
}

#[test]
fn ROOT_CGROUPS_each_task_of_a_group_names_the_gpus_of_the_group() {
    if common::lacking("labels of task groups") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let cluster = Cluster::start(&machine);
    let framework = framework(&cluster);
    for gpus in [1, 0] {
        let ids = ["a", "b"].map(|name| format!("{name}{gpus}"));
        let outs = ids.clone().map(|id| cluster.bed.folder().join(id));
        let wanted = [("gpus", f64::from(2 * gpus)), ("cpus", 1.0)];
        let offer = framework.offer_with(&wanted, PATIENCE).unwrap();
        let tasks = [0, 1].map(|at| task(&ids[at], gpus, &probe::command(&outs[at])));
        let executor = ExecutorSpec::default_executor(&format!("group{gpus}"));
        framework.launch_group(&offer, &executor, &tasks).unwrap();
        for (id, out) in ids.iter().zip(&outs) {
            let running = framework.wait_state(id, "TASK_RUNNING", PATIENCE).unwrap();
            let ended = framework.wait_terminal(id, PATIENCE).unwrap();
            assert_eq!(ended.state, "TASK_FINISHED", "{ended}\n{}", cluster.agent.log());
            assert_eq!(running.container.len(), 2, "a nested container: {running:?}");
            let seen = probe::read(out);
            let named = (gpus > 0).then(|| seen.env["NVIDIA_VISIBLE_DEVICES"].as_str());
            assert_eq!(running.label(KEY), named, "{running:?}");
        }
    }
}

#[test]
fn ROOT_CGROUPS_a_task_is_still_named_with_its_gpus_after_the_agent_was_started_again() {
    if common::lacking("labels after a restart") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let mut cluster = Cluster::start(&machine);
    let framework = framework(&cluster);
    let offer = framework.offer_with(&[("gpus", 2.0)], PATIENCE).unwrap();
    let tasks = [task("plain", 0, "sleep 1000"), task("two", 2, "sleep 1000")];
    framework.launch(&offer, &tasks).unwrap();
    let before = ["plain", "two"].map(|id| framework.wait_state(id, "TASK_RUNNING", PATIENCE).unwrap());
    assert_eq!(before[0].label(KEY), None);
    assert_eq!(before[1].label(KEY).map(|list| list.split(',').count()), Some(2));
    cluster.agent.restart().unwrap();
    cluster.agent.wait_registered(PATIENCE).unwrap();
    for running in &before {
        framework
            .kill(&running.task, &cluster.agent.id().unwrap())
            .unwrap();
        let killed = framework.wait_terminal(&running.task, PATIENCE).unwrap();
        assert_eq!(killed.state, "TASK_KILLED", "{killed}");
        assert_eq!(killed.label(KEY), running.label(KEY), "{killed:?}");
    }
}

#[test]
fn ROOT_CGROUPS_a_label_that_fails_costs_only_the_label() {
    if common::faults::lacking("labels that fail") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let (cluster, faults) = cluster(&machine);
    let framework = framework(&cluster);
    for way in WAYS {
        let told = faults.fail("hook.status", way);
        for update in run(&framework, way, 1, "true") {
            assert!(update.labels.is_empty(), "{update:?}");
        }
        logged(&cluster.agent, &["mesos_gpu_Hook", "hook.status", &told]);
        faults.lift();
        assert_serves_without_gpus(&cluster.agent);
        // A panic in a hook touches no books, so GPUs are still handed out.
        for update in run(&framework, &format!("after-{way}"), 4, "true") {
            assert_eq!(update.label(KEY).map(|list| list.split(',').count()), Some(4));
        }
    }
}

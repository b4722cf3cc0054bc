// SPDX-License-Identifier: Apache-2.0
//! An executor that grows and shrinks by its tasks: at each moment the kernel grants it the GPUs of the tasks that run and
//! no other, and no task loses or gets a GPU because of a sibling. Mesos's own `gpu/nvidia` runs the same tasks beside it,
//! for comparison.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use std::collections::BTreeSet;
use std::path::Path;

use common::group::{Group, Step, split};
use common::{PATIENCE, assert_all_free, end, gpu_agent, launch};
use fake_nvml::Machine;
use testbed::{Agent, AgentBuilder, Testbed, support};

/// Tasks by name with their GPUs; how many GPUs the running ones have together after each step. The one without GPUs
/// keeps the executor alive to the end.
const STEPS: [(Step, usize); 6] = [
    (Step::Start("first", 1), 1),
    (Step::Start("second", 1), 2),
    (Step::Start("plain", 0), 2),
    (Step::Start("third", 1), 3),
    (Step::End(&["first", "third"]), 1),
    (Step::End(&["second"]), 0),
];

/// How many GPUs can be had, one container each.
fn free(agent: &Agent) -> usize {
    let mut ids = Vec::new();
    loop {
        let id = common::fresh_id("free");
        if launch(agent, &id, 1.0, "sleep 1000").is_err() {
            break;
        }
        ids.push(id);
    }
    ids.iter().for_each(|id| end(agent, id));
    ids.len()
}

/// The device rules of a container that asked for none.
fn ordinary(agent: &Agent) -> BTreeSet<String> {
    let id = common::fresh_id("ordinary");
    launch(agent, &id, 0.0, "sleep 1000").unwrap();
    let (nvidia, ordinary) = split(&agent.device_rules().unwrap()[Path::new(&id)]);
    assert_eq!(nvidia, BTreeSet::new());
    end(agent, &id);
    ordinary
}

/// The built-in on the same machine; not where it cannot run.
fn built_in(bed: &Testbed, machine: &Machine) -> Option<AgentBuilder> {
    // It cannot read the loader cache of today's glibc.
    if let Err(error) = fake_nvml::trimmed_loader_cache(&bed.folder().join("ld.so.cache")) {
        support::skip(&format!("gpu/nvidia beside ours: {error}"));
        return None;
    }
    let agent = bed.agent().machine(machine).loader_cache();
    Some(agent.isolation("cgroups/devices,filesystem/linux,gpu/nvidia"))
}

#[test]
fn ROOT_CGROUPS_an_executor_has_exactly_the_gpus_of_its_running_tasks_where_the_built_in_loses_some() {
    if common::lacking("an executor that grows and shrinks") {
        return;
    }
    let machine = Machine::with_gpus(8);
    let bed = Testbed::new().unwrap();
    let mut master = bed.master().start().unwrap();
    master.wait_ready(PATIENCE).unwrap();
    let mut agent = gpu_agent(&bed).machine(&machine).start().unwrap();
    agent.wait_registered(PATIENCE).unwrap();
    let ordinary = ordinary(&agent);
    let mut group = Group::new(&bed, master.address(), &agent, &machine, false);
    let mut ours = Vec::new();
    for (step, together) in STEPS {
        group.take(step);
        group.assert_exact(&ordinary);
        assert_eq!(group.used().len(), together, "{step:?}");
        ours.push(group.held().len());
    }
    group.finish();
    assert_all_free(&agent, &machine);
    ours.push(free(&agent));
    drop(agent);

    let Some(agent) = built_in(&bed, &machine) else {
        return;
    };
    let mut agent = agent.start().unwrap();
    agent.wait_registered(PATIENCE).unwrap();
    let mut group = Group::new(&bed, master.address(), &agent, &machine, false);
    let mut theirs = Vec::new();
    for (step, _) in STEPS {
        group.take(step);
        theirs.push(group.settled());
    }
    group.finish();
    theirs.push(free(&agent));
    print(&ours, &theirs);
    assert_eq!(ours.last(), Some(&8));
    assert!(theirs.last() < Some(&8), "the built-in got better: {theirs:?}");
}

/// Shows both side by side.
fn print(ours: &[usize], theirs: &[usize]) {
    let steps = STEPS.map(|(step, together)| match step {
        Step::Start(name, gpus) => (format!("task {name} with {gpus} starts"), together),
        Step::End(names) => (format!("{} end", names.join(" and ")), together),
    });
    let end = [("free at the end, of 8".to_owned(), 8)];
    println!(
        "{:<32}{:>8}{:>8}{:>12}",
        "GPUs of the executor", "asked", "ours", "gpu/nvidia"
    );
    for (((what, asked), ours), theirs) in steps.iter().chain(&end).zip(ours).zip(theirs) {
        println!("{what:<32}{asked:>8}{ours:>8}{theirs:>12}");
    }
}

#[test]
fn ROOT_CGROUPS_tasks_with_cgroups_of_their_own_can_open_their_own_gpus_only() {
    if common::lacking("tasks with cgroups of their own") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let cluster = common::Cluster::start(&machine);
    let agent = &cluster.agent;
    let ordinary = ordinary(agent);
    let mut group = Group::new(&cluster.bed, cluster.master.address(), agent, &machine, true);
    for (step, together) in STEPS {
        group.take(step);
        group.assert_exact(&ordinary);
        assert_eq!(group.used().len(), together, "{step:?}");
    }
    group.finish();
    assert_all_free(agent, &machine);
}

// SPDX-License-Identifier: Apache-2.0
//! The promise of the product, against a real Mesos and the real kernel: an agent advertises its GPUs, and a task can
//! open exactly those that it was given.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use std::collections::{BTreeMap, BTreeSet};

use common::{Cluster, PATIENCE, assert_all_free, eventually, gpu_agent, grants, probe};
use fake_nvml::Machine;
use serde_json::Value;
use testbed::scheduler::{ExecutorSpec, Framework, FrameworkOptions, Task};
use testbed::{Agent, Testbed};

/// What every task here asks for besides GPUs.
const SMALL: [(&str, f64); 2] = [("cpus", 0.1), ("mem", 32.0)];

fn framework(cluster: &Cluster) -> Framework {
    Framework::subscribe(cluster.master.address(), &FrameworkOptions::named("gpu-launch")).unwrap()
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

#[test]
fn ROOT_CGROUPS_an_agent_advertises_its_gpus_names_each_in_its_log_and_changes_no_other_resource() {
    if common::lacking("advertising GPUs") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let bed = Testbed::new().unwrap();
    let mut master = bed.master().start().unwrap();
    master.wait_ready(PATIENCE).unwrap();
    let resources =
        "cpus:4;mem:4096;disk:4096;ports:[31000-31009,32000-32000];widgets:{red,blue};bananas:7.5";
    let agents = [
        gpu_agent(&bed).machine(&machine).resources(resources),
        bed.agent().machine(&machine).resources(resources),
    ];
    let [with, without] = agents.map(|agent| {
        let mut agent = agent.start().unwrap();
        let id = agent.wait_registered(PATIENCE).unwrap();
        let total = eventually("the master to list the agent", || {
            total_of(&master.operator().agents().unwrap(), &id)
        });
        (agent, total)
    });
    let (agent, mut total) = with;
    let gpus = total.remove("gpus").unwrap();
    assert_eq!(gpus[0]["scalar"]["value"], 4.0, "{gpus:?}");
    assert_eq!(gpus.len(), 1, "{gpus:?}");
    assert_eq!(total, without.1);

    let version = format!("mesos_gpu: mesos-gpu {}", env!("CARGO_PKG_VERSION"));
    assert!(agent.log().contains(&version), "{}", agent.log());
    for gpu in &machine.gpus {
        let named = format!("mesos_gpu: managing {} at {}", gpu.uuid, gpu.pci);
        common::logged(&agent, &[&named, &format!("minor {}:", gpu.minor)]);
    }
}

/// The resources of an agent as the master lists them, by name.
fn total_of(agents: &[Value], id: &str) -> Option<BTreeMap<String, Vec<Value>>> {
    let agent = agents
        .iter()
        .find(|agent| agent["agent_info"]["id"]["value"] == id)?;
    let mut total: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for resource in agent["total_resources"].as_array()? {
        let name = resource["name"].as_str()?.to_owned();
        total.entry(name).or_default().push(resource.clone());
    }
    Some(total)
}

#[test]
fn ROOT_CGROUPS_a_task_opens_exactly_the_gpus_it_was_given_and_its_environment_names_them() {
    if common::lacking("tasks with GPUs") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let cluster = Cluster::start(&machine);
    let framework = framework(&cluster);
    for gpus in [1, 2, 0, 4] {
        let (id, out) = (
            format!("t{gpus}"),
            cluster.bed.folder().join(format!("seen{gpus}")),
        );
        let offer = framework.offer_with(&[("gpus", gpus.into())], PATIENCE).unwrap();
        framework
            .launch(&offer, &[task(&id, gpus, &probe::command(&out))])
            .unwrap();
        let ended = framework.wait_terminal(&id, PATIENCE).unwrap();
        assert_eq!(ended.state, "TASK_FINISHED", "{ended}\n{}", cluster.agent.log());
        probe::read(&out).assert_has(&machine, usize::try_from(gpus).unwrap());
    }
    eventually("the executors to give back their GPUs", || {
        grants(&cluster.agent).is_empty().then_some(())
    });
    assert_all_free(&cluster.agent, &machine);
}

#[test]
fn ROOT_CGROUPS_the_tasks_of_a_group_can_open_the_gpus_of_their_executor_and_are_told_one_each() {
    if common::lacking("task groups with GPUs") {
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
        for id in &ids {
            let running = framework.wait_state(id, "TASK_RUNNING", PATIENCE).unwrap();
            assert_eq!(running.container.len(), 2, "a nested container: {running:?}");
            let ended = framework.wait_terminal(id, PATIENCE).unwrap();
            assert_eq!(ended.state, "TASK_FINISHED", "{ended}\n{}", cluster.agent.log());
        }
        let [mut one, mut other] = outs.map(|out| probe::read(&out));
        // They share a cgroup, so the kernel lets both open what either was given.
        assert_eq!(one.minors(), other.minors());
        if gpus > 0 {
            let name = "NVIDIA_VISIBLE_DEVICES";
            let together = format!("{},{}", one.env[name], other.env[name]);
            assert_eq!(together.split(',').count(), 2, "{together}");
            for seen in [&mut one, &mut other] {
                seen.env.insert(name.to_owned(), together.clone());
            }
        }
        for seen in [one, other] {
            seen.assert_has(&machine, usize::try_from(2 * gpus).unwrap());
        }
    }
    eventually("the executors to give back their GPUs", || {
        grants(&cluster.agent).is_empty().then_some(())
    });
    assert_all_free(&cluster.agent, &machine);
}

#[test]
fn ROOT_CGROUPS_an_executor_has_as_many_gpus_as_its_tasks_have_together_at_each_moment() {
    if common::lacking("an executor that grows") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let cluster = Cluster::start(&machine);
    let framework = framework(&cluster);
    let program = cluster.agent.folder().join("launcher/mesos-executor");
    let executor =
        ExecutorSpec::custom("stays", &format!("exec {} --stay", program.display())).resources(&SMALL);
    let mut before = BTreeSet::new();
    for (gpus, together) in [(1, 1), (2, 3), (0, 3), (1, 4)] {
        let id = format!("grow{together}-{gpus}");
        let offer = framework.offer_with(&[("gpus", gpus.into())], PATIENCE).unwrap();
        let task = task(&id, gpus, "sleep 1000").executor(&executor);
        framework.launch(&offer, &[task]).unwrap();
        let running = framework.wait_state(&id, "TASK_RUNNING", PATIENCE);
        assert!(running.is_ok(), "{running:?}\n{}", cluster.agent.log());
        let now = held(&cluster.agent);
        assert_eq!(now.len(), together, "{now:?}");
        assert!(now.is_superset(&before), "{before:?} {now:?}");
        before = now;
    }
    let agent_id = cluster.agent.id().unwrap();
    for (ends, left) in [("grow3-2", 2), ("grow3-0", 2), ("grow1-1", 1), ("grow4-1", 0)] {
        framework.kill(ends, &agent_id).unwrap();
        framework.wait_state(ends, "TASK_KILLED", PATIENCE).unwrap();
        eventually("the executor to give back GPUs", || {
            let now = held(&cluster.agent);
            assert!(now.len() >= left && now.is_subset(&before), "{before:?} {now:?}");
            (now.len() == left).then_some(())
        });
    }
    // The executor is still there, and what it gave back is free for others.
    assert_eq!(cluster.agent.operator().containers().unwrap().len(), 1);
    assert_all_free(&cluster.agent, &machine);
}

/// The GPUs of the only container that has any.
fn held(agent: &Agent) -> BTreeSet<u32> {
    let grants = grants(agent);
    assert!(grants.len() <= 1, "{grants:?}");
    grants.into_values().next().unwrap_or_default()
}

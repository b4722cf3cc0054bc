// SPDX-License-Identifier: Apache-2.0
//! Observing: with `mode=observe` beside `gpu/nvidia` a task is told which GPUs it has, and everything that the kernel
//! grants is what the built-in alone grants.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use std::collections::BTreeMap;
use std::path::PathBuf;

use common::{Cluster, PATIENCE, end, eventually, gpu_agent_with, grants, launch, log_lines, probe};
use fake_nvml::Machine;
use testbed::operator::LaunchContainer;
use testbed::scheduler::{Framework, FrameworkOptions, Task};
use testbed::{Agent, AgentBuilder, Testbed, support};

const BUILT_IN: &str = "cgroups/devices,filesystem/linux,gpu/nvidia";
const BESIDE: &str = "cgroups/devices,filesystem/linux,gpu/nvidia,mesos_gpu_Isolator";
const OBSERVE: [(&str, &str); 1] = [("mode", "observe")];
const LABEL: &str = "nvidia.com/gpu.uuids";

/// Whether the built-in cannot run here, which is then reported by name.
fn lacking(proof: &str) -> bool {
    let scratch = tempfile::tempdir().unwrap();
    // It cannot read the loader cache of today's glibc.
    let cache = fake_nvml::trimmed_loader_cache(&scratch.path().join("ld.so.cache"));
    if let Err(error) = &cache {
        support::skip(&format!("{proof}: {error}"));
    }
    cache.is_err() || common::lacking(proof)
}

/// An agent on which the built-in hands GPUs out and ours looks.
fn observed(bed: &Testbed, machine: &Machine) -> AgentBuilder {
    gpu_agent_with(bed, &OBSERVE)
        .machine(machine)
        .loader_cache()
        .isolation(BESIDE)
}

/// The UUIDs of the GPUs that a program could open.
fn opened(seen: &probe::Seen, machine: &Machine) -> Vec<String> {
    let minors = seen.minors();
    let gpus = machine.gpus.iter().filter(|gpu| minors.contains(&gpu.minor));
    let mut uuids: Vec<String> = gpus.map(|gpu| gpu.uuid.clone()).collect();
    uuids.sort_unstable();
    uuids
}

/// A list separated by commas, in order.
fn sorted(list: &str) -> Vec<String> {
    let mut uuids: Vec<String> = list.split(',').map(str::to_owned).collect();
    uuids.sort_unstable();
    uuids
}

#[test]
fn ROOT_CGROUPS_a_task_is_told_the_gpus_that_the_built_in_gave_it() {
    if lacking("tasks that are observed") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let cluster = Cluster::with(|bed| observed(bed, &machine));
    let options = FrameworkOptions::named("gpu-observe");
    let framework = Framework::subscribe(cluster.master.address(), &options).unwrap();
    for gpus in [1_u32, 3, 0, 4] {
        let (id, out) = (
            format!("t{gpus}"),
            cluster.bed.folder().join(format!("seen{gpus}")),
        );
        let mut task = Task::new(&id, &probe::command(&out)).resources(&[("cpus", 0.1), ("mem", 32.0)]);
        if gpus > 0 {
            task = task.resources(&[("gpus", gpus.into())]);
        }
        let offer = framework.offer_with(&[("gpus", gpus.into())], PATIENCE).unwrap();
        framework.launch(&offer, &[task]).unwrap();
        let ended = framework.wait_terminal(&id, PATIENCE).unwrap();
        assert_eq!(ended.state, "TASK_FINISHED", "{ended}\n{}", cluster.agent.log());
        let running = framework.wait_state(&id, "TASK_RUNNING", PATIENCE).unwrap();

        let seen = probe::read(&out);
        let (opened, named) = (opened(&seen, &machine), &seen.env["NVIDIA_VISIBLE_DEVICES"]);
        assert_eq!(u32::try_from(opened.len()).unwrap(), gpus, "{seen:?}");
        let order = seen.env.get("CUDA_DEVICE_ORDER").map(String::as_str);
        if gpus == 0 {
            assert_eq!(
                (named.as_str(), order, running.label(LABEL)),
                ("void", None, None)
            );
        } else {
            assert_eq!((sorted(named), order), (opened.clone(), Some("PCI_BUS_ID")));
            assert_eq!(running.label(LABEL).map(sorted), Some(opened), "{running:?}");
        }
        eventually("the executor to give back its GPUs", || {
            grants(&cluster.agent).is_empty().then_some(())
        });
    }
}

/// What the kernel grants each of some containers, launched one after the other: every line, in the order in which the
/// kernel gives them. One has a child with a cgroup of its own.
fn rules(agent: &Agent) -> BTreeMap<PathBuf, Vec<String>> {
    for (id, gpus) in [("one", 1.0), ("none", 0.0), ("two", 2.0)] {
        launch(agent, id, gpus, "sleep 1000").unwrap();
    }
    let child = LaunchContainer::new(&["two", "child"], "sleep 1000").share_cgroups(false);
    agent.operator().launch_container(&child).unwrap();
    // Its place is free for the next.
    end(agent, "one");
    launch(agent, "last", 2.0, "sleep 1000").unwrap();
    agent.device_rules().unwrap()
}

#[test]
fn ROOT_CGROUPS_who_is_observed_has_the_device_rules_of_the_built_in_alone_byte_for_byte() {
    if lacking("device rules beside the built-in") {
        return;
    }
    let (bed, machine) = (Testbed::new().unwrap(), Machine::with_gpus(4));
    let alone = bed.agent().machine(&machine).loader_cache().isolation(BUILT_IN);
    let [alone, beside] = [alone, observed(&bed, &machine)].map(|agent| {
        let mut agent = agent.start().unwrap();
        agent.wait_ready(PATIENCE).unwrap();
        let rules = rules(&agent);
        let grants = grants(&agent);
        assert_eq!((grants["two"].len(), grants["last"].len()), (2, 2), "{rules:?}");
        // Nor does it add or take away a rule when it starts beside containers.
        agent.kill9().unwrap();
        agent.restart().unwrap();
        agent.wait_ready(PATIENCE).unwrap();
        assert_eq!(agent.device_rules().unwrap(), rules);
        rules
    });
    assert_eq!(beside, alone);
}

#[test]
fn ROOT_CGROUPS_observing_without_the_built_in_keeps_the_agent_from_starting() {
    if common::lacking("observing nobody") {
        return;
    }
    let (bed, machine) = (Testbed::new().unwrap(), Machine::with_gpus(2));
    let mut agent = gpu_agent_with(&bed, &OBSERVE).machine(&machine).start().unwrap();
    let error = agent.wait_ready(PATIENCE).unwrap_err().to_string();
    assert!(error.contains("it ended with exit status: 1"), "{error}");
    let log = agent.log();
    let says = "does not name gpu/nvidia, which mode=observe is for; add gpu/nvidia to --isolation, or remove the parameter mode";
    let lines = log_lines(&log, &["mesos_gpu: cannot create the module: ", says]);
    assert_eq!(lines.len(), 1, "{log}");
}

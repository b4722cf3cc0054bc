// SPDX-License-Identifier: Apache-2.0
//! What an agent has in its own environment about GPUs is for the agent: a container reads only what is said of the GPUs
//! that it was given.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use std::collections::BTreeSet;

use common::{Cluster, PATIENCE, eventually, fresh_id, gpu_agent, launch, probe};
use fake_nvml::Machine;
use testbed::scheduler::{ExecutorSpec, Framework, FrameworkOptions, Task};

/// What an agent may have been started with.
const HOST: [(&str, &str); 5] = [
    ("NVIDIA_VISIBLE_DEVICES", "all"),
    ("NVIDIA_DRIVER_CAPABILITIES", "all"),
    ("CUDA_VISIBLE_DEVICES", "0"),
    ("CUDA_DEVICE_ORDER", "FASTEST_FIRST"),
    ("NVIDIA_HOST_SECRET", "agent"),
];

const SMALL: [(&str, f64); 2] = [("cpus", 0.1), ("mem", 32.0)];

/// Asserts that a container has of the variables about GPUs only ours.
fn assert_only_ours(what: &str, seen: &probe::Seen, machine: &Machine, gpus: u32) {
    let about_gpus = seen
        .env
        .iter()
        .filter(|(name, _)| name.starts_with("NVIDIA_") || name.starts_with("CUDA_"));
    let names: BTreeSet<&str> = about_gpus.map(|(name, _)| name.as_str()).collect();
    let ours: BTreeSet<&str> = if gpus == 0 {
        BTreeSet::from(["NVIDIA_VISIBLE_DEVICES"])
    } else {
        BTreeSet::from(["NVIDIA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"])
    };
    assert_eq!(names, ours, "{what} with {gpus} GPUs: {:?}", seen.env);
    seen.assert_has(machine, usize::try_from(gpus).unwrap());
}

#[test]
fn ROOT_CGROUPS_the_environment_of_the_agent_reaches_no_container() {
    if common::lacking("the environment of containers") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let cluster = Cluster::with(|bed| {
        let agent = gpu_agent(bed).machine(&machine);
        HOST.iter()
            .fold(agent, |agent, (name, value)| agent.env(name, *value))
    });
    let environ = std::fs::read_to_string(format!("/proc/{}/environ", cluster.agent.pid())).unwrap();
    for (name, value) in HOST {
        let pair = format!("{name}={value}");
        assert!(
            environ.split('\0').any(|one| one == pair),
            "the agent has {pair}: {environ:?}"
        );
    }
    let options = FrameworkOptions::named("hook-environment");
    let framework = Framework::subscribe(cluster.master.address(), &options).unwrap();
    for gpus in [1, 0] {
        let out = |what: &str| cluster.bed.folder().join(format!("{what}{gpus}"));
        let resources = |task: Task| {
            let task = task.resources(&SMALL);
            if gpus == 0 {
                task
            } else {
                task.resources(&[("gpus", gpus.into())])
            }
        };

        let standalone = out("standalone");
        launch(
            &cluster.agent,
            &fresh_id("alone"),
            gpus.into(),
            &probe::command(&standalone),
        )
        .unwrap();
        eventually("the container to look", || standalone.exists().then_some(()));
        assert_only_ours(
            "a standalone container",
            &probe::read(&standalone),
            &machine,
            gpus,
        );

        let (id, seen) = (format!("command{gpus}"), out("command"));
        let offer = framework.offer_with(&[("gpus", 1.0)], PATIENCE).unwrap();
        framework
            .launch(&offer, &[resources(Task::new(&id, &probe::command(&seen)))])
            .unwrap();
        framework.wait_terminal(&id, PATIENCE).unwrap();
        assert_only_ours("a command task", &probe::read(&seen), &machine, gpus);

        let (id, seen) = (format!("group{gpus}"), out("group"));
        let offer = framework
            .offer_with(&[("gpus", 1.0), ("cpus", 1.0)], PATIENCE)
            .unwrap();
        let executor = ExecutorSpec::default_executor(&format!("executor{gpus}"));
        let task = resources(Task::new(&id, &probe::command(&seen)));
        framework.launch_group(&offer, &executor, &[task]).unwrap();
        framework.wait_terminal(&id, PATIENCE).unwrap();
        assert_only_ours("a task of a group", &probe::read(&seen), &machine, gpus);
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The agent neither waits nor falls for a driver that hangs, is not loaded, or is not there at all.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{
    Cluster, assert_all_free, assert_serves_without_gpus, end, eventually, gpu_agent, gpu_agent_with, grants,
    launch, logged,
};
use fake_nvml::{Fault, Machine};
use testbed::{Agent, AgentBuilder, Testbed, support};

/// What an agent may take to be ready beside a driver that hangs.
const READY: Duration = Duration::from_secs(10);

fn start(agent: AgentBuilder) -> Agent {
    let mut agent = agent.start().unwrap();
    agent.wait_ready(READY).unwrap();
    agent
}

/// How many threads of the agent have this name.
fn threads(agent: &Agent, name: &str) -> usize {
    let tasks = fs::read_dir(format!("/proc/{}/task", agent.pid())).unwrap();
    let names = tasks.flatten().filter_map(|task| {
        // A thread may end while we look.
        fs::read_to_string(task.path().join("comm")).ok()
    });
    names.filter(|found| found.trim_end() == name).count()
}

#[test]
fn ROOT_CGROUPS_beside_an_nvml_that_hangs_gpus_are_served_from_what_the_kernel_driver_tells() {
    if common::lacking("an NVML that hangs") {
        return;
    }
    let bed = Testbed::new().unwrap();
    for function in ["nvmlInit_v2", "nvmlDeviceGetUUID", "nvmlDeviceGetMemoryInfo"] {
        let well = Machine::with_gpus(4);
        let machine = well.clone().fault(Fault::hang(function));
        let agent = start(gpu_agent_with(&bed, &[("nvml_timeout", "1secs")]).machine(&machine));
        assert_serves_without_gpus(&agent);
        for _ in 0..3 {
            launch(&agent, "holder", 2.0, "sleep 1000").unwrap();
            assert_eq!(grants(&agent)["holder"].len(), 2);
            end(&agent, "holder");
        }
        logged(
            &agent,
            &[
                "mesos_gpu: GPUs are served without NVML's word on them: ",
                function,
                // Within the second, or since a question before this one.
                "return",
            ],
        );
        assert_all_free(&agent, &machine);
        let stuck = threads(&agent, "gpu-nvml");
        assert_eq!(
            (stuck, threads(&agent, "gpu-nvml-timer")),
            (1, 1),
            "hung in {function}"
        );

        // The call comes back, and nothing happens.
        agent.simulation().unwrap().update(&well).unwrap();
        assert_all_free(&agent, &well);
        assert!(agent.operator().health());
    }
}

#[test]
fn ROOT_CGROUPS_an_nvml_that_begins_to_hang_holds_up_gpus_that_come_back_for_seconds_only() {
    if common::lacking("an NVML that begins to hang") {
        return;
    }
    let well = Machine::with_gpus(4);
    let cluster = Cluster::start(&well);
    logged(&cluster.agent, &["mesos_gpu: NVML confirms"]);
    launch(&cluster.agent, "holder", 4.0, "sleep 1000").unwrap();
    let hanging = well.clone().fault(Fault::hang("nvmlDeviceGetUUID"));
    let simulation = cluster.agent.simulation().unwrap();
    simulation.update(&hanging).unwrap();
    end(&cluster.agent, "holder");
    // One call may take 30 seconds here, and a launch waits no longer than that.
    let since = Instant::now();
    assert_all_free(&cluster.agent, &hanging);
    assert!(since.elapsed() < READY, "it took {:?}", since.elapsed());
    simulation.update(&well).unwrap();
    assert_all_free(&cluster.agent, &well);
}

#[test]
fn ROOT_CGROUPS_where_only_nvml_could_tell_and_it_hangs_the_agent_is_ready_in_time_without_gpus() {
    if common::lacking("an NVML that hangs where nobody else can tell") {
        return;
    }
    let bed = Testbed::new().unwrap();
    let nothing = bed.folder().join("no-driver-tree");
    let machine = Machine::with_gpus(4).fault(Fault::hang("nvmlInit_v2"));
    let parameters = [("proc_dir", nothing.to_str().unwrap())];
    let mut agent = start(gpu_agent_with(&bed, &parameters).machine(&machine));
    logged(
        &agent,
        &["mesos_gpu: this machine has no GPU to hand out: NVML did not answer within 5s"],
    );
    assert_has_no_gpus(&agent);
    assert!(threads(&agent, "gpu-nvml") <= 1);
    // Nor is its end kept waiting.
    agent.terminate().unwrap();
}

#[test]
fn ROOT_CGROUPS_where_only_nvml_can_tell_and_it_works_its_gpus_are_served() {
    if common::lacking("GPUs that only NVML tells of") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let cluster = Cluster::with(|bed| {
        let nothing = bed.folder().join("no-driver-tree");
        gpu_agent_with(bed, &[("proc_dir", nothing.to_str().unwrap())]).machine(&machine)
    });
    assert_all_free(&cluster.agent, &machine);
}

#[test]
fn ROOT_CGROUPS_an_agent_without_a_working_driver_or_without_gpus_starts_and_says_so() {
    if common::lacking("machines without GPUs") {
        return;
    }
    let says = "mesos_gpu: this machine has no GPU to hand out: ";
    let mut unloaded = Machine::with_gpus(4);
    unloaded.driver_loaded = false;
    let bed = Testbed::new().unwrap();
    let agent = start(gpu_agent(&bed).machine(&unloaded));
    logged(&agent, &[says, "nvmlInit_v2 failed: "]);
    assert_has_no_gpus(&agent);
    drop(agent);

    let agent = start(gpu_agent(&bed).machine(&Machine::with_gpus(0)));
    logged(&agent, &[says, "NVML lists no GPU"]);
    assert_has_no_gpus(&agent);
    drop(agent);

    if Path::new("/proc/driver/nvidia").exists() {
        return support::skip("an agent on a machine without any driver: this machine has one");
    }
    let agent = start(gpu_agent(&bed));
    logged(&agent, &[says, "cannot load libnvidia-ml.so.1: "]);
    assert_has_no_gpus(&agent);
}

/// Asserts that the agent serves containers without GPUs and refuses others with the numbers.
fn assert_has_no_gpus(agent: &Agent) {
    let refusal = launch(agent, &common::fresh_id("gpu"), 1.0, "true").unwrap_err();
    assert!(refusal.body().contains("1 more wanted, 0 of 0 free"), "{refusal}");
    eventually("the refused container to go", || {
        agent.operator().containers().unwrap().is_empty().then_some(())
    });
    assert_serves_without_gpus(agent);
}

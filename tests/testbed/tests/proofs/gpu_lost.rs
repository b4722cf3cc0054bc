// SPDX-License-Identifier: Apache-2.0
//! GPUs that are lost and come back, with an agent that was registered with all of them: it stays the same agent with the
//! same total, holds the lost one back, serves the others, and serves all again as soon as it can.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use std::collections::BTreeSet;
use std::thread;

use common::{
    Cluster, PATIENCE, SHORT, assert_all_free, end, eventually, gpu_agent_with, grants, launch, logged,
};
use fake_nvml::{Fault, Machine};
use testbed::operator::ApiError;

/// NVML's word for a GPU that fell off the bus.
const GPU_IS_LOST: u32 = 15;

/// The agent's metrics, in the testbed's folder.
const METRICS: &str = "gpus.prom";

/// A cluster whose agent looks at its GPUs often, and writes its metrics.
fn cluster(machine: &Machine) -> Cluster {
    Cluster::with(|bed| {
        let metrics = bed.folder().join(METRICS);
        let parameters = [
            ("health_interval", "500ms"),
            ("metrics_file", metrics.to_str().unwrap()),
        ];
        gpu_agent_with(bed, &parameters).machine(machine)
    })
}

/// The machine without the GPU with this minor. NVML counts the others anew.
fn without(machine: &Machine, minor: u32) -> Machine {
    let mut less = machine.clone();
    less.gpus.retain(|gpu| gpu.minor != minor);
    for (index, gpu) in (0..).zip(&mut less.gpus) {
        gpu.index = index;
        gpu.topology.clear();
    }
    less
}

fn uuid(machine: &Machine, minor: u32) -> &str {
    let gpu = machine.gpus.iter().find(|gpu| gpu.minor == minor);
    gpu.map(|gpu| gpu.uuid.as_str()).unwrap()
}

fn change(cluster: &Cluster, machine: &Machine) {
    cluster.agent.simulation().unwrap().update(machine).unwrap();
}

fn launch_one(cluster: &Cluster, id: &str) -> Result<(), ApiError> {
    launch(&cluster.agent, id, 1.0, "exec sleep 1000")
}

/// Gives one container all GPUs but one, which is all that are free; gives back its id.
fn fill(cluster: &Cluster) -> String {
    let id = common::fresh_id("rest");
    let launched = launch(&cluster.agent, &id, 7.0, "exec sleep 1000");
    assert!(launched.is_ok(), "{launched:?}\n{}", cluster.agent.log());
    id
}

/// What one more container is told.
fn refusal(cluster: &Cluster) -> String {
    let error = launch_one(cluster, &common::fresh_id("refused")).unwrap_err();
    error.body().to_owned()
}

/// How many GPUs the master believes the agent to have.
fn total(cluster: &Cluster, id: &str) -> f64 {
    eventually("the master to list the agent as active", || {
        let agents = cluster.master.operator().agents().unwrap();
        let agent = agents
            .into_iter()
            .find(|agent| agent["agent_info"]["id"]["value"] == id && agent["active"] == true)?;
        let resources = agent["total_resources"].as_array()?;
        resources.iter().find(|one| one["name"] == "gpus")?["scalar"]["value"].as_f64()
    })
}

/// The processes of all containers. Right after a launch more may come.
fn processes(cluster: &Cluster) -> BTreeSet<i32> {
    let processes = cluster.agent.container_processes().unwrap();
    processes.into_iter().map(nix::unistd::Pid::as_raw).collect()
}

/// The only GPU of a container.
fn minor_of(cluster: &Cluster, id: &str) -> u32 {
    let grants = grants(&cluster.agent);
    assert_eq!(grants[id].len(), 1, "{grants:?}");
    *grants[id].first().unwrap()
}

#[test]
fn ROOT_CGROUPS_an_agent_of_which_a_gpu_died_restarts_as_the_same_and_serves_it_when_it_is_back() {
    if common::lacking("a GPU that is lost over a restart") {
        return;
    }
    let machine = Machine::with_gpus(8);
    let mut cluster = cluster(&machine);
    let id = cluster.agent.id().unwrap();
    let lost = uuid(&machine, 4);

    cluster.agent.terminate().unwrap();
    change(&cluster, &without(&machine, 4));
    cluster.agent.restart().unwrap();
    assert_eq!(cluster.agent.wait_registered(PATIENCE).unwrap(), id);
    assert_eq!(total(&cluster, &id), 8.0);
    let says = format!("mesos_gpu: 1 of 8 advertised GPUs are not there and are held back: {lost}");
    logged(&cluster.agent, &[&says]);

    let metrics = cluster.bed.folder().join(METRICS);
    let held_back = format!("mesos_gpu_set_aside{{uuid=\"{lost}\"}} 1");
    eventually("the metrics to tell", || {
        let text = std::fs::read_to_string(&metrics).ok()?;
        let has = |line: &str| text.lines().any(|is| is == line);
        (has("mesos_gpu_advertised 8") && has("mesos_gpu_gpus{phase=\"free\"} 7") && has(&held_back))
            .then_some(())
    });

    let seven: Vec<String> = (0..7).map(|_| common::fresh_id("one")).collect();
    for id in &seven {
        launch_one(&cluster, id).unwrap();
    }
    let says = format!("1 more wanted, 0 of 8 free, {lost} set aside: the driver does not list it");
    let refused = refusal(&cluster);
    assert!(refused.contains(&says), "{refused}");

    change(&cluster, &machine);
    logged(&cluster.agent, &["mesos_gpu: found again: ", lost]);
    launch_one(&cluster, "eighth").unwrap();
    assert_eq!(minor_of(&cluster, "eighth"), 4);
    for id in seven {
        end(&cluster.agent, &id);
    }
    end(&cluster.agent, "eighth");
    assert_all_free(&cluster.agent, &machine);
    assert_eq!(total(&cluster, &id), 8.0);
}

#[test]
fn ROOT_CGROUPS_a_container_whose_gpu_died_over_a_restart_keeps_it_until_it_ends() {
    if common::lacking("a held GPU that is lost over a restart") {
        return;
    }
    let machine = Machine::with_gpus(8);
    let mut cluster = cluster(&machine);
    let id = cluster.agent.id().unwrap();
    launch_one(&cluster, "keeper").unwrap();
    let (minor, held) = (minor_of(&cluster, "keeper"), grants(&cluster.agent));
    let processes_before = processes(&cluster);

    cluster.agent.kill9().unwrap();
    change(&cluster, &without(&machine, minor));
    cluster.agent.restart().unwrap();
    assert_eq!(cluster.agent.wait_registered(PATIENCE).unwrap(), id);
    assert_eq!(total(&cluster, &id), 8.0);
    assert!(processes(&cluster).is_superset(&processes_before));
    let seven = fill(&cluster);
    assert!(refusal(&cluster).contains("0 of 8 free"));
    end(&cluster.agent, &seven);
    assert_eq!(grants(&cluster.agent), held);

    // It is back, and still with the one that had it.
    change(&cluster, &machine);
    logged(
        &cluster.agent,
        &["mesos_gpu: found again: ", uuid(&machine, minor)],
    );
    let seven = fill(&cluster);
    assert!(refusal(&cluster).contains("0 of 8 free"));
    assert_eq!(minor_of(&cluster, "keeper"), minor);
    end(&cluster.agent, &seven);
    end(&cluster.agent, "keeper");
    assert_all_free(&cluster.agent, &machine);
}

#[test]
fn ROOT_CGROUPS_a_gpu_that_died_with_its_container_is_not_handed_out_though_its_health_is_not_due() {
    if common::lacking("a GPU that dies with its container") {
        return;
    }
    let machine = Machine::with_gpus(8);
    let cluster = Cluster::with(|bed| gpu_agent_with(bed, &[("health_interval", "1hrs")]).machine(&machine));
    logged(&cluster.agent, &["mesos_gpu: NVML confirms"]);
    launch_one(&cluster, "victim").unwrap();
    let minor = minor_of(&cluster, "victim");
    let gpu = machine.gpus.iter().find(|gpu| gpu.minor == minor).unwrap();
    let fault = Fault::code("*", GPU_IS_LOST).on_gpu(gpu.index);
    change(&cluster, &machine.clone().fault(fault));
    end(&cluster.agent, "victim");
    let seven = fill(&cluster);
    let handed_out = grants(&cluster.agent);
    assert!(
        handed_out.values().all(|minors| !minors.contains(&minor)),
        "{minor} {handed_out:?}"
    );
    let refused = refusal(&cluster);
    assert!(
        refused.contains(&format!("0 of 8 free, {} set aside: ", gpu.uuid)),
        "{refused}"
    );
    end(&cluster.agent, &seven);
}

/// Loses the GPU of a running container in one way while the agent runs, and gets it back.
fn lose_and_find(machine: &Machine, lose: impl FnOnce(u32) -> Machine) {
    let cluster = cluster(machine);
    let id = cluster.agent.id().unwrap();
    launch_one(&cluster, "holder").unwrap();
    let (minor, held) = (minor_of(&cluster, "holder"), grants(&cluster.agent));
    let (lost, processes_before) = (uuid(machine, minor), processes(&cluster));

    change(&cluster, &lose(minor));
    logged(&cluster.agent, &["mesos_gpu: ", lost, " is set aside: "]);
    assert_eq!(grants(&cluster.agent), held, "whoever has it keeps it");
    assert!(processes(&cluster).is_superset(&processes_before));
    // At no moment after the end of its container is it handed out.
    end(&cluster.agent, "holder");
    let seven = fill(&cluster);
    assert!(
        !grants(&cluster.agent)
            .values()
            .any(|minors| minors.contains(&minor))
    );
    let says = format!("0 of 8 free, {lost} set aside: ");
    let refused = refusal(&cluster);
    assert!(refused.contains(&says), "{refused}");
    thread::sleep(SHORT);
    assert!(refusal(&cluster).contains(&says));

    change(&cluster, machine);
    logged(
        &cluster.agent,
        &["mesos_gpu: ", lost, " is served again; it was set aside because "],
    );
    launch_one(&cluster, "eighth").unwrap();
    assert_eq!(minor_of(&cluster, "eighth"), minor);
    end(&cluster.agent, &seven);
    end(&cluster.agent, "eighth");
    assert_all_free(&cluster.agent, machine);
    assert_eq!(
        (cluster.agent.id(), total(&cluster, &id)),
        (Some(id.clone()), 8.0)
    );
}

#[test]
fn ROOT_CGROUPS_a_gpu_that_vanishes_while_the_agent_runs_is_set_aside_and_served_again() {
    if common::lacking("a GPU that vanishes") {
        return;
    }
    let machine = Machine::with_gpus(8);
    lose_and_find(&machine, |minor| without(&machine, minor));
}

#[test]
fn ROOT_CGROUPS_a_gpu_that_nvml_calls_lost_while_the_agent_runs_is_set_aside_and_served_again() {
    if common::lacking("a GPU that NVML calls lost") {
        return;
    }
    // It can be lost before NVML tells its UUID, before its address too, or only after both.
    for function in [
        "nvmlDeviceGetUUID",
        "nvmlDeviceGetHandleByIndex_v2",
        "nvmlDeviceGetMemoryInfo",
    ] {
        let machine = Machine::with_gpus(8);
        lose_and_find(&machine, |minor| {
            let gpu = machine.gpus.iter().find(|gpu| gpu.minor == minor).unwrap();
            let fault = Fault::code(function, GPU_IS_LOST).on_gpu(gpu.index);
            machine.clone().fault(fault)
        });
    }
}

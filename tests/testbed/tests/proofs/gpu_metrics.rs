// SPDX-License-Identifier: Apache-2.0
//! The agent's metrics file and dcgm-exporter's job folder, against a real Mesos: they follow a launch, a restart and the end,
//! and a driver that hangs costs its figures and nothing else.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use std::collections::BTreeMap;
use std::fs;

use common::{Cluster, PATIENCE, end, eventually, gpu_agent_with, grants, launch};
use fake_nvml::{Fault, Machine, Process};
use testbed::scheduler::{Framework, FrameworkOptions, Task};

/// A cluster whose agent writes both, and looks often. An agent before has left jobs.
fn cluster(machine: &Machine) -> Cluster {
    Cluster::with(|bed| {
        let (metrics, jobs) = (bed.folder().join("gpus.prom"), bed.folder().join("jobs"));
        fs::create_dir(&jobs).unwrap();
        for stale in ["0", "7"] {
            fs::write(jobs.join(stale), "gone\n").unwrap();
        }
        let parameters = [
            ("metrics_file", metrics.to_str().unwrap()),
            ("dcgm_job_dir", jobs.to_str().unwrap()),
            ("sample_interval", "500ms"),
            ("nvml_timeout", "1secs"),
            ("health_interval", "500ms"),
        ];
        gpu_agent_with(bed, &parameters).machine(machine)
    })
}

/// The lines of the metrics file.
fn lines(cluster: &Cluster) -> Vec<String> {
    let text = fs::read_to_string(cluster.bed.folder().join("gpus.prom")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Waits until every one of these is a line.
fn told(cluster: &Cluster, wanted: &[String]) {
    eventually(&format!("the metrics to say {wanted:?}"), || {
        let lines = lines(cluster);
        wanted.iter().all(|line| lines.contains(line)).then_some(())
    });
}

/// Waits until no line begins with one of these.
fn gone(cluster: &Cluster, names: &[&str]) {
    eventually(&format!("{names:?} to go from the metrics"), || {
        let lines = lines(cluster);
        let there = lines
            .iter()
            .any(|line| names.iter().any(|name| line.starts_with(name)));
        (!there && !lines.is_empty()).then_some(())
    });
}

/// The jobs as dcgm-exporter reads them, by the names of the files.
fn jobs(cluster: &Cluster) -> BTreeMap<u32, String> {
    let entries = fs::read_dir(cluster.bed.folder().join("jobs")).unwrap();
    let numbers = entries.filter_map(|entry| {
        let path = entry.unwrap().path();
        let index = path.file_name()?.to_str()?.parse().ok()?;
        // It may be replaced or go while we look.
        Some((index, fs::read_to_string(path).ok()?))
    });
    numbers.collect()
}

fn jobs_become(cluster: &Cluster, wanted: &[(u32, &str)]) {
    let wanted: BTreeMap<u32, String> = wanted
        .iter()
        .map(|(at, text)| (*at, format!("{text}\n")))
        .collect();
    eventually(&format!("the jobs to be {wanted:?}"), || {
        (jobs(cluster) == wanted).then_some(())
    });
}

/// What Mesos itself counts.
fn gpus_used(cluster: &Cluster, wanted: f64) {
    eventually("Mesos's own count of GPUs", || {
        let metrics = cluster.agent.operator().metrics().ok()?;
        (metrics["slave/gpus_used"] == wanted && metrics["slave/gpus_total"] == 2.0).then_some(())
    });
}

#[test]
fn ROOT_CGROUPS_metrics_and_jobs_follow_a_task_through_a_restart_of_the_agent_to_its_end() {
    if common::lacking("metrics of a task") {
        return;
    }
    let mut machine = Machine::with_gpus(2);
    let mut cluster = cluster(&machine);
    jobs_become(&cluster, &[]);
    gpus_used(&cluster, 0.0);

    let options = FrameworkOptions::named("metrics");
    let framework = Framework::subscribe(cluster.master.address(), &options).unwrap();
    let offer = framework.offer_with(&[("gpus", 1.0)], PATIENCE).unwrap();
    let task = Task::new("train 1", "sleep 1000").resources(&[("cpus", 0.1), ("mem", 32.0), ("gpus", 1.0)]);
    framework.launch(&offer, &[task]).unwrap();
    framework.wait_state("train 1", "TASK_RUNNING", PATIENCE).unwrap();

    let (container, minors) = grants(&cluster.agent).into_iter().next().unwrap();
    let minor = *minors.first().unwrap();
    let gpu = machine.gpus.iter_mut().find(|gpu| gpu.minor == minor).unwrap();
    let pid = u32::try_from(cluster.agent.container_processes().unwrap()[0].as_raw()).unwrap();
    gpu.processes.push(Process {
        pid,
        used_memory: Some(3 << 30),
        sm_util: 40,
        mem_util: 0,
        gpu_instance: None,
        compute_instance: None,
    });
    let (uuid, index) = (gpu.uuid.clone(), gpu.index);
    assert_ne!(index, minor, "the two must not be taken for one another");
    cluster.agent.simulation().unwrap().update(&machine).unwrap();

    let on = format!("gpu=\"{uuid}\",minor=\"{minor}\"");
    let of = format!(
        "container=\"{container}\",framework=\"{}\",executor=\"train 1\",{on}",
        framework.id()
    );
    let follow = [
        format!("mesos_gpu_held{{{on}}} 1"),
        format!("mesos_gpu_power_watts{{{on}}} 76.54"),
        format!("mesos_gpu_temperature_celsius{{{on}}} 31"),
        format!("mesos_gpu_container_gpu{{{of},use=\"held\"}} 1"),
        format!("mesos_gpu_container_utilization_ratio{{{of}}} 0.4"),
        format!("mesos_gpu_container_memory_used_bytes{{{of}}} 3221225472"),
        "mesos_gpu_nvml_up 1".to_owned(),
    ];
    told(&cluster, &follow);
    told(
        &cluster,
        &["mesos_gpu_calls_total{call=\"prepare\"} 1".to_owned()],
    );
    let job = format!("{}/train_1/{container}", framework.id());
    jobs_become(&cluster, &[(index, &job)]);
    gpus_used(&cluster, 1.0);

    // What runs on keeps its job while nobody looks after it.
    cluster.agent.kill9().unwrap();
    assert_eq!(jobs(&cluster), [(index, format!("{job}\n"))].into());
    fs::remove_file(cluster.bed.folder().join("gpus.prom")).unwrap();
    cluster.agent.restart().unwrap();
    cluster.agent.wait_registered(PATIENCE).unwrap();
    told(&cluster, &follow);
    jobs_become(&cluster, &[(index, &job)]);

    for gpu in &mut machine.gpus {
        gpu.processes.clear();
    }
    cluster.agent.simulation().unwrap().update(&machine).unwrap();
    let agent = cluster.agent.id().unwrap();
    framework.kill("train 1", &agent).unwrap();
    framework.wait_terminal("train 1", PATIENCE).unwrap();
    gone(&cluster, &["mesos_gpu_container_"]);
    told(&cluster, &[format!("mesos_gpu_held{{{on}}} 0")]);
    jobs_become(&cluster, &[]);
    gpus_used(&cluster, 0.0);
}

#[test]
fn ROOT_CGROUPS_a_driver_that_hangs_takes_its_figures_with_it_and_leaves_the_rest() {
    if common::lacking("metrics beside a driver that hangs") {
        return;
    }
    let well = Machine::with_gpus(2);
    let cluster = cluster(&well);
    let figures = [
        "mesos_gpu_utilization_ratio",
        "mesos_gpu_power_watts",
        "mesos_gpu_temperature_celsius",
    ];
    told(&cluster, &["mesos_gpu_nvml_up 1".to_owned()]);
    let hangs = well
        .clone()
        .fault(Fault::hang("nvmlDeviceGetTemperature").on_gpu(1));
    cluster.agent.simulation().unwrap().update(&hangs).unwrap();
    told(&cluster, &["mesos_gpu_nvml_up 0".to_owned()]);
    gone(&cluster, &figures);
    let has = |name: &str| lines(&cluster).iter().any(|line| line.starts_with(name));
    assert!(
        has("mesos_gpu_sample_age_seconds{") && has("mesos_gpu_nvml_failures_total{reason=\"timeout\"} 1")
    );
    launch(&cluster.agent, "one", 1.0, "exec sleep 1000").unwrap();
    eventually("the container's line", || {
        has("mesos_gpu_container_gpu{container=\"one\",gpu=").then_some(())
    });
    end(&cluster.agent, "one");
    gone(&cluster, &["mesos_gpu_container_gpu"]);

    cluster.agent.simulation().unwrap().update(&well).unwrap();
    told(&cluster, &["mesos_gpu_nvml_up 1".to_owned()]);
    eventually("the figures to come back", || {
        figures.iter().all(|name| has(name)).then_some(())
    });
}

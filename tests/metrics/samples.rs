// SPDX-License-Identifier: Apache-2.0
//! What NVML tells, as numbers: of each GPU, of each container on it, and nothing where it does not tell.

use crate::story::{INTERVAL, Story, uuid};
use crate::support::agent::id;
use crate::support::driver_proc::proc_gpu;
use crate::support::exposition::{of, read};
use crate::support::machine::FakeMachine;
use crate::support::nvml::{Answer, gpu_sample, nvml_gpu, survey};
use mesos_gpu::domain::gpu::UnitId;
use mesos_gpu::ports::driver_proc::MigAccess;
use mesos_gpu::ports::nvml::{NvmlFailure, NvmlMig};

const MIB: f64 = 1_048_576.0;

/// The families that come from a sample.
const SAMPLED: [&str; 7] = [
    "mesos_gpu_utilization_ratio",
    "mesos_gpu_memory_used_bytes",
    "mesos_gpu_memory_total_bytes",
    "mesos_gpu_power_watts",
    "mesos_gpu_temperature_celsius",
    "mesos_gpu_container_utilization_ratio",
    "mesos_gpu_container_memory_used_bytes",
];

/// The GPUs of which there is a line in any of these families.
fn gpus_in(text: &str, names: &[&str]) -> Vec<String> {
    let families = read(text);
    let mut gpus: Vec<String> = names
        .iter()
        .flat_map(|name| of(&families, name))
        .map(|sample| sample.labels["gpu"].clone())
        .collect();
    gpus.sort();
    gpus.dedup();
    gpus
}

#[test]
fn a_gpu_and_the_container_on_it_are_told_with_names_for_people_and_queries() {
    let mut story = Story::with_gpus(2);
    story.launch_for("c0", "train.1", 1.0);
    story.enter("c0", 7);
    story.enter("c0", 8);
    let processes = [(7, 30, 1000), (8, 20, 24), (9, 11, 500)];
    story.tell(vec![
        gpu_sample(&proc_gpu(0), 61, 2000, &processes),
        gpu_sample(&proc_gpu(1), 0, 5, &[]),
    ]);
    story.samples(1);
    let (first, second) = (uuid(0), uuid(1));
    let gpu: &[_] = &[("gpu", first.as_str()), ("minor", "0")];
    for (name, want) in [
        ("mesos_gpu_utilization_ratio", 0.61),
        ("mesos_gpu_memory_used_bytes", 2000.0 * MIB),
        ("mesos_gpu_memory_total_bytes", 141.0 * 1024.0 * MIB),
        ("mesos_gpu_power_watts", 76.54),
        ("mesos_gpu_temperature_celsius", 31.0),
        ("mesos_gpu_sample_age_seconds", 0.0),
        ("mesos_gpu_held", 1.0),
        ("mesos_gpu_sick", 0.0),
    ] {
        assert_eq!(story.value(name, gpu), Some(want), "{name}");
    }
    assert_eq!(story.value("mesos_gpu_held", &[("gpu", &second)]), Some(0.0));
    let container: &[_] = &[
        ("container", "c0"),
        ("framework", "fw-1"),
        ("executor", "train.1"),
        ("gpu", &first),
        ("minor", "0"),
    ];
    // Process 9 is a stranger's.
    for (name, want) in [
        ("mesos_gpu_container_gpu", 1.0),
        ("mesos_gpu_container_utilization_ratio", 0.5),
        ("mesos_gpu_container_memory_used_bytes", 1024.0 * MIB),
    ] {
        assert_eq!(story.value(name, container), Some(want), "{name}");
    }
    assert_eq!(story.value("mesos_gpu_nvml_up", &[]), Some(1.0));
}

#[test]
fn a_driver_that_hangs_makes_its_numbers_old_and_then_absent_and_never_0() {
    let mut story = Story::with_gpus(1);
    story.launch_for("c0", "e", 1.0);
    story.tell(vec![gpu_sample(&proc_gpu(0), 90, 2000, &[])]);
    story.samples(1);
    let hang = "nvmlDeviceGetPowerUsage on GPU 0".to_owned();
    story.nvml.usual_sample(Answer::Hang(hang));
    for age in [5.0, 10.0, 15.0] {
        story.samples(1);
        assert_eq!(story.value("mesos_gpu_sample_age_seconds", &[]), Some(age));
        assert_eq!(story.value("mesos_gpu_utilization_ratio", &[]), Some(0.9));
        assert_eq!(story.value("mesos_gpu_nvml_up", &[]), Some(0.0));
    }
    story.samples(1);
    let text = story.published();
    assert_eq!(gpus_in(&text, &SAMPLED), Vec::<String>::new(), "{text}");
    assert_eq!(story.value("mesos_gpu_sample_age_seconds", &[]), Some(20.0));
    assert_eq!(
        story.value("mesos_gpu_container_gpu", &[]),
        Some(1.0),
        "the books are known"
    );
    let failures =
        |story: &mut Story, reason| story.value("mesos_gpu_nvml_failures_total", &[("reason", reason)]);
    assert_eq!(failures(&mut story, "timeout"), Some(1.0));
    assert_eq!(failures(&mut story, "stuck"), Some(3.0));

    story.nvml.lift();
    story.tell(vec![gpu_sample(&proc_gpu(0), 80, 2000, &[])]);
    story.samples(1);
    assert_eq!(story.value("mesos_gpu_utilization_ratio", &[]), Some(0.8));
    assert_eq!(story.value("mesos_gpu_sample_age_seconds", &[]), Some(0.0));
}

#[test]
fn a_question_without_an_answer_is_the_only_one_and_its_answer_is_as_old_as_the_question() {
    let mut story = Story::with_gpus(1);
    story.nvml.usual_sample(Answer::Late);
    story.samples(20);
    assert_eq!(story.nvml.sampled(), 1);
    assert_eq!(story.value("mesos_gpu_sample_age_seconds", &[]), None);
    assert_eq!(story.value("mesos_gpu_nvml_up", &[]), None);
    let late = mesos_gpu::domain::estimate::Sample {
        gpus: vec![gpu_sample(&proc_gpu(0), 90, 2000, &[])],
    };
    story.nvml.release_samples(Ok(late));
    story.settle();
    assert_eq!(story.value("mesos_gpu_sample_age_seconds", &[]), Some(95.0));
    assert_eq!(story.value("mesos_gpu_utilization_ratio", &[]), None);
}

#[test]
fn a_gpu_that_is_lost_ages_alone() {
    let mut story = Story::with_gpus(2);
    let told = [0, 1].map(|gpu| gpu_sample(&proc_gpu(gpu), 50, 100, &[]));
    story.tell(told.to_vec());
    story.samples(1);
    story.tell(told[..1].to_vec());
    story.samples(4);
    let text = story.published();
    assert_eq!(gpus_in(&text, &SAMPLED), [uuid(0)]);
    let age = |story: &mut Story, gpu| story.value("mesos_gpu_sample_age_seconds", &[("gpu", &uuid(gpu))]);
    assert_eq!((age(&mut story, 0), age(&mut story, 1)), (Some(0.0), Some(20.0)));
}

#[test]
fn what_a_gpu_does_not_tell_is_left_out_and_the_rest_is_told() {
    let mut story = Story::with_gpus(1);
    story.launch_for("c0", "e", 1.0);
    let mut told = gpu_sample(&proc_gpu(0), 50, 100, &[]);
    (told.memory, told.power, told.processes) = (None, None, None);
    story.tell(vec![told]);
    story.samples(1);
    let text = story.published();
    let there: Vec<&str> = SAMPLED
        .into_iter()
        .filter(|name| !gpus_in(&text, &[name]).is_empty())
        .collect();
    assert_eq!(
        there,
        ["mesos_gpu_utilization_ratio", "mesos_gpu_temperature_celsius"]
    );
}

#[test]
fn of_a_container_nothing_is_said_where_not_every_process_is_known() {
    let families = [
        "mesos_gpu_container_utilization_ratio",
        "mesos_gpu_container_memory_used_bytes",
    ];
    let mut story = Story::with_gpus(1);
    story.launch_for("c0", "e", 1.0);
    story.enter("c0", 7);
    let mut told = gpu_sample(&proc_gpu(0), 50, 100, &[(7, 50, 100)]);
    story.tell(vec![told.clone()]);
    story.samples(1);
    assert_eq!(
        families.map(|name| story.value(name, &[])),
        [Some(0.5), Some(100.0 * MIB)]
    );

    told.processes.as_mut().unwrap()[0].memory = None;
    story.tell(vec![told.clone()]);
    story.samples(1);
    assert_eq!(families.map(|name| story.value(name, &[])), [Some(0.5), None]);

    story.cgroup.fail("cgroup_of", "no such controller");
    story.tell(vec![told]);
    story.samples(1);
    assert_eq!(families.map(|name| story.value(name, &[])), [None, None]);
    story.cgroup.heal();

    story.tell(vec![gpu_sample(&proc_gpu(0), 0, 0, &[])]);
    story.samples(1);
    assert_eq!(
        families.map(|name| story.value(name, &[])),
        [Some(0.0), Some(0.0)],
        "nobody is on it, and that is known"
    );
}

#[test]
fn a_mig_instance_has_its_books_and_its_gpu_the_figures() {
    let machine = FakeMachine::with_gpus(1);
    let access = MigAccess {
        gpu_instance: 1,
        compute_instance: None,
        minor: 12,
    };
    machine.driver.change(|report| report.gpus[0].mig = vec![access]);
    let mut gpu = nvml_gpu(0, &proc_gpu(0));
    gpu.mig = Some(vec![NvmlMig {
        uuid: UnitId::new("MIG-1"),
        gpu_instance: 1,
        compute_instance: 0,
        memory_bytes: Some(18 << 30),
        name: Some("NVIDIA H200 MIG 1g.18gb".to_owned()),
        processes: Some(Vec::new()),
    }]);
    machine
        .nvml
        .usual(Answer::Now(Ok(survey("580.159.04", vec![gpu]))));
    let mut story = Story::on(machine);
    let instance = UnitId::new("MIG-1");
    story
        .state
        .ledger
        .adopt(&id("c0"), std::slice::from_ref(&instance));
    let mut told = gpu_sample(&proc_gpu(0), 0, 100, &[]);
    told.utilization = None;
    story.tell(vec![told]);
    story.samples(1);
    let gpu = uuid(0);
    assert_eq!(story.jobs.last()[&0].iter().collect::<Vec<_>>(), ["c0"]);
    assert_eq!(story.value("mesos_gpu_held", &[("gpu", "MIG-1")]), Some(1.0));
    let parent = [("gpu", "MIG-1"), ("parent", gpu.as_str())];
    assert_eq!(story.value("mesos_gpu_info", &parent), Some(1.0));
    assert_eq!(
        story.value("mesos_gpu_power_watts", &[("gpu", &gpu)]),
        Some(76.54)
    );
    assert_eq!(gpus_in(&story.published(), &SAMPLED[5..]), Vec::<String>::new());
}

#[test]
fn a_machine_without_gpus_is_not_asked_and_fails_at_nothing() {
    let mut story = Story::with_gpus(0);
    let failure = NvmlFailure::Library {
        library: "libnvidia-ml.so.1".to_owned(),
        reason: "no such file".to_owned(),
    };
    story.nvml.usual_sample(Answer::Now(Err(failure)));
    mesos_gpu::agent::sampling::watch(&mut story.agent.state);
    story.pass(INTERVAL);
    assert_eq!(story.nvml.sampled(), 0);
    assert_eq!(story.value("mesos_gpu_advertised", &[]), Some(0.0));
    assert_eq!(story.value("mesos_gpu_nvml_up", &[]), None);
    let labels = [("reason", "library")];
    assert_eq!(story.value("mesos_gpu_nvml_failures_total", &labels), Some(0.0));
    assert_eq!(
        gpus_in(&story.published(), &["mesos_gpu_info"]),
        Vec::<String>::new()
    );
}

#[test]
fn a_driver_that_fails_is_counted_by_its_reason() {
    let mut story = Story::with_gpus(1);
    let mismatch = NvmlFailure::VersionMismatch {
        call: "nvmlInit_v2".to_owned(),
    };
    story.nvml.usual_sample(Answer::Now(Err(mismatch)));
    story.samples(2);
    assert_eq!(story.value("mesos_gpu_nvml_up", &[]), Some(0.0));
    let labels = [("reason", "version_mismatch")];
    assert_eq!(story.value("mesos_gpu_nvml_failures_total", &labels), Some(2.0));
}

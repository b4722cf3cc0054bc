// SPDX-License-Identifier: Apache-2.0
//! A GPU that is cut into MIG instances is handed out as those: its node together with the two that guard the instance.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mesos_gpu::agent::discovery::{Source, discover};
use mesos_gpu::config::Mode;
use mesos_gpu::domain::gpu::{UnitId, UnitKind};
use mesos_gpu::ports::driver_proc::{MigAccess, ProcGpu};
use mesos_gpu::ports::nvml::{NvmlFailure, NvmlMig};
use std::time::Duration;
use support::agent::FakeAgent;
use support::driver_proc::proc_gpu;
use support::machine::FakeMachine;
use support::nvml::{Answer, nvml_gpu, survey};
use support::{FakeDriverProc, FakeNvml};

const WAIT: Duration = Duration::from_secs(5);

/// GPU 0 is whole, GPU 1 is cut into the GPU instances 1 and 2.
fn gpus() -> Vec<ProcGpu> {
    let access = |gpu_instance, compute_instance, minor| MigAccess {
        gpu_instance,
        compute_instance,
        minor,
    };
    let mig = vec![
        access(1, None, 12),
        access(1, Some(0), 13),
        access(2, None, 21),
        access(2, Some(0), 22),
    ];
    vec![proc_gpu(0), ProcGpu { mig, ..proc_gpu(1) }]
}

fn nvml() -> FakeNvml {
    let instance = |gpu_instance| NvmlMig {
        uuid: UnitId::new(&format!("MIG-{gpu_instance}")),
        gpu_instance,
        compute_instance: 0,
        memory_bytes: Some(1 << 30),
        name: Some("NVIDIA H200 MIG 1g.18gb".to_owned()),
        processes: Some(Vec::new()),
    };
    let mut cut = nvml_gpu(1, &proc_gpu(1));
    cut.mig = Some(vec![instance(1), instance(2)]);
    FakeNvml::new(Answer::Now(Ok(survey(
        "580.159.04",
        vec![nvml_gpu(0, &proc_gpu(0)), cut],
    ))))
}

fn agent() -> FakeAgent {
    let machine = FakeMachine {
        driver: FakeDriverProc::with_gpus("580.159.04", gpus()),
        nvml: nvml(),
        ..FakeMachine::with_gpus(2)
    };
    for minor in [12, 13, 21, 22] {
        machine
            .nodes
            .put(&format!("nvidia-caps/nvidia-cap{minor}"), 241, minor);
    }
    FakeAgent::on(machine, Mode::Exclusive)
}

#[test]
fn a_cut_gpu_is_its_instances() {
    let found = discover(&FakeDriverProc::with_gpus("580.159.04", gpus()), &nvml(), WAIT);
    let ids: Vec<&str> = found
        .inventory
        .units()
        .iter()
        .map(|unit| unit.id.as_str())
        .collect();
    assert_eq!(ids, [proc_gpu(0).uuid.as_str(), "MIG-1", "MIG-2"]);
    assert_eq!(found.source, Source::Nvml);
    let UnitKind::Mig { parent, profile, .. } = &found.inventory.units()[1].kind else {
        panic!("a MIG instance")
    };
    assert_eq!((parent, profile.as_deref()), (&proc_gpu(1).uuid, Some("1g.18gb")));
}

#[test]
fn where_nvml_does_not_answer_only_whole_gpus_are_handed_out() {
    let failure = NvmlFailure::Call {
        call: "nvmlInit_v2".to_owned(),
        reason: "unknown error".to_owned(),
    };
    let found = discover(
        &FakeDriverProc::with_gpus("580.159.04", gpus()),
        &FakeNvml::new(Answer::Now(Err(failure))),
        WAIT,
    );
    assert_eq!(found.inventory.units().len(), 1);
    assert_eq!(found.source, Source::Driver);
    assert!(
        found.inventory.problems[0].contains("MIG"),
        "{:?}",
        found.inventory.problems
    );
}

#[test]
fn instances_of_one_gpu_share_its_node_and_nothing_else() {
    let mut agent = agent();
    agent.launch("whole", 1.0).unwrap();
    let environment = agent.launch("a", 1.0).unwrap();
    assert_eq!(environment["NVIDIA_VISIBLE_DEVICES"], "MIG-1");
    agent.launch("b", 1.0).unwrap();
    let nodes = |name: &str| {
        let mut open = agent.open(name);
        open.retain(|device| device.starts_with("241:") || device == "195:1");
        open.sort();
        open
    };
    assert_eq!(nodes("a"), ["195:1", "241:12", "241:13"]);
    assert_eq!(nodes("b"), ["195:1", "241:21", "241:22"]);
}

#[test]
fn giving_one_instance_back_keeps_the_gpus_node_for_the_other() {
    let mut agent = agent();
    agent.launch("whole", 1.0).unwrap();
    agent.launch("a", 2.0).unwrap();
    agent.update("a", 1.0).unwrap();
    let open = agent.open("a");
    assert!(
        open.contains(&"195:1".to_owned()) && open.contains(&"241:12".to_owned()),
        "{open:?}"
    );
    assert!(!open.contains(&"241:21".to_owned()), "{open:?}");
}

#[test]
fn recovery_tells_the_instances_of_one_gpu_apart() {
    let mut before = agent();
    before.launch("whole", 1.0).unwrap();
    before.launch("a", 1.0).unwrap();
    let mut agent = before.restart();
    agent.recover(&["whole", "a"], &[]).unwrap();
    assert!(!agent.state.ledger.is_held(&UnitId::new("MIG-2")));
    assert!(agent.state.ledger.is_held(&UnitId::new("MIG-1")));
}

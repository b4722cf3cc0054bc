// SPDX-License-Identifier: Apache-2.0
//! GPUs that vanish, fail, come back, or are used by strangers, while the agent runs and over its restarts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mesos_gpu::agent::health;
use mesos_gpu::config::Mode;
use mesos_gpu::domain::gpu::UnitId;
use mesos_gpu::domain::ledger::Phase;
use mesos_gpu::ports::nvml::{GpuProblem, NvmlFailure};
use support::agent::FakeAgent;
use support::driver_proc::proc_gpu;
use support::machine::FakeMachine;
use support::nvml::{Answer, nvml_gpu, survey};

/// One look at the GPUs.
fn look(agent: &mut FakeAgent) {
    agent.job(health::watch);
}

fn advertised(count: u8) -> Vec<UnitId> {
    (0..count).map(|n| proc_gpu(n).uuid).collect()
}

#[test]
fn a_gpu_that_vanishes_is_set_aside_and_served_again_when_it_is_back() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.driver.change(|report| report.gpus.truncate(1));
    look(&mut agent);
    assert!(matches!(agent.phase(1), Phase::Sick(_)));
    let error = agent.launch("a", 2.0).unwrap_err().to_string();
    assert!(
        error.contains("1 of 2 free") && error.contains("set aside: the driver does not list it"),
        "{error}"
    );
    agent.end("a");
    agent.driver.change(|report| report.gpus.push(proc_gpu(1)));
    look(&mut agent);
    agent.launch("b", 2.0).unwrap();
}

#[test]
fn whoever_holds_a_gpu_keeps_it_while_it_is_sick() {
    let mut agent = FakeAgent::with_gpus(1);
    agent.launch("a", 1.0).unwrap();
    agent.driver.change(|report| report.gpus.clear());
    let lost = NvmlFailure::Call {
        call: "nvmlInit_v2".to_owned(),
        reason: "driver not loaded".to_owned(),
    };
    agent.nvml.usual(Answer::Now(Err(lost)));
    look(&mut agent);
    assert_eq!(agent.phase(0), Phase::Held);
    agent.end("a");
}

#[test]
fn a_gpu_that_nvml_reports_as_lost_is_set_aside_and_the_others_are_served() {
    let mut agent = FakeAgent::with_gpus(3);
    let mut sick = survey(
        "580.159.04",
        vec![nvml_gpu(0, &proc_gpu(0)), nvml_gpu(2, &proc_gpu(2))],
    );
    let text = "GPU 1 is lost".to_owned();
    sick.problems.push(GpuProblem {
        uuid: Some(proc_gpu(1).uuid),
        pci: None,
        text,
    });
    agent.nvml.usual(Answer::Now(Ok(sick)));
    look(&mut agent);
    assert_eq!(agent.phase(1), Phase::Sick("GPU 1 is lost".to_owned()));
    agent.launch("a", 2.0).unwrap();
    assert_eq!(agent.open_gpus("a"), [0, 2]);
}

#[test]
fn eight_advertised_and_seven_alive_is_no_reason_not_to_start() {
    let machine = FakeMachine::with_gpus(8);
    machine.driver.change(|report| drop(report.gpus.remove(3)));
    let mut agent = FakeAgent::advertising(machine, Mode::Exclusive, advertised(8));
    look(&mut agent);
    assert_eq!(agent.state.advertised.units.len(), 8, "the total stays");
    assert!(matches!(agent.phase(3), Phase::Sick(_)));
    let metrics = agent.metrics.last();
    let lost = format!("mesos_gpu_set_aside{{uuid=\"{}\"}} 1", proc_gpu(3).uuid);
    for line in [
        "mesos_gpu_advertised 8",
        "mesos_gpu_gpus{phase=\"free\"} 7",
        &lost,
    ] {
        assert!(
            metrics.lines().any(|is| is == line),
            "{line} is not in\n{metrics}"
        );
    }
    agent.launch("a", 7.0).unwrap();
    let error = agent.launch("b", 1.0).unwrap_err().to_string();
    let lost = format!("0 of 8 free, {} set aside: the driver does not", proc_gpu(3).uuid);
    assert!(error.contains(&lost), "{error}");
    agent.end("b");
    agent.driver.change(|report| report.gpus.insert(3, proc_gpu(3)));
    look(&mut agent);
    agent.launch("b", 1.0).unwrap();
    assert_eq!(agent.open_gpus("b"), [3]);
}

#[test]
fn a_gpu_that_was_not_advertised_is_reachable_by_nobody() {
    let mut agent = FakeAgent::advertising(FakeMachine::with_gpus(3), Mode::Exclusive, advertised(2));
    look(&mut agent);
    agent.launch("a", 2.0).unwrap();
    assert_eq!(agent.open_gpus("a"), [0, 1]);
    assert!(agent.launch("b", 1.0).is_err());
}

#[test]
fn a_gpu_that_a_stranger_computes_on_is_not_handed_out() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.processes(&[(0, &[77])]);
    look(&mut agent);
    assert_eq!(
        agent.phase(0),
        Phase::Free,
        "before recovery it may be one of ours"
    );
    agent.recover(&[], &[]).unwrap();
    look(&mut agent);
    assert!(matches!(agent.phase(0), Phase::Foreign(_)));
    agent.launch("a", 1.0).unwrap();
    assert_eq!(agent.open_gpus("a"), [1]);
    let error = agent.launch("b", 1.0).unwrap_err().to_string();
    assert!(error.contains("used by processes [77]"), "{error}");
    agent.end("b");
    agent.processes(&[]);
    look(&mut agent);
    agent.launch("c", 1.0).unwrap();
}

#[test]
fn a_hung_or_silent_nvml_sets_nothing_aside() {
    let mut agent = FakeAgent::with_gpus(2);
    let failure = NvmlFailure::Call {
        call: "nvmlDeviceGetCount_v2".to_owned(),
        reason: "unknown error".to_owned(),
    };
    agent.nvml.usual(Answer::Now(Err(failure)));
    look(&mut agent);
    assert_eq!(agent.free(), 2);
}

#[test]
fn a_gpu_that_is_lost_before_it_can_say_its_name_is_told_by_its_absence() {
    let mut agent = FakeAgent::with_gpus(2);
    let mut sick = survey("580.159.04", vec![nvml_gpu(0, &proc_gpu(0))]);
    sick.problems.push(GpuProblem::new("GPU 1: it is lost"));
    agent.nvml.usual(Answer::Now(Ok(sick)));
    look(&mut agent);
    assert_eq!(agent.phase(0), Phase::Free);
    assert_eq!(
        agent.phase(1),
        Phase::Sick("NVML does not list it: GPU 1: it is lost".to_owned())
    );
}

#[test]
fn after_an_upgrade_under_a_running_machine_no_gpu_is_handed_out_and_the_log_says_reboot() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.launch("running", 1.0).unwrap();
    let mismatch = NvmlFailure::VersionMismatch {
        call: "nvmlInit_v2".to_owned(),
    };
    agent.nvml.usual(Answer::Now(Err(mismatch)));
    look(&mut agent);
    assert_eq!(agent.phase(0), Phase::Held, "what runs goes on");
    let error = agent.launch("new", 1.0).unwrap_err().to_string();
    assert!(error.contains("reboot"), "{error}");
}

#[test]
fn a_gpu_that_is_lost_after_it_told_its_address_is_told_by_that() {
    let mut agent = FakeAgent::with_gpus(3);
    let mut sick = survey("580.159.04", vec![nvml_gpu(0, &proc_gpu(0))]);
    sick.problems.push(GpuProblem {
        uuid: None,
        pci: Some(proc_gpu(1).pci),
        text: "GPU 1: it is lost".to_owned(),
    });
    agent.nvml.usual(Answer::Now(Ok(sick)));
    look(&mut agent);
    assert!(matches!(agent.phase(1), Phase::Sick(_)));
    assert_eq!(
        agent.phase(2),
        Phase::Free,
        "the driver lists it, and nobody complains"
    );
}

#[test]
fn a_sick_gpu_stays_aside_when_its_container_ends() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.launch("a", 1.0).unwrap();
    agent.driver.change(|report| drop(report.gpus.remove(0)));
    look(&mut agent);
    agent.end("a");
    assert!(matches!(agent.phase(0), Phase::Sick(_)));
}

#[test]
fn a_gpu_that_died_with_its_container_is_not_handed_out_before_its_health_is_known() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.launch("a", 1.0).unwrap();
    agent.driver.change(|report| drop(report.gpus.remove(0)));
    agent.end("a");
    assert!(matches!(agent.phase(0), Phase::Sick(_)));
    agent.launch("b", 1.0).unwrap();
    assert_eq!(agent.open_gpus("b"), [1]);
}

// SPDX-License-Identifier: Apache-2.0
//! A GPU that was given back is handed out again when nobody computes on it, and launches wait for that.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mesos_gpu::domain::ledger::Phase;
use mesos_gpu::ports::nvml::NvmlFailure;
use std::sync::mpsc::TryRecvError;
use std::time::Duration;
use support::agent::{FakeAgent, PATIENCE, answer, config, environment, id};
use support::nvml::Answer;

const SOON: Duration = Duration::from_secs(5);

#[test]
fn a_gpu_is_free_only_when_its_last_process_is_gone() {
    let mut agent = FakeAgent::with_gpus(1);
    agent.launch("a", 1.0).unwrap();
    agent.processes(&[(0, &[41, 42])]);
    agent.end("a");
    assert_eq!(agent.phase(0), Phase::Releasing);
    agent.pass(SOON);
    assert_eq!(agent.phase(0), Phase::Releasing);
    agent.processes(&[]);
    agent.pass(SOON);
    assert_eq!(agent.phase(0), Phase::Free);
}

#[test]
fn a_launch_waits_for_a_gpu_that_is_being_released() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.launch("a", 2.0).unwrap();
    agent.processes(&[(0, &[41]), (1, &[41])]);
    agent.end("a");
    agent.make_cgroup("b");
    let told = agent.prepare_later(&id("b"), &config(2.0));
    assert_eq!(told.try_recv().map(|_| ()), Err(TryRecvError::Empty));
    agent.processes(&[(1, &[41])]);
    agent.pass(SOON);
    assert_eq!(
        told.try_recv().map(|_| ()),
        Err(TryRecvError::Empty),
        "one of two is not enough"
    );
    agent.processes(&[]);
    agent.pass(SOON);
    let variables = environment(answer(&told).unwrap()).unwrap();
    assert_eq!(variables["NVIDIA_VISIBLE_DEVICES"].split(',').count(), 2);
    assert_eq!(agent.open_gpus("b"), [0, 1]);
}

#[test]
fn waiting_has_an_end_and_a_gpu_that_stays_busy_is_set_aside_with_the_reason() {
    let mut agent = FakeAgent::with_gpus(1);
    agent.launch("a", 1.0).unwrap();
    agent.processes(&[(0, &[41])]);
    agent.end("a");
    agent.make_cgroup("b");
    let told = agent.prepare_later(&id("b"), &config(1.0));
    agent.pass(PATIENCE + SOON);
    let error = answer(&told).unwrap_err().to_string();
    assert!(
        error.contains("1 more wanted, 0 of 1 free, 1 being released"),
        "{error}"
    );
}

#[test]
fn first_come_first_served_and_who_ends_while_waiting_leaves_the_queue() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.launch("a", 2.0).unwrap();
    agent.processes(&[(0, &[41]), (1, &[41])]);
    agent.end("a");
    for name in ["b", "c"] {
        agent.make_cgroup(name);
    }
    let first = agent.prepare_later(&id("b"), &config(1.0));
    let second = agent.prepare_later(&id("c"), &config(1.0));
    agent.make_cgroup("d");
    let error = agent.prepare(&id("d"), &config(1.0)).unwrap_err().to_string();
    assert!(
        error.contains("2 being released; 2 are for containers that asked before"),
        "nothing is left for a third: {error}"
    );
    agent.cleanup("b").unwrap();
    assert!(answer(&first).is_err());
    agent.processes(&[]);
    agent.pass(SOON);
    assert!(answer(&second).is_ok());
    assert_eq!(agent.free(), 1);
}

#[test]
fn where_nvml_cannot_tell_the_end_of_the_container_is_enough_but_not_a_shrink() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.launch("a", 2.0).unwrap();
    let failure = NvmlFailure::Call {
        call: "nvmlInit_v2".to_owned(),
        reason: "unknown error".to_owned(),
    };
    agent.nvml.usual(Answer::Now(Err(failure)));
    agent.update("a", 1.0).unwrap();
    agent.pass(SOON);
    assert_eq!(agent.free(), 0, "the old task may have kept the device open");
    agent.end("a");
    agent.pass(SOON);
    assert_eq!(agent.free(), 2);
}

#[test]
fn a_growth_waits_too_and_a_second_update_waits_behind_it() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.launch("a", 1.0).unwrap();
    agent.launch("b", 1.0).unwrap();
    agent.processes(&[(1, &[41])]);
    agent.end("b");
    let grow = agent.update_later("a", 2.0);
    let shrink = agent.update_later("a", 1.0);
    assert_eq!(grow.try_recv().map(|_| ()), Err(TryRecvError::Empty));
    assert_eq!(shrink.try_recv().map(|_| ()), Err(TryRecvError::Empty));
    agent.processes(&[]);
    agent.pass(SOON);
    assert!(answer(&grow).is_ok() && answer(&shrink).is_ok());
    assert_eq!(agent.open_gpus("a"), [0]);
}

#[test]
fn back_to_back_containers_on_all_gpus_never_fail() {
    let mut agent = FakeAgent::with_gpus(4);
    for round in 0..500_u32 {
        let name = format!("c{round}");
        agent.make_cgroup(&name);
        let told = agent.prepare_later(&id(&name), &config(4.0));
        agent.processes(&[]);
        agent.pass(SOON);
        assert!(answer(&told).is_ok(), "round {round}");
        agent.processes(&[(0, &[round + 1]), (3, &[round + 1])]);
        agent.end(&name);
    }
}

#[test]
fn with_the_process_check_off_a_machines_own_processes_keep_no_gpu_back() {
    let mut agent = FakeAgent::with_gpus(1);
    agent.state.patience.check_processes = false;
    agent.processes(&[(0, &[41])]);
    agent.launch("a", 1.0).unwrap();
    agent.end("a");
    assert_eq!(agent.phase(0), Phase::Free);
}

#[test]
fn nvml_that_gives_no_answer_holds_up_a_dead_containers_gpus_for_seconds_and_a_live_ones_until_its_end() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.launch("a", 2.0).unwrap();
    agent.launch("b", 0.0).unwrap();
    agent.nvml.usual(Answer::Never);
    agent.update("a", 1.0).unwrap();
    agent.pass(2 * SOON);
    assert_eq!(agent.free(), 0, "the old task may have kept the device open");
    agent.make_cgroup("c");
    let told = agent.prepare_later(&id("c"), &config(2.0));
    assert!(answer(&told).is_err(), "one is held");
    agent.end("a");
    let told = agent.prepare_later(&id("c"), &config(2.0));
    agent.pass(SOON + SOON / 2);
    assert!(answer(&told).is_ok());
}

#[test]
fn a_container_that_grows_again_takes_its_own_back_without_waiting() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.launch("a", 2.0).unwrap();
    let failure = NvmlFailure::Call {
        call: "nvmlInit_v2".to_owned(),
        reason: "unknown error".to_owned(),
    };
    agent.nvml.usual(Answer::Now(Err(failure)));
    agent.update("a", 1.0).unwrap();
    assert_eq!(agent.open_gpus("a"), [0]);
    agent.update("a", 2.0).unwrap();
    assert_eq!(agent.open_gpus("a"), [0, 1]);
    agent.end("a");
    agent.pass(SOON);
    assert_eq!(agent.free(), 2);
}

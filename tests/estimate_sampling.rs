// SPDX-License-Identifier: Apache-2.0
//! Stories of the estimate in an agent: what is sampled, whose a process is, what is offered and whose guests must go.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "estimate_sampling/guests.rs"]
mod guests;
#[path = "estimate_sampling/promised.rs"]
mod promised;
#[path = "estimate_sampling/silence.rs"]
mod silence;
#[path = "estimate_sampling/story.rs"]
mod story;
mod support;

use mesos_gpu::agent::sampling::{self, Estimation};
use mesos_gpu::domain::gpu::UnitId;
use mesos_gpu::ports::driver_proc::MigAccess;
use mesos_gpu::ports::nvml::NvmlMig;
use std::time::Duration;
use story::{Story, quiet, uuid};
use support::agent::id;
use support::driver_proc::proc_gpu;
use support::machine::FakeMachine;
use support::nvml::{Answer, gpu_sample, nvml_gpu, survey};

#[test]
fn without_oversubscription_nothing_is_sampled_and_nothing_offered() {
    let mut story = Story::held(1);
    story.state.estimate = Estimation::off();
    sampling::watch(&mut story.agent.state);
    story.pass(Duration::from_secs(3600));
    assert_eq!((story.nvml.sampled(), story.resources()), (0, vec![]));
}

#[test]
fn held_gpus_that_are_idle_for_a_window_are_offered_whole_revocable_unreserved_and_unallocated() {
    let mut story = Story::held(3);
    story.end("c2");
    story.tell(quiet(3));
    story.looks(12);
    assert_eq!(story.resources(), []);
    story.looks(1);
    assert_eq!(story.offered(), [uuid(0), uuid(1)], "the third is free");
    let [gpus] = story.resources().try_into().unwrap();
    assert_eq!((gpus.name.as_str(), gpus.scalar.unwrap().value), ("gpus", 2.0));
    assert!(gpus.revocable.is_some() && gpus.allocation_info.is_none());
    assert!(gpus.role.is_none() && gpus.reservations.is_empty());
    assert_eq!(sampling::oversubscribable(&story.state, 2).unwrap(), []);
}

#[test]
fn books_in_doubt_fail_the_estimate_instead_of_guessing() {
    let mut story = Story::idle(1);
    story.state.poison("a verb panicked");
    let error = sampling::oversubscribable(&story.state, 0).unwrap_err();
    assert!(error.to_string().contains("a verb panicked"), "{error}");
    assert_eq!(story.offered(), []);
}

#[test]
fn what_changes_in_the_books_between_two_looks_counts_at_once() {
    let mut story = Story::idle(2);
    story.end("c0");
    assert_eq!(story.offered(), [uuid(1)]);
    story.launch("new", 1.0).unwrap();
    assert_eq!(story.offered(), [uuid(1)], "the new one has just begun");
    story.state.guests.add(&id("guest"), &[uuid(1)]);
    assert_eq!(story.offered(), []);
}

#[test]
fn twenty_gib_held_at_0_percent_is_not_idle() {
    let mut story = Story::held(2);
    let holding = gpu_sample(&proc_gpu(0), 0, 20 << 10, &[(7, 0, 20 << 10)]);
    story.tell(vec![holding, gpu_sample(&proc_gpu(1), 0, 526, &[(8, 0, 518)])]);
    story.looks(100);
    assert_eq!(story.offered(), [uuid(1)]);
}

#[test]
fn a_mig_instance_has_no_utilisation_and_is_never_offered() {
    let machine = FakeMachine::with_gpus(1);
    let cut = vec![MigAccess {
        gpu_instance: 1,
        compute_instance: None,
        minor: 12,
    }];
    machine.driver.change(|report| report.gpus[0].mig = cut);
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
    let instance = story.state.inventory.units()[0].id.clone();
    assert_eq!(instance, UnitId::new("MIG-1"));
    story
        .state
        .ledger
        .adopt(&id("c0"), std::slice::from_ref(&instance));
    // Even if something spoke in its name.
    let mut told = gpu_sample(&proc_gpu(0), 0, 0, &[]);
    told.uuid = instance.clone();
    for gpus in [vec![gpu_sample(&proc_gpu(0), 0, 0, &[])], vec![told]] {
        story.tell(gpus);
        story.looks(100);
        assert_eq!((story.offered(), story.resources()), (vec![], vec![]));
    }
}

#[test]
fn a_gpu_that_is_set_aside_is_not_offered() {
    let mut story = Story::idle(1);
    story
        .state
        .ledger
        .set_sick(&uuid(0), Some("it is lost".to_owned()));
    assert_eq!(story.offered(), []);
}

#[test]
fn a_correction_for_another_reason_pauses_the_gpu() {
    let mut story = Story::idle(1);
    sampling::corrected(&mut story.agent.state, &uuid(0));
    assert_eq!(story.offered(), []);
    story.looks(59);
    assert_eq!(story.offered(), []);
    story.looks(1);
    assert_eq!(story.offered(), [uuid(0)]);
}

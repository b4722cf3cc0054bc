// SPDX-License-Identifier: Apache-2.0
//! The two ways to send a guest away, and that they reach nobody else.

use crate::house::{both, limitation, of_executor};
use crate::story::{Story, quiet, uuid};
use crate::support::agent::{ROOT, id};
use crate::support::driver_proc::proc_gpu;
use crate::support::nvml::gpu_sample;
use mesos_gpu::agent::corrections::Correction;
use mesos_gpu::domain::container::Executor;

const PREEMPTED: i32 = 17;

fn why() -> String {
    format!(
        "{} is needed by its owner: its owner computes 60 % of the time",
        uuid(0)
    )
}

fn correction(name: &str) -> Correction {
    Correction {
        container: id(name),
        executor: Executor {
            framework: "framework".to_owned(),
            id: name.to_owned(),
        },
        why: why(),
    }
}

/// `g0` and `g1`, each for an executor of its name, on GPUs 0 and 1 of three.
fn visited() -> Story {
    let mut story = Story::idle(3);
    for name in ["g0", "g1"] {
        story.enter_as(name, &of_executor(name, both(0.0, 1.0))).unwrap();
    }
    story
}

#[test]
fn without_a_controller_the_watch_of_that_guest_is_answered_at_the_look_that_sees_its_owner() {
    let mut story = visited();
    let watches = ["g0", "g1", "c0", "c1"].map(|name| story.watch(name));
    story.looks(2);
    assert!(watches.iter().all(|watch| limitation(watch).is_none()));
    story.owner_computes(0, 3);
    story.looks(1);
    assert_eq!(limitation(&watches[0]), Some((PREEMPTED, why())));
    story.looks(5);
    assert!(
        watches.iter().all(|watch| limitation(watch).is_none()),
        "nobody else, and once"
    );
    assert_eq!(story.holds("c0"), [uuid(0)]);
    story.end("g0");
    assert_eq!(
        (story.guests_on(0), story.guests_on(1)),
        (vec![], vec!["g1".to_owned()])
    );
    assert!(!story.state.evictions.is_going(&id("g0")));
}

#[test]
fn with_a_controller_it_is_told_at_once_and_the_watch_is_left_alone_when_the_guest_ends_in_time() {
    let mut story = visited();
    let watch = story.watch("g0");
    let asked = story.poll();
    story.looks(3);
    assert!(asked.try_recv().is_err(), "there is nothing to say");
    story.owner_computes(0, 3);
    story.looks(1);
    assert_eq!(asked.try_recv().unwrap().unwrap(), [correction("g0")]);
    let asked = story.poll();
    story.end("g0");
    story.looks(5);
    assert!(asked.try_recv().is_err() && limitation(&watch).is_none());
}

#[test]
fn a_guest_that_outlives_its_correction_by_a_look_is_ended_by_its_watch() {
    let mut story = visited();
    let (g0, g1) = (story.watch("g0"), story.watch("g1"));
    let _asked = story.poll();
    story.owner_computes(0, 3);
    story.looks(1);
    assert_eq!(limitation(&g0), None);
    story.looks(1);
    assert_eq!(limitation(&g0), Some((PREEMPTED, why())));
    assert_eq!(limitation(&g1), None);
}

#[test]
fn a_correction_for_a_guest_that_ended_is_not_told_any_more() {
    let mut story = visited();
    let asked = story.poll();
    story.owner_computes(0, 3);
    story.looks(1);
    assert_eq!(asked.try_recv().unwrap().unwrap().len(), 1);
    // Mesos has not asked again when the next must go.
    story.owner_computes(1, 3);
    story.looks(1);
    assert!(story.state.evictions.is_going(&id("g1")));
    story.end("g1");
    assert!(story.poll().try_recv().is_err());
}

#[test]
fn who_runs_for_no_executor_is_ended_by_its_watch_also_with_a_controller() {
    let mut story = Story::idle(1);
    story.enter("g", both(0.0, 1.0)).unwrap();
    let (watch, asked) = (story.watch("g"), story.poll());
    story.owner_computes(0, 1);
    story.looks(1);
    assert_eq!(limitation(&watch), Some((PREEMPTED, why())));
    assert!(asked.try_recv().is_err());
}

#[test]
fn a_watch_that_comes_after_the_decision_is_answered_when_it_comes() {
    let mut story = visited();
    story.owner_computes(0, 3);
    story.looks(1);
    let (g1, g0) = (story.watch("g1"), story.watch("g0"));
    assert_eq!(
        (limitation(&g0), limitation(&g1)),
        (Some((PREEMPTED, why())), None)
    );
}

#[test]
fn a_gpu_that_runs_short_of_memory_loses_its_guest_and_says_how_much_is_left() {
    let mut story = visited();
    let watch = story.watch("g1");
    story.cgroup.enter(&id("g1").cgroup(ROOT), 101);
    let mut told = quiet(3);
    let full = (141 << 10) - 100;
    told[1] = gpu_sample(&proc_gpu(1), 90, full, &[(101, 90, full)]);
    story.tell(told);
    story.looks(1);
    let (reason, message) = limitation(&watch).unwrap();
    assert_eq!(reason, PREEMPTED);
    let want = format!(
        "{} is needed by its owner: only 100 of its 144384 MiB of memory are free",
        uuid(1)
    );
    assert_eq!(message, want);
}

#[test]
fn a_guest_of_two_gpus_is_sent_away_once_whichever_owner_comes_first() {
    let mut story = Story::idle(2);
    story.enter_as("g", &of_executor("g", both(0.0, 2.0))).unwrap();
    let asked = story.poll();
    story.owner_computes(1, 2);
    story.looks(1);
    let told = asked.try_recv().unwrap().unwrap();
    assert_eq!(told.len(), 1);
    assert!(told[0].why.starts_with(uuid(1).as_str()), "{}", told[0].why);
    let asked = story.poll();
    story.owner_computes(0, 2);
    story.looks(1);
    assert!(asked.try_recv().is_err());
    let (_, message) = limitation(&story.watch("g")).unwrap();
    assert!(
        message.starts_with(uuid(1).as_str()),
        "the first reason stays: {message}"
    );
    story.cleanup("g").unwrap();
    assert!(story.state.guests.is_empty() && story.open("g").is_empty());
    assert_eq!((story.open_gpus("c0"), story.open_gpus("c1")), (vec![0], vec![1]));
}

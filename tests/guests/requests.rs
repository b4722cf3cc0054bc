// SPDX-License-Identifier: Apache-2.0
//! Regular requests beside guests: GPUs without guests go first, and no request waits for a guest longer than it takes to end.

use crate::house::{both, limitation};
use crate::story::{SOON, Story, uuid};
use crate::support::agent::{PATIENCE, answer};
use mesos_gpu::agent::health;
use mesos_gpu::domain::estimate::{Busy, Verdict};
use mesos_gpu::domain::ledger::Phase;
use std::sync::mpsc::TryRecvError;

/// `g<n>` on GPU n, and the first `ended` owners are gone.
fn left_to_guests(count: u8, ended: u8) -> Story {
    let mut story = Story::idle(count);
    for n in 0..count {
        story.enter(&format!("g{n}"), both(0.0, 1.0)).unwrap();
        assert_eq!(story.guests_on(n), [format!("g{n}")]);
    }
    for n in 0..ended {
        story.end(&format!("c{n}"));
    }
    story
}

#[test]
fn when_its_owner_ends_a_guest_stays_and_the_gpu_is_on_its_way_back_for_as_long_as_that() {
    let mut story = left_to_guests(1, 1);
    assert_eq!(
        (story.phase(0), story.open_gpus("g0")),
        (Phase::Releasing, vec![0])
    );
    // Its processes are no strangers', and no patience ends.
    story.recover(&[], &[]).unwrap();
    story.processes(&[(0, &[41])]);
    for _ in 0..3 {
        story.pass(2 * PATIENCE);
        health::watch(&mut story.agent.state);
        story.settle();
    }
    assert_eq!(
        (story.phase(0), story.guests_on(0)),
        (Phase::Releasing, vec!["g0".to_owned()])
    );
    story.processes(&[]);
    story.end("g0");
    story.pass(SOON);
    assert_eq!(story.phase(0), Phase::Free);
}

#[test]
fn a_gpu_is_free_only_when_the_processes_of_its_guest_are_gone_too() {
    let mut story = left_to_guests(1, 1);
    story.processes(&[(0, &[41])]);
    story.end("g0");
    story.pass(SOON);
    assert_eq!(story.phase(0), Phase::Releasing);
    story.processes(&[]);
    story.pass(SOON);
    assert_eq!(story.phase(0), Phase::Free);
}

#[test]
fn a_request_takes_a_gpu_without_guests_where_there_is_one() {
    let mut story = left_to_guests(2, 2);
    story.end("g1");
    story.pass(SOON);
    let watch = story.watch("g0");
    story.launch("a", 1.0).unwrap();
    assert_eq!((story.open_gpus("a"), limitation(&watch)), (vec![1], None));
}

#[test]
fn a_request_that_needs_the_gpu_of_a_guest_sends_that_one_away_at_once_and_waits_for_its_end() {
    let mut story = left_to_guests(3, 2);
    let watches: Vec<_> = (0..3).map(|n| story.watch(&format!("g{n}"))).collect();
    let told = story.enter_later("a", both(1.0, 0.0));
    let why = format!("{} is needed by container a, which is to hold it", uuid(0));
    assert_eq!(limitation(&watches[0]), Some((17, why)));
    let paused = Verdict::Busy(Busy::Paused);
    assert_eq!(
        story.state.estimate.verdict(&uuid(0)),
        paused,
        "it is not offered again at once"
    );
    story.looks(3);
    assert_eq!((limitation(&watches[1]), limitation(&watches[2])), (None, None));
    assert_eq!(told.try_recv().map(|_| ()), Err(TryRecvError::Empty));
    assert_eq!(story.open_gpus("g0"), [0], "it ends first");
    story.end("g0");
    story.pass(SOON);
    answer(&told).unwrap();
    assert_eq!((story.open_gpus("a"), story.holds("a")), (vec![0], vec![uuid(0)]));
}

#[test]
fn a_request_sends_as_many_guests_away_as_it_needs_and_a_second_one_further_ones() {
    let mut story = left_to_guests(3, 3);
    let watches: Vec<_> = (0..3).map(|n| story.watch(&format!("g{n}"))).collect();
    let first = story.enter_later("a", both(2.0, 0.0));
    let sent =
        |watches: &[_]| -> Vec<bool> { watches.iter().map(|watch| limitation(watch).is_some()).collect() };
    assert_eq!(sent(&watches), [true, true, false]);
    let second = story.enter_later("b", both(1.0, 0.0));
    assert_eq!(sent(&watches), [false, false, true], "each is told once");
    for name in ["g0", "g1", "g2"] {
        story.end(name);
    }
    story.pass(SOON);
    answer(&first).unwrap();
    answer(&second).unwrap();
    assert_eq!(
        (story.open_gpus("a"), story.open_gpus("b")),
        (vec![0, 1], vec![2])
    );
}

#[test]
fn one_guest_on_two_gpus_makes_room_for_two() {
    let mut story = Story::idle(3);
    story.enter("g", both(0.0, 2.0)).unwrap();
    story.enter("h", both(0.0, 1.0)).unwrap();
    for owner in ["c0", "c1", "c2"] {
        story.end(owner);
    }
    let (g, h) = (story.watch("g"), story.watch("h"));
    let told = story.enter_later("a", both(2.0, 0.0));
    assert_eq!((limitation(&g).is_some(), limitation(&h)), (true, None));
    story.end("g");
    story.pass(SOON);
    answer(&told).unwrap();
}

#[test]
fn a_gpu_without_guests_that_is_released_in_a_moment_spares_the_guest_but_not_for_longer_than_a_look() {
    for released in [true, false] {
        let mut story = left_to_guests(2, 2);
        story.processes(&[(1, &[41])]);
        story.end("g1");
        let watch = story.watch("g0");
        let told = story.enter_later("a", both(1.0, 0.0));
        assert_eq!(limitation(&watch), None);
        if released {
            story.processes(&[]);
            story.pass(SOON / 2);
        }
        story.looks(1);
        assert_eq!(
            (told.try_recv().is_ok(), limitation(&watch).is_some()),
            (released, !released)
        );
    }
}

#[test]
fn more_than_there_are_is_refused_and_no_guest_sent_away_for_nothing() {
    let mut story = left_to_guests(2, 1);
    let watch = story.watch("g0");
    let error = story.launch("a", 2.0).unwrap_err().to_string();
    assert!(
        error.contains("2 more wanted, 0 of 2 free, 1 being released"),
        "{error}"
    );
    assert_eq!(limitation(&watch), None);
}

#[test]
fn an_owner_that_gave_its_gpu_back_and_grows_again_gets_it_without_its_guest() {
    let mut story = left_to_guests(1, 0);
    // The owner's own process is still there, so the GPU will not be free for anybody else.
    story.processes(&[(0, &[900])]);
    story.update("c0", 0.0).unwrap();
    assert_eq!(
        (story.phase(0), story.open_gpus("g0")),
        (Phase::Releasing, vec![0])
    );
    let watch = story.watch("g0");
    let told = story.change_later("c0", both(1.0, 0.0));
    assert_eq!(told.try_recv(), Err(TryRecvError::Empty));
    assert!(limitation(&watch).is_some());
    story.end("g0");
    story.pass(SOON);
    answer(&told).unwrap();
    assert_eq!((story.open_gpus("c0"), story.phase(0)), (vec![0], Phase::Held));
}

#[test]
fn with_several_guests_a_gpu_is_on_its_way_until_the_last_has_left() {
    let mut story = left_to_guests(1, 0);
    story.guest("other", 0, 77);
    story.end("c0");
    story.end("g0");
    story.pass(SOON);
    assert_eq!(story.phase(0), Phase::Releasing);
    story.end("other");
    story.pass(SOON);
    assert_eq!(story.phase(0), Phase::Free);
}

// SPDX-License-Identifier: Apache-2.0
//! Guests that are refused: with the reason, and with nothing left of them.

use crate::house::{both, with};
use crate::story::{SOON, Story, uuid};
use crate::support::agent::{FakeAgent, id, resources};
use crate::support::machine::FakeMachine;
use mesos_gpu::agent::sampling::Estimation;
use mesos_gpu::config::Mode;
use mesos_gpu::domain::ledger::Phase;

#[test]
fn a_request_that_is_not_whole_is_refused_with_its_number() {
    let mut story = Story::idle(1);
    let error = story.enter("g", both(0.0, 0.5)).unwrap_err().to_string();
    assert!(error.contains("whole numbers: asked for 0.5"), "{error}");
    assert_eq!(story.guests_on(0), Vec::<String>::new());
}

#[test]
fn without_oversubscription_revocable_gpus_are_refused_and_the_parameter_is_named() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.make_cgroup("g");
    let error = agent
        .prepare(&id("g"), &with(both(0.0, 1.0)))
        .unwrap_err()
        .to_string();
    assert!(error.contains("parameter oversubscribe is off"), "{error}");
    assert_eq!(
        (agent.open("g"), agent.free()),
        (vec![], 2),
        "not even a free one"
    );
    agent.launch("a", 1.0).unwrap();
    let mut story = Story::of(agent);
    story.state.estimate = Estimation::off();
    let error = story.change("a", both(1.0, 1.0)).unwrap_err().to_string();
    assert!(error.contains("parameter oversubscribe is off"), "{error}");
    assert_eq!(story.open_gpus("a"), [0]);
}

#[test]
fn while_it_only_observes_revocable_gpus_are_refused_as_well() {
    let mut story = Story::of(FakeAgent::on(FakeMachine::with_gpus(1), Mode::Observe));
    story.state.estimate = Estimation::off();
    let error = story.enter("g", both(0.0, 1.0)).unwrap_err().to_string();
    assert!(error.contains("parameter oversubscribe is off"), "{error}");
    story.launch("a", 0.0).unwrap();
    let error = story.change("a", both(0.0, 1.0)).unwrap_err().to_string();
    assert!(error.contains("parameter oversubscribe is off"), "{error}");
    story.change("a", resources(1.0)).unwrap();
    assert!(story.cgroup.writes().is_empty());
}

#[test]
fn of_two_kinds_all_or_nothing() {
    let mut story = Story::idle(2);
    story.end("c0");
    for (regular, revocable) in [(1.0, 2.0), (2.0, 1.0)] {
        let error = story
            .enter("m", both(regular, revocable))
            .unwrap_err()
            .to_string();
        assert!(error.contains("container m"), "{error}");
        assert_eq!((story.open("m"), story.free()), (vec![], 1));
        assert!(story.state.guests.is_empty());
        story.end("m");
    }
}

#[test]
fn who_cannot_be_a_guest_does_not_wait_for_what_it_would_hold() {
    let mut story = Story::idle(2);
    story.processes(&[(0, &[41])]);
    story.end("c0");
    assert_eq!(story.phase(0), Phase::Releasing);
    let told = story.enter_later("m", both(1.0, 2.0));
    let error = told.try_recv().unwrap().unwrap_err().to_string();
    assert!(error.contains("only 1 held GPUs are idle"), "{error}");
    assert_eq!(story.state.waiting.wanted(), 0);
}

#[test]
fn a_guest_is_written_down_before_the_kernel_is_told_and_not_after_a_failure() {
    let mut story = Story::idle(1);
    story.cgroup.fail("allow", "permission denied");
    let error = story.enter("g", both(0.0, 1.0)).unwrap_err().to_string();
    assert!(error.contains("permission denied"), "{error}");
    let saves = story.checkpoint.saves();
    let [.., before, after] = saves.as_slice() else {
        panic!("{saves:?}");
    };
    assert_eq!(before.guests, [(id("g"), vec![uuid(0)])].into());
    assert!(after.guests.is_empty() && after.held == before.held);
    assert!(story.state.guests.is_empty());
    story.cgroup.heal();
    story.end("g");
    story.enter("h", both(0.0, 1.0)).unwrap();
}

#[test]
fn who_cannot_be_written_down_is_no_guest_but_can_still_hold() {
    let mut story = Story::idle(2);
    story.end("c0");
    story.pass(SOON);
    story.checkpoint.fail_saving("no space left on device");
    let error = story.enter("g", both(0.0, 1.0)).unwrap_err().to_string();
    assert!(error.contains("could not be written down"), "{error}");
    assert!(story.state.guests.is_empty() && story.open("g").is_empty());
    story.launch("a", 1.0).unwrap();
    story.checkpoint.heal();
    story.end("g");
    story.enter("g", both(0.0, 1.0)).unwrap();
}

#[test]
fn the_nodes_of_unified_memory_are_made_for_a_guest_too_and_one_that_ends_meanwhile_is_none() {
    let mut story = Story::idle(1);
    story.nodes.remove("nvidia-uvm");
    let told = story.begin_to_enter("g", both(0.0, 1.0));
    story.cleanup("g").unwrap();
    story.nodes.put("nvidia-uvm", 238, 0);
    let answer = story.wait_for(&told);
    assert!(
        answer
            .unwrap_err()
            .to_string()
            .contains("ended before it got its GPUs")
    );
    assert!(story.state.guests.is_empty() && story.open("g").is_empty());
}

// SPDX-License-Identifier: Apache-2.0
//! The agent comes back beside owners and guests.

use crate::house::{both, limitation};
use crate::story::{SOON, Story, logged, uuid};
use crate::support::agent::id;
use mesos_gpu::agent::sampling::Estimation;
use mesos_gpu::domain::ledger::Phase;
use mesos_gpu::isolator::reconcile;
use mesos_gpu::ports::checkpoint::Loaded;

/// Two GPUs, `g` on the first, and `m`, which holds nothing, on none.
fn visited() -> Story {
    let mut story = Story::idle(2);
    story.enter("g", both(0.0, 1.0)).unwrap();
    story
}

#[test]
fn owners_are_owners_and_guests_are_guests_again() {
    let before = visited();
    for (live, orphans) in [(&["c0", "c1", "g"][..], &[][..]), (&["c0"], &["g", "c1"])] {
        let (mut story, said) = logged(|| before.restart(live, orphans));
        assert!(!said.iter().any(|line| line.contains("both keep it")), "{said:?}");
        assert_eq!((story.holds("c0"), story.holds("g")), (vec![uuid(0)], vec![]));
        assert_eq!(
            (story.guests_on(0), story.phase(0)),
            (vec!["g".to_owned()], Phase::Held)
        );
        assert_eq!(story.state.board.held_by(&id("g")), [uuid(0)]);
        let writes = story.cgroup.writes().len();
        reconcile::repair(&mut story.agent.state);
        story.change("g", both(0.0, 1.0)).unwrap();
        story.update("c0", 1.0).unwrap();
        assert_eq!(story.cgroup.writes().len(), writes);
        story.pass(SOON);
        let record = story.checkpoint.saves().pop().unwrap();
        assert_eq!(record.guests, [(id("g"), vec![uuid(0)])].into());
        assert!(!record.held.contains_key(&id("g")));
    }
}

#[test]
fn the_executor_of_a_guest_is_known_again_so_the_controller_can_be_told() {
    let mut story = visited().restart(&["c0", "c1", "g"], &[]);
    let asked = story.poll();
    story.owner_computes(0, 2);
    story.looks(1);
    assert_eq!(asked.try_recv().unwrap().unwrap()[0].executor.id, "g");
}

#[test]
fn without_a_checkpoint_guest_and_owner_both_keep_the_gpu_and_the_log_says_so() {
    let before = visited();
    before.checkpoint.put(Loaded::Absent);
    let (mut story, said) = logged(|| before.restart(&["c0", "c1", "g"], &[]));
    assert!(said.iter().any(|line| line.contains("both keep it")), "{said:?}");
    assert_eq!(
        (story.holds("c0"), story.holds("g")),
        (vec![uuid(0)], vec![uuid(0)])
    );
    assert!(story.state.guests.is_empty());
    story.end("c0");
    assert_eq!(story.phase(0), Phase::Held);
    story.end("g");
    story.pass(SOON);
    assert_eq!(story.phase(0), Phase::Free);
}

#[test]
fn after_a_boot_of_the_machine_there_are_no_guests() {
    let before = visited();
    before.cgroup.remove("mesos/g");
    before.checkpoint.set_boot_id("another");
    let story = before.restart(&["g"], &[]);
    assert!(story.state.guests.is_empty() && story.state.ledger.all_held().is_empty());
}

#[test]
fn a_gpu_whose_owner_ended_meanwhile_is_free_when_its_guest_is_gone_and_not_before() {
    let before = visited();
    before.cgroup.remove("mesos/c0");
    let mut story = before.restart(&["c1", "g"], &[]);
    story.pass(SOON);
    assert_eq!((story.phase(0), story.holds("g")), (Phase::Releasing, vec![]));
    let watch = story.watch("g");
    let told = story.enter_later("a", both(1.0, 0.0));
    assert!(limitation(&watch).is_some());
    story.end("g");
    story.pass(SOON);
    assert!(told.try_recv().unwrap().is_ok());
}

#[test]
fn guests_that_were_there_when_sharing_was_switched_off_are_sent_away() {
    for watched_in_time in [true, false] {
        let mut story = visited().restart(&["c0", "c1", "g"], &[]);
        story.state.estimate = Estimation::off();
        let early = watched_in_time.then(|| story.watch("g"));
        story.pass(SOON);
        let watch = early.unwrap_or_else(|| story.watch("g"));
        let why = format!(
            "{} is not shared any more: the parameter oversubscribe is off",
            uuid(0)
        );
        assert_eq!(limitation(&watch), Some((17, why)));
        story.end("g");
        assert_eq!((story.open_gpus("c0"), story.phase(0)), (vec![0], Phase::Held));
    }
}

#[test]
fn rules_that_others_changed_are_put_right_for_guests_as_for_owners() {
    let mut story = visited();
    story
        .cgroup
        .create_denying("mesos/g", &["c 195:1 rw", "c 195:255 rw"]);
    story.cgroup.create_denying("mesos/c0", &["c 195:255 rw"]);
    reconcile::repair(&mut story.agent.state);
    assert_eq!((story.open_gpus("g"), story.open_gpus("c0")), (vec![0], vec![0]));
    assert_eq!(story.open_gpus("c1"), [1]);
}

#[test]
fn what_was_written_down_and_not_yet_granted_is_granted_to_a_guest_with_its_next_update() {
    let mut before = visited();
    before.change("g", both(0.0, 2.0)).unwrap();
    before
        .cgroup
        .create_denying("mesos/g", &["c 195:0 rw", "c 195:255 rw"]);
    let mut story = before.restart(&["c0", "c1", "g"], &[]);
    assert_eq!(
        (story.guests_on(1), story.open_gpus("g")),
        (vec!["g".to_owned()], vec![0])
    );
    story.change("g", both(0.0, 2.0)).unwrap();
    assert_eq!(story.open_gpus("g"), [0, 1]);
}

#[test]
fn children_of_a_guest_have_what_they_had() {
    let mut before = visited();
    before.change("g", both(0.0, 2.0)).unwrap();
    let child = crate::house::with(both(0.0, 1.0));
    before.prepare(&id("g.first"), &child).unwrap();
    before.prepare(&id("g.second"), &child).unwrap();
    let mut story = before.restart(&["c0", "c1", "g", "g.first", "g.second"], &[]);
    story.cleanup("g.first").unwrap();
    story.change("g", both(0.0, 1.0)).unwrap();
    assert_eq!((story.open_gpus("g"), story.guests_on(0)), (vec![1], vec![]));
}

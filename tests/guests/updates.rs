// SPDX-License-Identifier: Apache-2.0
//! Guests that grow and shrink.

use crate::house::{both, with};
use crate::story::{Story, uuid};
use crate::support::agent::{answer, id};
use mesos_gpu::domain::ledger::Phase;
use std::sync::mpsc::TryRecvError;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(5);

#[test]
fn a_guest_grows_and_shrinks_and_its_owners_keep_what_they_have() {
    let mut story = Story::idle(3);
    story.enter("g", both(0.0, 1.0)).unwrap();
    for (total, open) in [
        (2.0, vec![0, 1]),
        (3.0, vec![0, 1, 2]),
        (1.0, vec![0]),
        (0.0, vec![]),
    ] {
        story.change("g", both(0.0, total)).unwrap();
        assert_eq!(story.open_gpus("g"), open, "after an update to {total}");
        for gpu in 0..3 {
            let shared = open.contains(&u32::from(gpu));
            assert_eq!(story.guests_on(gpu).len(), usize::from(shared));
            assert_eq!(story.open_gpus(&format!("c{gpu}")), [u32::from(gpu)]);
            assert_eq!(story.phase(gpu), Phase::Held);
        }
    }
    assert_eq!(
        story.open("g"),
        Vec::<String>::new(),
        "the control nodes went with the last"
    );
}

#[test]
fn a_growth_for_which_no_gpu_is_idle_fails_at_once_and_takes_nothing() {
    let mut story = Story::idle(1);
    story.enter("g", both(0.0, 1.0)).unwrap();
    let error = story.change("g", both(0.0, 2.0)).unwrap_err().to_string();
    assert!(error.contains("only 0 held GPUs are idle now"), "{error}");
    assert_eq!(story.open_gpus("g"), [0]);
    story.change("g", both(0.0, 1.0)).unwrap();
}

#[test]
fn an_update_that_changes_no_gpu_touches_no_device_file() {
    let mut story = Story::idle(1);
    story.enter("g", both(0.0, 1.0)).unwrap();
    let before = (story.cgroup.writes().len(), story.checkpoint.saves().len());
    story.change("g", both(0.0, 1.0)).unwrap();
    assert_eq!(
        (story.cgroup.writes().len(), story.checkpoint.saves().len()),
        before
    );
}

#[test]
fn each_kind_changes_by_itself() {
    let mut story = Story::idle(3);
    story.end("c0");
    story.enter("m", both(1.0, 1.0)).unwrap();
    story.change("m", both(0.0, 2.0)).unwrap();
    assert_eq!((story.holds("m"), story.open_gpus("m")), (vec![], vec![1, 2]));
    assert_eq!(story.phase(0), Phase::Free);
    story.change("m", both(1.0, 0.0)).unwrap();
    assert_eq!((story.holds("m"), story.open_gpus("m")), (vec![uuid(0)], vec![0]));
    assert!(story.state.guests.is_empty());
}

#[test]
fn what_a_guests_child_uses_stays_until_the_child_ends() {
    let mut story = Story::idle(2);
    story.enter("g", both(0.0, 2.0)).unwrap();
    for child in ["g.first", "g.second"] {
        story.prepare(&id(child), &with(both(0.0, 1.0))).unwrap();
    }
    story.change("g", both(0.0, 1.0)).unwrap();
    assert_eq!(story.open_gpus("g"), [0, 1]);
    story.cleanup("g.first").unwrap();
    assert_eq!((story.open_gpus("g"), story.guests_on(0)), (vec![1], vec![]));
}

#[test]
fn a_rule_that_cannot_be_withdrawn_keeps_the_guest_a_guest() {
    let mut story = Story::idle(1);
    story.enter("g", both(0.0, 1.0)).unwrap();
    story.cgroup.fail("deny", "input/output error");
    story.change("g", both(0.0, 0.0)).unwrap();
    assert_eq!(story.guests_on(0), ["g"]);
}

#[test]
fn a_gpu_that_a_living_guest_left_and_still_computes_on_is_not_handed_out() {
    let mut story = Story::idle(1);
    story.enter("g", both(0.0, 1.0)).unwrap();
    story.end("c0");
    story.processes(&[(0, &[41])]);
    story.change("g", both(0.0, 0.0)).unwrap();
    let told = story.enter_later("a", both(1.0, 0.0));
    story.pass(SOON);
    assert_eq!(told.try_recv().map(|_| ()), Err(TryRecvError::Empty));
    // Nor after a restart: it is a guest there until its next update.
    let mut again = story.restart(&["g"], &[]);
    assert_eq!(
        (again.guests_on(0), again.holds("g")),
        (vec!["g".to_owned()], vec![])
    );
    again.change("g", both(0.0, 0.0)).unwrap();
    assert_eq!(again.phase(0), Phase::Releasing);
    story.processes(&[]);
    story.pass(SOON);
    answer(&told).unwrap();
}

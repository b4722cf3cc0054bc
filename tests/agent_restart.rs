// SPDX-License-Identifier: Apache-2.0
//! The agent dies and starts again beside its containers: the kernel's rules are the witness of who holds what.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mesos_gpu::isolator::reconcile;
use std::time::Duration;
use support::agent::FakeAgent;

#[test]
fn a_first_start_with_nothing_to_recover_is_ready() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.recover(&[], &[]).unwrap();
    assert_eq!(agent.free(), 2);
}

#[test]
fn live_containers_and_orphans_hold_what_the_kernel_lets_them_open() {
    let mut before = FakeAgent::with_gpus(4);
    before.launch("a", 1.0).unwrap();
    before.launch("b", 2.0).unwrap();
    before.launch("cpu", 0.0).unwrap();
    let mut agent = before.restart();
    agent.recover(&["a", "cpu", "a.child"], &["b"]).unwrap();
    assert_eq!(agent.free(), 1);
    agent.end("b");
    assert_eq!(agent.free(), 3);
    agent.update("a", 3.0).unwrap();
    assert_eq!(agent.open_gpus("a"), [0, 1, 2]);
    agent.end("a");
    assert_eq!(agent.free(), 4);
}

#[test]
fn nothing_about_one_container_fails_recovery() {
    let mut before = FakeAgent::with_gpus(2);
    before.launch("a", 1.0).unwrap();
    before.launch("gone", 1.0).unwrap();
    before.cgroup.remove("mesos/gone");
    before.cgroup.fail("list", "input/output error");
    let mut agent = before.restart();
    agent.recover(&["a", "gone", "never-had-a-cgroup"], &[]).unwrap();
}

#[test]
fn wildcards_are_no_grant() {
    let before = FakeAgent::with_gpus(2);
    before
        .cgroup
        .create_denying("mesos/a", &["c 195:* rwm", "c *:* m"]);
    let mut agent = before.restart();
    agent.recover(&["a"], &[]).unwrap();
    assert_eq!(agent.free(), 2);
}

#[test]
fn a_gpu_that_two_containers_can_open_is_free_only_after_both() {
    let before = FakeAgent::with_gpus(1);
    for name in ["a", "b"] {
        before
            .cgroup
            .create_denying(&format!("mesos/{name}"), &["c 195:0 rw"]);
    }
    let mut agent = before.restart();
    agent.recover(&["a", "b"], &[]).unwrap();
    agent.end("a");
    assert!(agent.launch("c", 1.0).is_err());
    agent.end("c");
    agent.end("b");
    agent.launch("d", 1.0).unwrap();
}

#[test]
fn a_container_from_before_us_is_adopted_at_its_first_update() {
    let mut agent = FakeAgent::with_gpus(2);
    agent
        .cgroup
        .create_denying("mesos/old", &["c 195:1 rwm", "c 195:255 rwm"]);
    agent.update("old", 1.0).unwrap();
    assert_eq!(agent.free(), 1);
    assert_eq!(agent.open_gpus("old"), [1]);
}

#[test]
fn what_was_written_down_and_not_yet_granted_is_granted_with_the_next_update() {
    let mut before = FakeAgent::with_gpus(3);
    before.launch("a", 1.0).unwrap();
    before.update("a", 2.0).unwrap();
    before
        .cgroup
        .create_denying("mesos/a", &["c 195:0 rw", "c 195:255 rw"]);
    let mut agent = before.restart();
    agent.recover(&["a"], &[]).unwrap();
    assert_eq!((agent.free(), agent.open_gpus("a")), (1, vec![0]));
    agent.update("a", 2.0).unwrap();
    assert_eq!((agent.free(), agent.open_gpus("a")), (1, vec![0, 1]));
}

#[test]
fn what_a_live_container_gave_back_and_still_uses_is_its_own_after_a_restart() {
    let mut before = FakeAgent::with_gpus(2);
    before.launch("a", 2.0).unwrap();
    before.processes(&[(1, &[41])]);
    before.update("a", 1.0).unwrap();
    let mut agent = before.restart();
    agent.recover(&["a"], &[]).unwrap();
    assert!(agent.launch("b", 1.0).is_err());
    agent.end("b");
    agent.update("a", 1.0).unwrap();
    assert_eq!((agent.free(), agent.open_gpus("a")), (0, vec![0]));
    agent.processes(&[]);
    agent.pass(Duration::from_secs(5));
    assert_eq!(agent.free(), 1);
    // And it is not written down any more.
    let mut third = agent.restart();
    third.recover(&["a"], &[]).unwrap();
    assert_eq!(third.free(), 1);
}

#[test]
fn containers_whose_gpus_got_each_others_minors_while_the_agent_was_away_never_share_one() {
    let mut before = FakeAgent::with_gpus(2);
    for name in ["a", "b"] {
        before.launch(name, 1.0).unwrap();
    }
    before.driver.change(|report| {
        report.gpus[0].minor = 1;
        report.gpus[1].minor = 0;
    });
    let mut agent = before.restart();
    agent.recover(&["a", "b"], &[]).unwrap();
    for name in ["a", "b"] {
        agent.job(reconcile::repair);
        agent.update(name, 1.0).unwrap();
        let (a, b) = (agent.open_gpus("a"), agent.open_gpus("b"));
        assert!(!a.iter().any(|minor| b.contains(minor)), "{a:?} {b:?}");
    }
    agent.job(reconcile::repair);
    assert_eq!((agent.open_gpus("a"), agent.open_gpus("b")), (vec![1], vec![0]));
}

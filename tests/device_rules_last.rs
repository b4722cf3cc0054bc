// SPDX-License-Identifier: Apache-2.0
//! The device rules of a container are what its GPUs need, whatever numbers the kernel gives and whoever else writes them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mesos_gpu::config::Mode;
use mesos_gpu::isolator::reconcile;
use mesos_gpu::ports::device_cgroup::DeviceCgroup;
use support::agent::FakeAgent;
use support::driver_proc::proc_gpu;
use support::machine::FakeMachine;
use support::{FakeDevNodes, FakeDriverProc};

#[test]
fn a_dynamic_major_is_read_at_each_launch() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.nodes.put("nvidia-uvm", 511, 0);
    agent.launch("a", 1.0).unwrap();
    agent.nodes.put("nvidia-uvm", 509, 0);
    agent.launch("b", 1.0).unwrap();
    assert!(agent.open("a").contains(&"511:0".to_owned()) && agent.open("b").contains(&"509:0".to_owned()));
    agent.job(reconcile::repair);
    assert!(
        agent.open("a").contains(&"509:0".to_owned()),
        "a container with the old number gets the new one"
    );
}

#[test]
fn rules_that_somebody_else_took_away_are_put_back() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.launch("a", 1.0).unwrap();
    let before = agent.open("a");
    for rule in ["c 195:0 rwm", "c 238:0 rwm"] {
        agent.cgroup.deny("mesos/a", rule.parse().unwrap()).unwrap();
    }
    assert_ne!(agent.open("a"), before);
    agent.job(reconcile::repair);
    let mut after = agent.open("a");
    after.sort();
    let mut before = before;
    before.sort();
    assert_eq!(after, before);
}

#[test]
fn looking_at_sound_rules_writes_nothing() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.launch("a", 1.0).unwrap();
    let writes = agent.cgroup.writes().len();
    agent.job(reconcile::repair);
    assert_eq!(agent.cgroup.writes().len(), writes);
}

#[test]
fn holes_in_the_numbering_and_old_nodes_on_disk_name_no_gpu() {
    let gpus: Vec<_> = [1, 3, 5].into_iter().map(proc_gpu).collect();
    let machine = FakeMachine {
        driver: FakeDriverProc::with_gpus("580.159.04", gpus),
        nodes: FakeDevNodes::with_gpus(&[0, 1, 3, 5]),
        ..FakeMachine::with_gpus(6)
    };
    let mut agent = FakeAgent::on(machine, Mode::Exclusive);
    agent.launch("a", 3.0).unwrap();
    assert_eq!(agent.open_gpus("a"), [1, 3, 5]);
}

#[test]
fn a_gpu_that_the_operator_excluded_is_opened_by_nobody() {
    let chosen = vec![proc_gpu(0).uuid, proc_gpu(1).uuid];
    let mut agent = FakeAgent::advertising(FakeMachine::with_gpus(4), Mode::Exclusive, chosen);
    agent.launch("a", 2.0).unwrap();
    agent.launch("b", 0.0).unwrap();
    assert_eq!(agent.open_gpus("a"), [0, 1]);
    assert!(agent.open("b").is_empty());
    assert!(agent.launch("c", 1.0).is_err());
}

#[test]
fn containers_whose_gpus_changed_minors_in_a_running_agent_never_share_one() {
    let mut agent = FakeAgent::with_gpus(2);
    for name in ["a", "b"] {
        agent.launch(name, 1.0).unwrap();
    }
    agent.driver.change(|report| {
        report.gpus[0].minor = 1;
        report.gpus[1].minor = 0;
    });
    agent.job(reconcile::repair);
    assert_eq!((agent.open_gpus("a"), agent.open_gpus("b")), (vec![1], vec![0]));
}

#[test]
fn a_rule_that_somebody_else_added_is_withdrawn() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.launch("a", 1.0).unwrap();
    agent
        .cgroup
        .allow("mesos/a", "c 195:1 rw".parse().unwrap())
        .unwrap();
    agent.job(reconcile::repair);
    assert_eq!(agent.open_gpus("a"), [0]);
}

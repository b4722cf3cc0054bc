// SPDX-License-Identifier: Apache-2.0
//! Containers in a container: each is told and given its own part of the root's grant, and its end touches no sibling.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mesos_gpu::wire::container::{ContainerInfo, LinuxInfo};
use mesos_gpu::wire::{ContainerClass, ContainerConfig};
use support::agent::{FakeAgent, ROOT, config, id};
use support::driver_proc::proc_gpu;

fn own_cgroup(gpus: f64) -> ContainerConfig {
    let linux_info = Some(LinuxInfo {
        share_cgroups: Some(false),
    });
    ContainerConfig {
        container_info: Some(ContainerInfo {
            r#type: 2,
            linux_info,
            ..ContainerInfo::default()
        }),
        ..config(gpus)
    }
}

fn uuid(gpu: u8) -> String {
    proc_gpu(gpu).uuid.to_string()
}

#[test]
fn children_are_bound_to_different_gpus_of_their_root() {
    let mut agent = FakeAgent::with_gpus(4);
    agent.launch("a", 3.0).unwrap();
    let one = agent.prepare(&id("a.one"), &config(1.0)).unwrap().unwrap();
    let two = agent.prepare(&id("a.two"), &config(2.0)).unwrap().unwrap();
    let none = agent.prepare(&id("a.none"), &config(0.0)).unwrap().unwrap();
    assert_eq!(one["NVIDIA_VISIBLE_DEVICES"], uuid(0));
    assert_eq!(two["NVIDIA_VISIBLE_DEVICES"], format!("{},{}", uuid(1), uuid(2)));
    assert_eq!(none["NVIDIA_VISIBLE_DEVICES"], "void");
}

#[test]
fn a_child_gets_no_more_than_its_root_has_left() {
    let mut agent = FakeAgent::with_gpus(4);
    agent.launch("a", 2.0).unwrap();
    agent.prepare(&id("a.one"), &config(1.0)).unwrap();
    let error = agent.prepare(&id("a.two"), &config(2.0)).unwrap_err().to_string();
    assert!(
        error.contains("2 wanted, container a has 2 and 1 of them"),
        "{error}"
    );
    agent.cleanup("a.two").unwrap();
    agent.cleanup("a.one").unwrap();
    assert!(agent.prepare(&id("a.three"), &config(2.0)).is_ok());
}

#[test]
fn a_child_with_its_own_cgroup_can_open_its_own_gpus_only() {
    let mut agent = FakeAgent::with_gpus(4);
    agent.launch("a", 2.0).unwrap();
    agent
        .cgroup
        .create_denying(&format!("{ROOT}/a/mesos"), &["c *:* m"]);
    for (child, gpu) in [("a.one", 0), ("a.two", 1)] {
        agent.cgroup.create_denying(&id(child).cgroup(ROOT), &["c *:* m"]);
        agent.prepare(&id(child), &own_cgroup(1.0)).unwrap();
        assert_eq!(agent.open_gpus(&id(child).path().join("/mesos/")), [gpu]);
    }
    agent.cleanup("a.one").unwrap();
    assert!(agent.open_gpus("a/mesos/one").is_empty());
    assert_eq!(
        agent.open_gpus("a"),
        [0, 1],
        "the root keeps what Mesos says it has"
    );
}

#[test]
fn the_gpus_of_the_task_that_ended_go_never_a_siblings() {
    let mut agent = FakeAgent::with_gpus(4);
    agent.launch("a", 3.0).unwrap();
    for child in ["a.first", "a.second", "a.third"] {
        agent.prepare(&id(child), &config(1.0)).unwrap();
    }
    agent.cleanup("a.second").unwrap();
    agent.update("a", 2.0).unwrap();
    assert_eq!(agent.open_gpus("a"), [0, 2]);
}

#[test]
fn a_shrink_that_comes_before_the_childs_end_waits_for_it() {
    let mut agent = FakeAgent::with_gpus(4);
    agent.launch("a", 2.0).unwrap();
    for child in ["a.first", "a.second"] {
        agent.prepare(&id(child), &config(1.0)).unwrap();
    }
    agent.update("a", 1.0).unwrap();
    assert_eq!(agent.open_gpus("a"), [0, 1], "both children run");
    agent.cleanup("a.first").unwrap();
    agent.settle();
    assert_eq!(agent.open_gpus("a"), [1]);
    assert_eq!(agent.free(), 3);
}

#[test]
fn a_growth_ends_a_shrink_that_waits_for_a_child() {
    let mut agent = FakeAgent::with_gpus(4);
    agent.launch("a", 2.0).unwrap();
    for child in ["a.first", "a.second"] {
        agent.prepare(&id(child), &config(1.0)).unwrap();
    }
    agent.update("a", 1.0).unwrap();
    agent.update("a", 3.0).unwrap();
    agent.cleanup("a.first").unwrap();
    agent.settle();
    assert_eq!(agent.open_gpus("a"), [0, 1, 2]);
}

#[test]
fn a_child_without_resources_shares_all_and_a_debug_child_inherits() {
    let mut agent = FakeAgent::with_gpus(2);
    let root = agent.launch("a", 2.0).unwrap();
    let shared = agent
        .prepare(&id("a.check"), &ContainerConfig::default())
        .unwrap()
        .unwrap();
    assert_eq!(shared["NVIDIA_VISIBLE_DEVICES"], root["NVIDIA_VISIBLE_DEVICES"]);
    agent.prepare(&id("a.task"), &config(1.0)).unwrap();
    let below = agent
        .prepare(&id("a.task.check"), &ContainerConfig::default())
        .unwrap()
        .unwrap();
    assert_eq!(below["NVIDIA_VISIBLE_DEVICES"], uuid(0));
    let debug = ContainerConfig {
        container_class: Some(ContainerClass::Debug as i32),
        ..ContainerConfig::default()
    };
    assert_eq!(agent.prepare(&id("a.task.debug"), &debug).unwrap(), None);
}

#[test]
fn a_restart_remembers_who_was_given_what() {
    let mut before = FakeAgent::with_gpus(3);
    before.launch("a", 3.0).unwrap();
    before.prepare(&id("a.first"), &config(1.0)).unwrap();
    before.prepare(&id("a.second"), &config(1.0)).unwrap();
    let mut agent = before.restart();
    agent.recover(&["a", "a.first", "a.second"], &[]).unwrap();
    agent.cleanup("a.first").unwrap();
    agent.update("a", 2.0).unwrap();
    assert_eq!(
        agent.open_gpus("a"),
        [0, 1],
        "the one that nobody was given went first"
    );
    agent.update("a", 1.0).unwrap();
    assert_eq!(agent.open_gpus("a"), [1]);
}

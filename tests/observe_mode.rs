// SPDX-License-Identifier: Apache-2.0
//! Beside Mesos's own isolator: only told what that granted, nothing written, nobody kept from a GPU.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mesos_gpu::config::Mode;
use std::time::Duration;
use support::agent::{FakeAgent, ROOT, config, id};
use support::driver_proc::proc_gpu;
use support::machine::FakeMachine;

/// As the built-in grants: with mknod, and the control nodes to everyone.
fn granted_by_the_built_in(agent: &FakeAgent, name: &str, gpus: &[u32]) {
    let mut rules = vec![
        "c *:* m".to_owned(),
        "c 195:255 rwm".to_owned(),
        "c 238:0 rwm".to_owned(),
    ];
    rules.extend(gpus.iter().map(|minor| format!("c 195:{minor} rwm")));
    agent.cgroup.create_denying(
        &format!("{ROOT}/{name}"),
        &rules.iter().map(String::as_str).collect::<Vec<_>>(),
    );
}

#[test]
fn a_container_is_told_what_the_built_in_granted_and_no_rule_is_written() {
    let mut agent = FakeAgent::on(FakeMachine::with_gpus(4), Mode::Observe);
    granted_by_the_built_in(&agent, "a", &[2, 3]);
    let environment = agent.prepare(&id("a"), &config(2.0)).unwrap().unwrap();
    assert_eq!(
        environment["NVIDIA_VISIBLE_DEVICES"],
        format!("{},{}", proc_gpu(2).uuid, proc_gpu(3).uuid)
    );
    agent.update("a", 1.0).unwrap();
    agent.pass(Duration::from_secs(5));
    agent.end("a");
    assert!(agent.cgroup.writes().is_empty(), "{:?}", agent.cgroup.writes());
    assert!(agent.checkpoint.saves().is_empty());
}

#[test]
fn a_growth_by_the_built_in_is_noticed() {
    let mut agent = FakeAgent::on(FakeMachine::with_gpus(4), Mode::Observe);
    granted_by_the_built_in(&agent, "a", &[0]);
    agent.prepare(&id("a"), &config(1.0)).unwrap();
    agent.update("a", 2.0).unwrap();
    granted_by_the_built_in(&agent, "a", &[0, 1]);
    agent.pass(Duration::from_secs(5));
    assert_eq!(agent.state.board.held_by(&id("a")).len(), 2);
}

#[test]
fn nobody_is_kept_from_a_gpu_even_when_the_built_in_shares_one() {
    let mut agent = FakeAgent::on(FakeMachine::with_gpus(1), Mode::Observe);
    for name in ["a", "b"] {
        granted_by_the_built_in(&agent, name, &[0]);
        let environment = agent.prepare(&id(name), &config(1.0)).unwrap().unwrap();
        assert_eq!(environment["NVIDIA_VISIBLE_DEVICES"], proc_gpu(0).uuid.as_str());
    }
}

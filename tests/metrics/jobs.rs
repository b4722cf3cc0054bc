// SPDX-License-Identifier: Apache-2.0
//! Which containers are on which GPU, as dcgm-exporter is told.

use crate::story::Story;
use crate::support::agent::{FakeAgent, id};
use crate::support::driver_proc::proc_gpu;
use crate::support::machine::FakeMachine;
use mesos_gpu::config::Mode;
use mesos_gpu::domain::jobs::Jobs;
use std::collections::BTreeSet;
use std::time::Duration;

/// An agent that NVML has told its indices, against the order of the minors.
fn story() -> Story {
    let mut story = Story::with_gpus(2);
    index(&mut story, [1, 0]);
    story
}

fn index(agent: &mut FakeAgent, indices: [u32; 2]) {
    let mut units = agent.state.inventory.units().to_vec();
    for (unit, index) in units.iter_mut().zip(indices) {
        unit.index = Some(index);
    }
    let version = agent.state.inventory.driver_version.clone();
    agent.state.inventory = mesos_gpu::domain::inventory::Inventory::new(units, version, Vec::new());
}

fn jobs(of: &[(u32, &[&str])]) -> Jobs {
    of.iter()
        .map(|(index, jobs)| {
            (
                *index,
                jobs.iter().map(|job| (*job).to_owned()).collect::<BTreeSet<_>>(),
            )
        })
        .collect()
}

fn published(agent: &mut FakeAgent) -> Jobs {
    agent.pass(Duration::from_millis(200));
    agent.jobs.last()
}

#[test]
fn the_mapping_follows_a_launch_a_growth_a_guest_and_the_end_of_each() {
    let mut story = story();
    assert_eq!(published(&mut story), jobs(&[]));
    assert_eq!(story.jobs.count(), 1, "what an agent before left is gone");
    story.launch_for("c0", "train.1", 1.0);
    assert_eq!(published(&mut story), jobs(&[(1, &["fw-1/train.1/c0"])]));
    story.update("c0", 2.0).unwrap();
    let both: &[&str] = &["fw-1/train.1/c0"];
    assert_eq!(published(&mut story), jobs(&[(0, both), (1, both)]));
    story.state.guests.add(&id("g"), &[proc_gpu(0).uuid]);
    story.state.show();
    assert_eq!(
        published(&mut story),
        jobs(&[(0, both), (1, &["fw-1/train.1/c0", "g"])])
    );
    story.state.guests.remove(&id("g"));
    story.end("c0");
    assert_eq!(published(&mut story), jobs(&[]));
    let count = story.jobs.count();
    story.samples(5);
    assert_eq!(
        story.jobs.count(),
        count,
        "nothing is written where nothing changed"
    );
}

#[test]
fn until_it_is_known_who_lives_and_how_nvml_counts_what_was_said_before_stands() {
    let mut agent = FakeAgent::on(FakeMachine::with_gpus(2), Mode::Exclusive);
    index(&mut agent, [0, 1]);
    agent.state.show();
    agent.pass(Duration::from_millis(200));
    assert_eq!(agent.jobs.count(), 0, "its containers are not known");
    agent.recover(&["c0"], &[]).unwrap();
    assert_eq!(published(&mut agent), jobs(&[]));
    assert_eq!(agent.jobs.count(), 1);

    let mut agent = FakeAgent::on(FakeMachine::with_gpus(2), Mode::Exclusive);
    agent.recover(&["c0"], &[]).unwrap();
    agent.pass(Duration::from_millis(200));
    assert_eq!(agent.jobs.count(), 0, "NVML has not answered");
    index(&mut agent, [0, 1]);
    agent.state.show();
    assert_eq!(published(&mut agent), jobs(&[]));
    assert_eq!(agent.jobs.count(), 1);
}

// SPDX-License-Identifier: Apache-2.0
//! Where guests are placed, what they are told, and that their owners stay as they are.

use crate::house::{both, of_executor, with};
use crate::story::{Story, uuid};
use crate::support::agent::{ROOT, config, id};
use mesos_gpu::domain::ledger::Phase;
use mesos_gpu::wire::ContainerConfig;
use mesos_gpu::wire::container::{ContainerInfo, LinuxInfo};
use std::time::Duration;

#[test]
fn a_guest_shares_an_idle_gpu_with_its_owner_is_told_so_and_holds_nothing() {
    let mut story = Story::idle(2);
    let environment = story.enter("g", both(0.0, 1.0)).unwrap();
    assert_eq!(environment["NVIDIA_VISIBLE_DEVICES"], uuid(0).as_str());
    assert_eq!(environment["MESOS_GPU_REVOCABLE"], uuid(0).as_str());
    assert_eq!(environment["CUDA_DEVICE_ORDER"], "PCI_BUS_ID");
    assert_eq!((story.open_gpus("g"), story.open_gpus("c0")), (vec![0], vec![0]));
    assert!(story.open("g").contains(&"195:255".to_owned()));
    assert_eq!((story.holds("g"), story.holds("c0")), (vec![], vec![uuid(0)]));
    assert_eq!(
        (story.phase(0), story.guests_on(0)),
        (Phase::Held, vec!["g".to_owned()])
    );
    let board = &story.state.board;
    assert_eq!(board.held_by(&id("g")), [uuid(0)]);
    assert_eq!(board.held_by(&id("c0")), [uuid(0)]);
    story.pass(Duration::from_millis(200));
    let metrics = story.metrics.last();
    assert!(metrics.contains("\nmesos_gpu_guests 1\n"), "{metrics}");
    // The owner goes on as if it were alone.
    story.update("c0", 1.0).unwrap();
    assert_eq!(story.open_gpus("c0"), [0]);
}

#[test]
fn a_holder_is_not_told_of_revocable_gpus() {
    let mut story = Story::idle(1);
    story.end("c0");
    let environment = story.launch("a", 1.0).unwrap();
    assert!(
        !environment.contains_key("MESOS_GPU_REVOCABLE"),
        "{environment:?}"
    );
}

#[test]
fn as_many_as_asked_for_or_a_failure_at_once_that_says_try_again() {
    let mut story = Story::idle(3);
    let environment = story.enter("g", both(0.0, 2.0)).unwrap();
    assert_eq!(
        environment["MESOS_GPU_REVOCABLE"],
        format!("{},{}", uuid(0), uuid(1))
    );
    assert_eq!(story.open_gpus("g"), [0, 1]);
    let saves = story.checkpoint.saves().len();
    let error = story.enter("h", both(0.0, 2.0)).unwrap_err().to_string();
    assert!(
        error.contains("2 revocable GPUs to container h: only 1 held GPUs are idle now")
            && error.contains("try again with a later offer"),
        "{error}"
    );
    assert_eq!((story.guests_on(2), story.open("h")), (vec![], vec![]));
    assert_eq!(story.checkpoint.saves().len(), saves);
    story.end("h");
    story.enter("h", both(0.0, 1.0)).unwrap();
    assert_eq!(story.open_gpus("h"), [2]);
}

#[test]
fn a_gpu_that_is_not_idle_takes_nobody() {
    let mut story = Story::idle(2);
    story.owner_computes(0, 2);
    story.looks(1);
    story.enter("g", both(0.0, 1.0)).unwrap();
    assert_eq!(story.open_gpus("g"), [1]);
}

#[test]
fn a_container_that_asks_for_both_holds_the_one_and_shares_the_other() {
    let mut story = Story::idle(3);
    story.end("c0");
    let environment = story.enter("m", both(1.0, 1.0)).unwrap();
    assert_eq!(
        environment["NVIDIA_VISIBLE_DEVICES"],
        format!("{},{}", uuid(0), uuid(1))
    );
    assert_eq!(environment["MESOS_GPU_REVOCABLE"], uuid(1).as_str());
    assert_eq!(
        (story.holds("m"), story.open_gpus("m")),
        (vec![uuid(0)], vec![0, 1])
    );
    story.end("m");
    assert_eq!((story.phase(0), story.phase(1)), (Phase::Free, Phase::Held));
    assert_eq!((story.guests_on(1), story.open_gpus("c1")), (vec![], vec![1]));
}

#[test]
fn nobody_is_a_guest_on_a_gpu_of_its_own() {
    let mut story = Story::idle(2);
    let error = story.change("c0", both(1.0, 2.0)).unwrap_err().to_string();
    assert!(error.contains("only 1 held GPUs"), "{error}");
    story.change("c0", both(1.0, 1.0)).unwrap();
    assert_eq!(
        (story.open_gpus("c0"), story.guests_on(1)),
        (vec![0, 1], vec!["c0".to_owned()])
    );
}

#[test]
fn the_status_of_a_guests_task_names_its_gpu() {
    let mut story = Story::idle(1);
    story.enter_as("g", &of_executor("g", both(0.0, 1.0))).unwrap();
    assert_eq!(story.state.board.held_by_executor("framework", "g"), [uuid(0)]);
    story.end("g");
    assert_eq!(story.state.board.held_by_executor("framework", "g"), []);
}

#[test]
fn children_of_a_guest_are_bound_to_what_it_shares() {
    let mut story = Story::idle(3);
    story.end("c0");
    story.enter("m", both(1.0, 2.0)).unwrap();
    let mut child = |name: &str, regular, revocable| {
        let config = with(both(regular, revocable));
        story.prepare(&id(name), &config).map(Option::unwrap)
    };
    let shares = child("m.shares", 0.0, 1.0).unwrap();
    assert_eq!(shares["NVIDIA_VISIBLE_DEVICES"], uuid(1).as_str());
    assert_eq!(shares["MESOS_GPU_REVOCABLE"], uuid(1).as_str());
    let holds = child("m.holds", 1.0, 0.0).unwrap();
    assert_eq!(holds["NVIDIA_VISIBLE_DEVICES"], uuid(0).as_str());
    assert!(!holds.contains_key("MESOS_GPU_REVOCABLE"));
    let error = child("m.more", 1.0, 1.0).unwrap_err().to_string();
    assert!(
        error.contains("1 wanted, container m has 1 and 0 of them"),
        "{error}"
    );
    let error = child("m.most", 0.0, 2.0).unwrap_err().to_string();
    assert!(
        error.contains("2 revocable ones wanted, container m has 2 and 1 of them"),
        "{error}"
    );
    let all = story
        .prepare(&id("m.all"), &ContainerConfig::default())
        .unwrap()
        .unwrap();
    assert_eq!(all["MESOS_GPU_REVOCABLE"], format!("{},{}", uuid(1), uuid(2)));
    assert_eq!(story.state.board.held_by(&id("m.shares")), [uuid(1)]);
}

#[test]
fn a_guests_child_with_its_own_cgroup_can_open_its_own_part_only() {
    let mut story = Story::idle(2);
    story.enter("g", both(0.0, 2.0)).unwrap();
    let linux_info = Some(LinuxInfo {
        share_cgroups: Some(false),
    });
    let own = ContainerConfig {
        container_info: Some(ContainerInfo {
            r#type: 2,
            linux_info,
            ..ContainerInfo::default()
        }),
        ..with(both(0.0, 1.0))
    };
    for cgroup in ["g/mesos", "g/mesos/kid"] {
        story
            .cgroup
            .create_denying(&format!("{ROOT}/{cgroup}"), &["c *:* m"]);
    }
    story.prepare(&id("g.kid"), &own).unwrap();
    assert_eq!(story.open_gpus("g/mesos/kid"), [0]);
    story.cleanup("g.kid").unwrap();
    assert_eq!(
        (story.open_gpus("g/mesos/kid"), story.open_gpus("g")),
        (vec![], vec![0, 1])
    );
}

#[test]
fn a_guests_end_takes_its_rules_and_nobody_elses() {
    let mut story = Story::idle(2);
    story.enter("g", both(0.0, 1.0)).unwrap();
    story.cleanup("g").unwrap();
    assert_eq!(story.open("g"), Vec::<String>::new());
    assert_eq!((story.open_gpus("c0"), story.phase(0)), (vec![0], Phase::Held));
    assert!(story.state.releases.is_empty(), "the owner's GPU is not released");
    assert!(story.checkpoint.saves().last().unwrap().guests.is_empty());
    assert_eq!(story.state.board.held_by(&id("g")), []);
    story.cleanup("g").unwrap();
    assert!(story.prepare(&id("other"), &config(0.0)).is_ok());
}

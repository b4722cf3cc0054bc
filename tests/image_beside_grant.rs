// SPDX-License-Identifier: Apache-2.0
//! The image of a container is fitted while the kernel is told what it may open: either can be over first, and either can
//! fail.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mesos_gpu::wire::ContainerConfig;
use support::agent::{FakeAgent, answer, config, id};

fn imaged(gpus: f64) -> ContainerConfig {
    ContainerConfig {
        rootfs: Some("/store/image".to_owned()),
        ..config(gpus)
    }
}

#[test]
fn a_launch_waits_for_a_fit_that_takes_longer_than_the_grant() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.make_cgroup("a");
    agent.images.hold();
    let told = agent.prepare_later(&id("a"), &imaged(1.0));
    assert_eq!(agent.open_gpus("a"), [0], "the grant does not wait for the fit");
    assert!(told.try_recv().is_err(), "the launch does");
    agent.images.go_on();
    agent.settle();
    let launch = answer(&told).unwrap().unwrap();
    assert_eq!(launch.mounts.len(), 6, "{:?}", launch.mounts);
    assert_eq!(agent.images.wanted().len(), 1, "fitted once");
}

#[test]
fn a_grant_that_fails_while_the_image_is_fitted_fails_the_launch_and_nothing_else() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.make_cgroup("a");
    agent.images.hold();
    agent.cgroup.fail("allow", "no space");
    let told = agent.prepare_later(&id("a"), &imaged(2.0));
    let error = answer(&told).unwrap_err().to_string();
    assert!(error.contains("no space"), "{error}");
    assert_eq!(agent.images.wanted().len(), 1, "it was begun");
    agent.cgroup.heal();
    agent.images.go_on();
    agent.settle();
    agent.end("a");
    assert_eq!(agent.images.ended_so_far(), ["a"]);
    assert_eq!(agent.free(), 2);

    agent.make_cgroup("b");
    let told = agent.prepare_later(&id("b"), &imaged(2.0));
    assert_eq!(answer(&told).unwrap().unwrap().mounts.len(), 7);
    assert_eq!(agent.open_gpus("b"), [0, 1]);
}

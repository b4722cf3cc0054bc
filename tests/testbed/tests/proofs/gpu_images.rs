// SPDX-License-Identifier: Apache-2.0
//! Whoever launches a container with an image, and however its root file system is made: it sees the nodes of its own GPUs
//! and no other, and its programs find the driver, also without an environment.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use std::fs;

use testbed::operator::LaunchContainer;
use testbed::scheduler::{ExecutorSpec, Framework};

use crate::common;
use common::images::{Cluster, ended, probe, probe_image, probe_task, resources, sandbox, seen};
use common::{PATIENCE, assert_all_free};

fn finished(cluster: &Cluster, framework: &Framework, id: &str) {
    let update = framework.wait_terminal(id, PATIENCE).unwrap();
    assert_eq!(
        update.state,
        "TASK_FINISHED",
        "{update:?}\n{}",
        cluster.agent.log()
    );
}

/// A command task: the executor stays outside, the task does not.
fn command_task(cluster: &Cluster, framework: &Framework, gpus: u32) {
    let id = format!("command{gpus}");
    let offer = framework.offer_with(&resources(gpus), PATIENCE).unwrap();
    framework
        .launch(&offer, &[probe_task(&id, "probe", gpus)])
        .unwrap();
    finished(cluster, framework, &id);
    let seen = seen(&sandbox(&cluster.agent, framework, &id));
    cluster.assert_has(&seen, usize::try_from(gpus).unwrap());
}

/// A task of the default executor, which is a nested container with a root of its own.
fn group_task(cluster: &Cluster, framework: &Framework, share_cgroups: bool) {
    let id = format!("group-{share_cgroups}");
    let executor = format!("executor-of-{id}");
    let offer = framework.offer_with(&resources(1), PATIENCE).unwrap();
    let task = probe_task(&id, "probe", 1).share_cgroups(share_cgroups);
    framework
        .launch_group(&offer, &ExecutorSpec::default_executor(&executor), &[task])
        .unwrap();
    finished(cluster, framework, &id);
    let runs = sandbox(&cluster.agent, framework, &executor).join("containers");
    let run = fs::read_dir(runs).unwrap().next().unwrap().unwrap().path();
    cluster.assert_has(&seen(&run), 1);
}

/// Nested containers with an image of their own in a standalone one without, which has the GPU.
fn nested(cluster: &Cluster) {
    let operator = cluster.agent.operator();
    let parent = LaunchContainer::new(&["parent"], "sleep 1000").resources(&resources(1));
    operator.launch_container(&parent).unwrap();
    for share_cgroups in [None, Some(true)] {
        let name = format!("kid-{share_cgroups:?}").replace(['(', ')'], "");
        let id = ["parent", name.as_str()];
        let mut launch = probe(&id, "probe");
        launch.share_cgroups = share_cgroups;
        operator.launch_nested_container(&launch).unwrap();
        cluster.assert_has(&ended(&cluster.agent, &id), 1);
    }
    common::end(&cluster.agent, "parent");
}

fn by_every_way(backend: &str) {
    if common::lacking(&format!("images made by {backend}")) {
        return;
    }
    let cluster = Cluster::with(&[probe_image("probe")], &[], |agent| agent.image_backend(backend));
    cluster.assert_has(&cluster.look("one", "probe", 1), 1);
    cluster.assert_has(&cluster.look("two", "probe", 2), 2);
    let framework = cluster.framework();
    command_task(&cluster, &framework, 1);
    command_task(&cluster, &framework, 2);
    group_task(&cluster, &framework, true);
    group_task(&cluster, &framework, false);
    nested(&cluster);
    framework.teardown().unwrap();
    common::eventually("every container to go", || {
        cluster
            .agent
            .operator()
            .containers()
            .unwrap()
            .is_empty()
            .then_some(())
    });
    assert_all_free(&cluster.agent, &cluster.machine);
}

#[test]
fn ROOT_CGROUPS_whoever_launches_it_a_copied_image_sees_its_own_gpus_and_the_driver() {
    by_every_way("copy");
}

#[test]
fn ROOT_CGROUPS_whoever_launches_it_an_overlaid_image_sees_its_own_gpus_and_the_driver() {
    by_every_way("overlay");
}

#[test]
fn ROOT_CGROUPS_a_read_only_image_gets_driver_and_gpus_where_it_has_the_place_and_a_reason_where_not() {
    if common::lacking("read-only images") {
        return;
    }
    let places = ["dev", "proc", "sys", "tmp", "mnt/mesos/sandbox", "etc"];
    let bare = places
        .iter()
        .fold(probe_image("bare"), |image, place| image.folder(place, 0o755));
    let whole = places
        .iter()
        .chain(&["usr/local/nvidia"])
        .fold(probe_image("whole"), |image, place| image.folder(place, 0o755));
    let cluster = Cluster::with(&[bare, whole], &[], |agent| agent.image_backend("bind"));
    let seen = cluster.look("whole", "whole", 1);
    common::images::assert_nodes(&seen, &cluster.machine, 1);
    let cuda = seen.cuda.unwrap();
    assert!(cuda.starts_with(common::images::DRIVER), "{cuda}");
    assert!(seen.smi.is_some_and(|smi| smi.success));
    // Nothing can be written into it, so the loader's cache is the image's own; the log says what that means.
    common::logged(&cluster.agent, &["container whole", "empty environment"]);
    let launch = probe(&["bare"], "bare").resources(&resources(1));
    let why = common::images::refused(&cluster.agent, &launch).unwrap();
    assert!(
        why.contains("usr/local/nvidia") && why.contains("ead-only"),
        "{why}"
    );
    assert_all_free(&cluster.agent, &cluster.machine);
}

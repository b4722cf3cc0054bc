// SPDX-License-Identifier: Apache-2.0
//! Who gets the driver's files is the operator's and the image's word; who gets a GPU is Mesos's alone. An image that asks
//! for all GPUs and was given none sees none.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use fake_nvml::Machine;
use testbed::Testbed;
use testbed::image_name::ImageName;

use crate::common;
use common::PATIENCE;
use common::images::{
    Cluster, assert_driver, assert_no_driver, assert_no_nodes, assert_nodes, ended, lay_out_driver,
    plain_image, probe, probe_image, probe_task, resources, sandbox, seen,
};

#[test]
fn ROOT_CGROUPS_without_gpus_an_image_that_asks_gets_the_driver_and_no_node_and_another_gets_nothing() {
    if common::lacking("images without GPUs") {
        return;
    }
    let images = [
        probe_image("asks"),
        plain_image("labelled").label("com.nvidia.volumes.needed", "nvidia_driver"),
        plain_image("plain"),
        plain_image("void").env("NVIDIA_VISIBLE_DEVICES=void"),
    ];
    let cluster = Cluster::start(&images);
    for image in ["asks", "labelled"] {
        let seen = cluster.look(image, image, 0);
        assert_no_nodes(&seen);
        assert_driver(&seen, &cluster.driver);
    }
    for image in ["plain", "void"] {
        let seen = cluster.look(image, image, 0);
        assert_no_nodes(&seen);
        assert_no_driver(&seen);
        // With a GPU, it needs no word from the image.
        cluster.assert_has(&cluster.look(&format!("{image}-gpu"), image, 1), 1);
    }
    let framework = cluster.framework();
    for (image, asks) in [("asks", true), ("plain", false)] {
        let id = format!("task-{image}");
        let offer = framework.offer_with(&resources(0), PATIENCE).unwrap();
        framework.launch(&offer, &[probe_task(&id, image, 0)]).unwrap();
        let update = framework.wait_terminal(&id, PATIENCE).unwrap();
        assert_eq!(
            update.state,
            "TASK_FINISHED",
            "{update:?}\n{}",
            cluster.agent.log()
        );
        let seen = seen(&sandbox(&cluster.agent, &framework, &id));
        assert_no_nodes(&seen);
        if asks {
            assert_driver(&seen, &cluster.driver);
        } else {
            assert_no_driver(&seen);
        }
    }
}

#[test]
fn ROOT_CGROUPS_the_operator_decides_whether_images_get_the_driver_at_all() {
    if common::lacking("images that get no driver") {
        return;
    }
    for (policy, with_gpus) in [("never", false), ("gpus", true)] {
        let parameters = [("driver_files", policy)];
        let cluster = Cluster::with(&[probe_image("asks")], &parameters, |agent| agent);
        let seen = cluster.look("none", "asks", 0);
        assert_no_nodes(&seen);
        assert_no_driver(&seen);
        let seen = cluster.look("one", "asks", 1);
        assert_nodes(&seen, &cluster.machine, 1);
        if with_gpus {
            assert_driver(&seen, &cluster.driver);
        } else {
            assert_no_driver(&seen);
        }
    }
}

#[test]
fn ROOT_CGROUPS_a_root_file_system_without_dockers_manifest_gets_driver_and_gpus_all_the_same() {
    if common::lacking("App Container images") {
        return;
    }
    let bed = Testbed::new().unwrap();
    let store = bed.folder().join("appc");
    probe_image("example.com/probe").write_appc(&store).unwrap();
    let machine = Machine::with_gpus(2);
    let driver = lay_out_driver(&bed.folder().join("driver"), &machine.driver_version);
    let root = driver.folder().display().to_string();
    let mut master = bed.master().start().unwrap();
    master.wait_ready(PATIENCE).unwrap();
    let agent = common::gpu_agent_with(&bed, &[("driver_root", &root)]);
    let mut agent = agent.appc_images(&store).machine(&machine).start().unwrap();
    agent.wait_registered(PATIENCE).unwrap();
    let look = |id: &str, gpus: u32| {
        let launch = probe(&[id], ImageName::appc("example.com/probe")).resources(&resources(gpus));
        agent.operator().launch_container(&launch).unwrap();
        ended(&agent, &[id])
    };
    let seen = look("one", 1);
    assert_nodes(&seen, &machine, 1);
    assert_driver(&seen, &driver);
    let seen = look("none", 0);
    assert_no_nodes(&seen);
    assert_no_driver(&seen);
}

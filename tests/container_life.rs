// SPDX-License-Identifier: Apache-2.0
//! A container's life with GPUs, told through fakes: what it is granted, what it is told, what is given back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mesos_gpu::domain::ledger::Phase;
use mesos_gpu::wire::ContainerConfig;
use mesos_gpu::wire::container::{Docker, ImageConfig, ImageManifest};
use support::agent::{FakeAgent, config, id};

#[test]
fn a_container_gets_its_gpus_and_the_control_nodes_and_is_told_their_uuids() {
    let mut agent = FakeAgent::with_gpus(4);
    let environment = agent.launch("a", 2.0).unwrap();
    let uuids: Vec<&str> = agent
        .state
        .inventory
        .units()
        .iter()
        .map(|unit| unit.id.as_str())
        .take(2)
        .collect();
    assert_eq!(environment["NVIDIA_VISIBLE_DEVICES"], uuids.join(","));
    assert_eq!(environment["CUDA_DEVICE_ORDER"], "PCI_BUS_ID");
    assert_eq!(agent.open_gpus("a"), [0, 1]);
    assert!(agent.open("a").contains(&"195:255".to_owned()) && agent.open("a").contains(&"238:0".to_owned()));
}

#[test]
fn a_container_without_gpus_gets_no_device_at_all_and_is_told_void() {
    let mut agent = FakeAgent::with_gpus(2);
    let environment = agent.launch("a", 0.0).unwrap();
    assert_eq!(environment["NVIDIA_VISIBLE_DEVICES"], "void");
    assert!(!environment.contains_key("CUDA_DEVICE_ORDER"));
    assert!(agent.open("a").is_empty(), "{:?}", agent.open("a"));
}

#[test]
fn where_the_operator_says_so_every_container_gets_the_control_nodes_and_no_gpu_with_them() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.state.patience.control_nodes_for_all = true;
    agent.launch("a", 0.0).unwrap();
    assert!(agent.open("a").contains(&"195:255".to_owned()));
    assert!(agent.open_gpus("a").is_empty());
    agent.launch("b", 1.0).unwrap();
    agent.update("b", 0.0).unwrap();
    assert!(agent.open("b").contains(&"195:255".to_owned()));
    assert!(agent.open_gpus("b").is_empty());
}

#[test]
fn growing_and_shrinking_keep_the_union_and_give_all_back() {
    let mut agent = FakeAgent::with_gpus(4);
    agent.launch("a", 1.0).unwrap();
    for (total, open) in [
        (2.0, vec![0, 1]),
        (2.0, vec![0, 1]),
        (3.0, vec![0, 1, 2]),
        (1.0, vec![0]),
        (0.0, vec![]),
    ] {
        agent.update("a", total).unwrap();
        assert_eq!(agent.open_gpus("a"), open, "after an update to {total}");
        assert_eq!(agent.free(), 4 - open.len());
    }
    assert!(
        agent.open("a").is_empty(),
        "the control nodes go with the last GPU: {:?}",
        agent.open("a")
    );
    agent.update("a", 2.0).unwrap();
    agent.end("a");
    assert_eq!(agent.free(), 4);
}

#[test]
fn an_update_that_changes_no_gpu_touches_no_device_file() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.launch("a", 1.0).unwrap();
    let before = agent.cgroup.writes().len();
    agent.update("a", 1.0).unwrap();
    assert_eq!(agent.cgroup.writes().len(), before);
}

#[test]
fn a_request_that_cannot_be_met_fails_with_its_numbers_and_takes_nothing() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.launch("a", 1.0).unwrap();
    for (name, gpus, says) in [
        ("half", 0.5, "0.5"),
        ("crumb", 1.001, "1.001"),
        ("debt", -1.0, "-1"),
        ("many", 2.0, "2 more wanted, 1 of 2 free"),
    ] {
        let error = agent.launch(name, gpus).unwrap_err().to_string();
        assert!(error.contains(says), "{gpus}: {error}");
        assert!(agent.open(name).is_empty());
        agent.end(name);
    }
    assert_eq!(agent.free(), 1);
    let error = agent.update("a", 3.0).unwrap_err().to_string();
    assert!(error.contains("2 more wanted, 1 of 2 free"), "{error}");
    assert_eq!(agent.open_gpus("a"), [0]);
}

#[test]
fn a_grant_that_fails_half_way_is_taken_back() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.nodes.remove("nvidia1");
    let error = agent.launch("a", 2.0).unwrap_err().to_string();
    assert!(error.contains("nvidia1"), "{error}");
    assert!(agent.open("a").is_empty());
    assert_eq!(agent.free(), 2);
    agent.end("a");

    agent.cgroup.fail("allow", "permission denied");
    let error = agent.launch("b", 1.0).unwrap_err().to_string();
    assert!(error.contains("permission denied"), "{error}");
    assert_eq!(agent.free(), 2);
}

#[test]
fn without_its_control_node_a_launch_fails_and_names_the_node() {
    let mut agent = FakeAgent::with_gpus(1);
    agent.nodes.remove("nvidiactl");
    let error = agent.launch("a", 1.0).unwrap_err().to_string();
    assert!(error.contains("nvidiactl"), "{error}");
    agent.launch("cpu-only", 0.0).unwrap();
}

#[test]
fn nodes_that_not_every_driver_has_are_no_condition() {
    let mut agent = FakeAgent::with_gpus(1);
    for node in ["nvidia-uvm-tools", "nvidia-modeset"] {
        agent.nodes.remove(node);
    }
    agent.launch("a", 1.0).unwrap();
    assert_eq!(agent.open_gpus("a"), [0]);
}

#[test]
fn minors_are_looked_up_at_each_launch_because_a_reloaded_driver_renumbers() {
    let mut agent = FakeAgent::with_gpus(2);
    let first = agent.state.inventory.units()[0].id.clone();
    agent.driver.change(|report| {
        report.gpus[0].minor = 1;
        report.gpus[1].minor = 0;
    });
    let environment = agent.launch("a", 1.0).unwrap();
    assert_eq!(environment["NVIDIA_VISIBLE_DEVICES"], first.as_str());
    assert_eq!(agent.open_gpus("a"), [1]);
}

/// The tree is as many files as the machine has GPUs, and a launch waits for each of them.
#[test]
fn a_call_reads_of_the_drivers_tree_what_it_needs_and_once() {
    let mut agent = FakeAgent::with_gpus(8);
    let reads = |agent: &FakeAgent| agent.machine.driver.take_reads();
    agent.make_cgroup("a");
    reads(&agent);
    let with_image = ContainerConfig {
        rootfs: Some("/store/image".to_owned()),
        ..config(2.0)
    };
    let told = agent.prepare_later(&id("a"), &with_image);
    agent.wait_for(&told).unwrap();
    assert_eq!(reads(&agent), (0, 2), "launch: two GPUs");
    for (total, most) in [
        (2.0, (0, 0)),
        (4.0, (0, 2)),
        // All of it is for the look at what it gave back, which is not waited for.
        (1.0, (1, 4)),
    ] {
        agent.update("a", total).unwrap();
        assert_eq!(reads(&agent), most, "update to {total}");
    }
    agent.end("a");
    assert_eq!(reads(&agent), (1, 1), "end");
    agent.launch("b", 0.0).unwrap();
    assert_eq!(reads(&agent), (0, 0), "launch without GPUs");
}

#[test]
fn without_a_devices_cgroup_gpus_are_refused_with_the_cure() {
    let mut agent = FakeAgent::with_gpus(1);
    let error = agent.prepare(&id("a"), &config(1.0)).unwrap_err().to_string();
    assert!(error.contains("cgroups/devices"), "{error}");
    assert!(agent.prepare(&id("b"), &config(0.0)).is_ok());
}

#[test]
fn cleanup_is_idempotent_and_knows_no_strangers() {
    let mut agent = FakeAgent::with_gpus(1);
    agent.launch("a", 1.0).unwrap();
    for name in ["a", "a", "never-prepared", "a.child"] {
        agent.cleanup(name).unwrap();
    }
    assert_eq!(agent.free(), 1);
    assert!(
        agent.open("a").is_empty(),
        "a cgroup that outlives cleanup names no GPU any more"
    );
}

#[test]
fn a_cleanup_whose_cgroup_cannot_be_written_still_gives_back() {
    let mut agent = FakeAgent::with_gpus(1);
    agent.launch("a", 1.0).unwrap();
    agent.cgroup.fail("deny", "input/output error");
    agent.cleanup("a").unwrap();
    assert_eq!(agent.free(), 1);
}

#[test]
fn a_gpu_that_cannot_be_taken_away_stays_with_its_container() {
    let mut agent = FakeAgent::with_gpus(2);
    agent.launch("a", 2.0).unwrap();
    agent.cgroup.fail("deny", "input/output error");
    agent.update("a", 1.0).unwrap();
    assert_eq!(
        agent.free(),
        0,
        "the container can still open it, so nobody else may have it"
    );
}

#[test]
fn a_container_that_ends_while_its_nodes_are_made_takes_nothing_from_the_next() {
    let mut agent = FakeAgent::with_gpus(1);
    agent.nodes.remove("nvidia-uvm");
    agent.make_cgroup("a");
    let told = agent.prepare_later(&id("a"), &config(1.0));
    agent.cleanup("a").unwrap();
    agent.nodes.put("nvidia-uvm", 238, 0);
    agent.settle();
    agent.launch("b", 1.0).unwrap();
    assert!(agent.wait_for(&told).is_err() || told.try_recv().is_err());
    agent.settle();
    assert_eq!(agent.open_gpus("b"), [0]);
    assert!(agent.open_gpus("a").is_empty());
    assert_eq!(agent.phase(0), Phase::Held);
    agent.end("b");
    assert_eq!(agent.phase(0), Phase::Free);
}

#[test]
fn nodes_of_unified_memory_are_made_when_the_first_container_needs_them() {
    let mut agent = FakeAgent::with_gpus(1);
    agent.nodes.remove("nvidia-uvm");
    agent.launch("cpu", 0.0).unwrap();
    assert_eq!(agent.modules.calls(), 0);
    agent.modules.fail("nvidia-modprobe is not installed");
    agent.make_cgroup("a");
    let told = agent.prepare_later(&id("a"), &config(1.0));
    let error = agent.wait_for(&told).unwrap_err().to_string();
    assert!(
        error.contains("nvidia-uvm") && error.contains("not installed"),
        "{error}"
    );
    agent.settle();
    assert_eq!(agent.free(), 1);
}

#[test]
fn an_images_own_device_order_stays_but_not_its_list_of_devices() {
    let mut agent = FakeAgent::with_gpus(1);
    agent.make_cgroup("a");
    let env = vec![
        "CUDA_DEVICE_ORDER=FASTEST_FIRST".to_owned(),
        "NVIDIA_VISIBLE_DEVICES=all".to_owned(),
    ];
    let manifest = Some(ImageManifest {
        config: Some(ImageConfig {
            env,
            ..ImageConfig::default()
        }),
    });
    let config = ContainerConfig {
        docker: Some(Docker { manifest }),
        ..config(1.0)
    };
    let environment = agent.prepare(&id("a"), &config).unwrap().unwrap();
    assert!(!environment.contains_key("CUDA_DEVICE_ORDER"));
    assert!(environment["NVIDIA_VISIBLE_DEVICES"].starts_with("GPU-"));
}

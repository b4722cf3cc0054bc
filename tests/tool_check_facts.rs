// SPDX-License-Identifier: Apache-2.0
//! Rules of `check` on machines that cannot be had everywhere: the facts are given, and the rules judge.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "tool_check_facts/given.rs"]
mod given;

use given::{expect, found, place, subject};
use mesos_gpu::domain::device::NodeState;
use mesos_gpu::domain::gpu::UnitId;
use mesos_gpu::domain::record::Advertised;
use mesos_gpu::tool::check::facts::{DriverFacts, Facts, Place, PlaceKind};
use mesos_gpu::tool::check::subject::Running;
use mesos_gpu::tool::finding::Severity;

#[test]
fn nothing_is_said_of_a_good_agent_on_a_good_machine() {
    assert_eq!(found(&subject(&[], &[]), |_| {}), []);
    assert_eq!(found(&subject(&[], &["--resources=gpus:1"]), |_| {}), []);
    assert_eq!(
        found(&subject(&[], &["--containerizers=docker,mesos"]), |_| {}),
        []
    );
}

#[test]
fn the_kernel_and_the_process_are_judged() {
    use Severity::{Error, Note};
    let agent = subject(&[], &[]);
    let unmounted = |facts: &mut Facts| {
        facts.devices_hierarchy = Some(Err("no cgroup v1 hierarchy".to_owned()));
        facts.only_cgroup_v2 = true;
    };
    expect(
        &agent,
        unmounted,
        "devices-not-mounted",
        Error,
        "mount -t cgroup -o devices",
    );
    assert!(found(&agent, unmounted)[0].what.contains("cgroup v2 alone"));
    let mut other = subject(&[], &[]);
    other.mesos.as_mut().unwrap().running = Some(Running {
        pid: 7,
        uid: Some(1000),
        other_mounts: false,
    });
    expect(&other, |_| {}, "not-root", Error, "as root");
    other.mesos.as_mut().unwrap().running = Some(Running {
        pid: 7,
        uid: None,
        other_mounts: true,
    });
    expect(&other, |_| {}, "other-mounts", Note, "nsenter --target 7");
}

#[test]
fn what_mesoss_own_gpu_code_does_to_agents_with_docker_is_told() {
    let docker = "--containerizers=docker,mesos";
    let with_gpus = subject(&[], &[docker, "--resources=gpus:1"]);
    expect(
        &with_gpus,
        |_| {},
        "docker-with-gpus",
        Severity::Error,
        "leave gpus out",
    );
    let without = subject(&[], &[docker]);
    expect(
        &without,
        |facts| facts.new_loader_cache = true,
        "docker-volume",
        Severity::Error,
        "leave docker out",
    );
    let hidden = |facts: &mut Facts| {
        facts.new_loader_cache = true;
        facts.driver.has_nvml_on_loader_path = false;
    };
    assert_eq!(found(&with_gpus, hidden), []);
}

#[test]
fn the_driver_is_judged() {
    use Severity::{Note, Warning};
    let agent = subject(&[], &[]);
    let no_driver = |facts: &mut Facts| {
        facts.driver = DriverFacts {
            known: true,
            ..DriverFacts::default()
        }
    };
    expect(&agent, no_driver, "no-driver", Note, "install the driver");
    let unloaded = |facts: &mut Facts| {
        facts.driver.loaded = None;
        facts.driver.units.clear();
    };
    expect(&agent, unloaded, "driver-not-loaded", Warning, "modprobe nvidia");
    let upgraded = |facts: &mut Facts| facts.driver.library = Some("/lib/libnvidia-ml.so.590.1".into());
    expect(&agent, upgraded, "driver-versions-differ", Warning, "reboot");
    let no_uvm = |facts: &mut Facts| {
        facts
            .driver
            .nodes
            .insert("nvidia-uvm".to_owned(), NodeState::Missing);
    };
    expect(&agent, no_uvm, "uvm-not-loaded", Warning, "modprobe nvidia-uvm");
    let made_later = |facts: &mut Facts| {
        no_uvm(facts);
        facts.driver.can_make_nodes = true;
    };
    expect(
        &agent,
        made_later,
        "uvm-not-loaded",
        Note,
        "nvidia-modprobe makes it",
    );
    let a_file = |facts: &mut Facts| {
        let state = NodeState::Other("a regular file".to_owned());
        facts.driver.nodes.insert("nvidiactl".to_owned(), state);
    };
    expect(&agent, a_file, "node-missing", Warning, "nvidia-modprobe -c");
    // Totals that were advertised without a driver are refused by the module's own rule.
    let gpus = subject(&[], &["--resources=gpus:1"]);
    let rules: Vec<_> = found(&gpus, no_driver).iter().map(|one| one.rule).collect();
    assert_eq!(rules, ["resources-gpus-differ", "no-driver"]);
}

#[test]
fn what_was_advertised_before_counts_as_it_does_for_the_agent() {
    let before = |units: &[&str]| {
        let units = units.iter().map(|unit| UnitId::new(unit)).collect();
        Some(Advertised {
            selection: "all".to_owned(),
            units,
        })
    };
    let two = subject(&[], &["--resources=gpus:2"]);
    let lost = |facts: &mut Facts| facts.advertised_before = before(&["GPU-1", "GPU-2"]);
    expect(&two, lost, "gpus-changed", Severity::Warning, "repair the GPU");
    expect(
        &two,
        |_| {},
        "resources-gpus-differ",
        Severity::Error,
        "make it gpus:1",
    );
}

#[test]
fn places_are_judged() {
    let agent = subject(&[], &[]);
    let set = |path: &'static str, place: Place| {
        move |facts: &mut Facts| {
            facts.places.insert(path.into(), place);
        }
    };
    let nodev = Place {
        mount_point: true,
        nodev: true,
        ..place(PlaceKind::Folder)
    };
    let room = set("/var/run/mesos/mesos-gpu/devices", nodev);
    expect(
        &agent,
        room,
        "image-dir",
        Severity::Warning,
        "nothing else is mounted",
    );
    let read_only = Place {
        writable: false,
        ..place(PlaceKind::Folder)
    };
    let books = set("/w/mesos-gpu", read_only);
    expect(
        &agent,
        books,
        "checkpoint-not-writable",
        Severity::Error,
        "on a disk",
    );
    let memory = Place {
        in_memory: true,
        ..place(PlaceKind::Folder)
    };
    expect(
        &agent,
        set("/w/mesos-gpu", memory),
        "checkpoint-in-memory",
        Severity::Note,
        "on a disk",
    );
    let nvml = subject(&[("nvml_library", "/none.so")], &[]);
    let none = set("/none.so", place(PlaceKind::Missing));
    expect(
        &nvml,
        none,
        "nvml-library",
        Severity::Warning,
        "libnvidia-ml.so.1",
    );
    let posix = subject(
        &[],
        &[
            "--launcher=posix",
            "--isolation=cgroups/devices,mesos_gpu_Isolator",
        ],
    );
    let rules: Vec<_> = found(&posix, |_| {})
        .iter()
        .map(|one| (one.rule, one.severity))
        .collect();
    let want = [
        ("isolation-without-filesystem", Severity::Warning),
        ("launcher-posix", Severity::Warning),
    ];
    assert_eq!(rules, want);
}

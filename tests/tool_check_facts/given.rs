// SPDX-License-Identifier: Apache-2.0
//! An agent and a machine with nothing wrong, as facts, which each test spoils in one way.

use mesos_gpu::config::MesosFlags;
use mesos_gpu::domain::device::{DeviceNumber, NodeState};
use mesos_gpu::domain::gpu::{Unit, UnitId, UnitKind};
use mesos_gpu::tool::check::facts::{DriverFacts, Facts, LibraryFacts, Place, PlaceKind};
use mesos_gpu::tool::check::findings;
use mesos_gpu::tool::check::subject::{Mesos, Running, Source, Subject};
use mesos_gpu::tool::finding::{Finding, Severity};
use mesos_gpu::tool::modules::Role;
use serde_json::json;
use std::path::PathBuf;

const IMAGES: &str = "/var/run/mesos/mesos-gpu";

/// An agent with these parameters of its isolator, and these flags more.
pub fn subject(parameters: &[(&str, &str)], flags: &[&str]) -> Subject {
    let parameters: Vec<_> = parameters
        .iter()
        .map(|(key, value)| json!({ "key": key, "value": value }))
        .collect();
    let modules =
        json!([{ "name": "mesos_gpu_Isolator", "parameters": parameters }, { "name": "mesos_gpu_Hook" }]);
    let text = json!({ "libraries": [{ "name": "mesos_gpu", "modules": modules }] }).to_string();
    let mut argv: Vec<String> = ["mesos-agent", "--work_dir=/w", "--hooks=mesos_gpu_Hook"]
        .map(str::to_owned)
        .into();
    argv.push("--isolation=cgroups/devices,filesystem/linux,mesos_gpu_Isolator".to_owned());
    argv.extend(flags.iter().map(|flag| (*flag).to_owned()));
    let flags = MesosFlags::parse(&argv, &[], &|_| Err(std::io::ErrorKind::NotFound.into()));
    let running = Running {
        pid: 7,
        uid: Some(0),
        other_mounts: false,
    };
    let mesos = Mesos {
        role: Role::Agent,
        typed: flags.names().map(str::to_owned).collect(),
        flags,
        program: String::new(),
        library_path: None,
        running: Some(running),
    };
    let from = "modules.json".to_owned();
    Subject {
        manifests: vec![Source { from, text: Ok(text) }],
        mesos: Some(mesos),
    }
}

/// What stands at a path, and can be written to.
pub fn place(kind: PlaceKind) -> Place {
    Place {
        kind,
        writable: true,
        ..Place::default()
    }
}

/// An agent's machine with one GPU and nothing wrong.
fn good() -> Facts {
    let node = |minor| NodeState::Device(DeviceNumber { major: 195, minor });
    let unit = Unit {
        id: UnitId::new("GPU-1"),
        kind: UnitKind::Gpu,
        pci: "0000:3b:00.0".parse().unwrap(),
        minor: 0,
        index: Some(0),
        model: None,
        memory_bytes: None,
    };
    let nodes = [("nvidiactl", 255), ("nvidia-uvm", 1), ("nvidia0", 0)];
    let folders = ["/w/mesos-gpu", IMAGES, "/"];
    Facts {
        libraries: vec![LibraryFacts::Unknown],
        devices_hierarchy: Some(Ok("/sys/fs/cgroup/devices".into())),
        driver: DriverFacts {
            known: true,
            loaded: Some("580.159.04".to_owned()),
            library: Some("/lib/libnvidia-ml.so.580.159.04".into()),
            has_nvml_on_loader_path: true,
            units: vec![unit],
            nodes: nodes.map(|(name, minor)| (name.to_owned(), node(minor))).into(),
            ..DriverFacts::default()
        },
        places: folders
            .map(|folder| (PathBuf::from(folder), place(PlaceKind::Folder)))
            .into(),
        ..Facts::default()
    }
}

/// What is found of a subject on the good machine after this happened to it.
pub fn found(subject: &Subject, spoil: impl FnOnce(&mut Facts)) -> Vec<Finding> {
    let mut facts = good();
    spoil(&mut facts);
    findings(subject, |_, _| facts)
}

/// Expects exactly this finding of the subject after this happened to the machine.
pub fn expect(subject: &Subject, spoil: impl FnOnce(&mut Facts), rule: &str, severity: Severity, cure: &str) {
    let found = found(subject, spoil);
    let rules: Vec<_> = found.iter().map(|one| (one.rule, one.severity)).collect();
    assert_eq!(rules, [(rule, severity)], "{found:#?}");
    assert!(
        found[0].cure.contains(cure),
        "{:?} does not say {cure:?}",
        found[0].cure
    );
}

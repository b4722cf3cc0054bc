// SPDX-License-Identifier: Apache-2.0
//! `mesos-gpu list` over a simulated driver: every column, who holds what, and what it does when something is wrong.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;
mod tool;

use fake_nvml::{Fault, Machine};
use tool::{World, checkpoint, run, run_json, this_boot, tool, words};

fn list(world: &World, more: &[&str]) -> std::process::Command {
    let mut command = tool();
    command.arg("list").args(words(&world.parameters())).args(more);
    command
}

/// Three GPUs, the last of which is cut.
fn machine() -> Machine {
    let mut machine = Machine::with_gpus(3);
    machine.gpus[2] = machine.gpus[2].clone().with_mig(&["1g.18gb"]);
    machine
}

#[test]
fn every_gpu_is_a_line_with_all_that_is_known_of_it() {
    let world = World::of(&machine());
    let uuids: Vec<String> = machine().gpus.iter().map(|gpu| gpu.uuid.clone()).collect();
    checkpoint(&world, &this_boot(), &[("a.b", &[&uuids[1]])]);
    let work_dir = format!("--work-dir={}", world.text("work"));
    let (status, found) = run_json(&mut list(&world, &[&work_dir]));
    assert_eq!(
        (status, found["driver_version"].as_str()),
        (0, Some("580.159.04"))
    );
    let gpus = found["gpus"].as_array().unwrap();
    assert_eq!(gpus.len(), 3);
    let first = &gpus[0];
    for (field, want) in [
        ("index", serde_json::json!(0)),
        ("minor", 2.into()),
        ("uuid", uuids[0].as_str().into()),
        ("pci", machine().gpus[0].pci.as_str().into()),
        ("model", "NVIDIA H200".into()),
        ("memory_mib", 143_771.into()),
        ("mig", serde_json::Value::Null),
        ("health", "ok".into()),
        ("holders", serde_json::json!([])),
    ] {
        assert_eq!(first[field], want, "{field} of {first:#}");
    }
    assert_eq!(gpus[1]["holders"], serde_json::json!(["a.b"]));
    assert_eq!(gpus[2]["mig"]["profile"], "1g.18gb");
    assert_eq!(gpus[2]["mig"]["parent"], uuids[2].as_str());

    let (status, text, stderr) = run(&mut list(&world, &[&work_dir]));
    assert_eq!((status, stderr.as_str()), (0, ""));
    assert!(!text.contains('\x1b'), "colours without a terminal: {text:?}");
    let lines: Vec<&str> = text.lines().collect();
    let words: Vec<&str> = lines[0].split_whitespace().collect();
    let head = [
        "INDEX", "MINOR", "UUID", "PCI", "MODEL", "MEMORY", "MIG", "NUMA", "HEALTH", "HOLDER",
    ];
    assert_eq!(words, head);
    assert_eq!(lines.len(), 4);
    for (title, cell) in [
        ("UUID", uuids[1].as_str()),
        ("MEMORY", "143771 MiB"),
        ("HEALTH", "ok"),
        ("HOLDER", "a.b"),
    ] {
        let column = lines[0].find(title).unwrap();
        assert!(lines[2][column..].starts_with(cell), "{title} in {:?}", lines[2]);
    }
    assert!(lines[3].contains("1g.18gb "), "{}", lines[3]);
}

#[test]
fn parameters_choose_and_a_wrong_one_is_refused() {
    let world = World::of(&Machine::with_gpus(4));
    let (status, found) = run_json(&mut list(&world, &["gpus=0-3,!2"]));
    let indices: Vec<_> = found["gpus"]
        .as_array()
        .unwrap()
        .iter()
        .map(|gpu| gpu["index"].clone())
        .collect();
    assert_eq!((status, indices), (0, vec![0.into(), 1.into(), 3.into()]));
    let (status, _, stderr) = run(&mut list(&world, &["gpus=0-4"]));
    assert!(
        status == 2 && stderr.contains("\"4\" does not exist"),
        "{status} {stderr}"
    );
    let (status, _, stderr) = run(&mut list(&world, &["gpu=0"]));
    assert!(
        status == 2 && stderr.contains("nearest: gpus"),
        "{status} {stderr}"
    );
}

#[test]
fn without_gpus_the_reason_is_told_and_the_status_is_1() {
    let mut machine = Machine::with_gpus(1);
    machine.driver_loaded = false;
    let world = World::of(&machine);
    let (status, stdout, stderr) = run(&mut list(&world, &[]));
    assert_eq!((status, stdout.as_str()), (1, ""));
    assert!(
        stderr.contains("this machine has no GPU to hand out: nvmlInit_v2 failed"),
        "{stderr}"
    );
    let (status, found) = run_json(&mut list(&world, &[]));
    assert_eq!((status, found["gpus"].as_array().unwrap().len()), (1, 0));
}

#[test]
fn a_gpu_that_nvml_lost_is_sick_and_one_that_it_is_silent_on_is_unknown() {
    let world = World::of(&Machine::with_gpus(2).fault(Fault::code("*", 15).on_gpu(1)));
    let (status, found) = run_json(&mut list(&world, &[]));
    let health =
        |found: &serde_json::Value, nth: usize| found["gpus"][nth]["health"].as_str().unwrap().to_owned();
    assert_eq!(status, 0);
    assert_eq!(
        (health(&found, 0), health(&found, 1)),
        ("ok".to_owned(), "sick".to_owned())
    );
    assert!(found["gpus"][1]["health_reason"].is_string());

    world
        .simulation
        .update(&Machine::with_gpus(2).fault(Fault::code("nvmlInit_v2", 999)))
        .unwrap();
    let (status, found) = run_json(&mut list(&world, &[]));
    assert_eq!((status, health(&found, 0)), (0, "unknown".to_owned()));
    let (_, text, stderr) = run(&mut list(&world, &[]));
    assert!(
        text.contains("unknown") && stderr.contains("NVML's word on the GPUs is missing"),
        "{text}{stderr}"
    );
}

#[test]
fn the_holder_is_a_question_where_no_checkpoint_tells() {
    let world = World::of(&Machine::with_gpus(1));
    let uuid = Machine::with_gpus(1).gpus[0].uuid.clone();
    let folder = format!("--checkpoint-dir={}", world.text("work/mesos-gpu"));
    let holders = |world: &World| run_json(&mut list(world, &[&folder])).1["gpus"][0]["holders"].clone();
    assert_eq!(holders(&world), serde_json::Value::Null);
    assert!(run(&mut list(&world, &[&folder])).1.trim_end().ends_with('?'));
    checkpoint(&world, &this_boot(), &[("c", &[&uuid])]);
    assert_eq!(holders(&world), serde_json::json!(["c"]));
    checkpoint(&world, "another-boot", &[("c", &[&uuid])]);
    assert_eq!(holders(&world), serde_json::json!([]));
    world.write("work/mesos-gpu/checkpoint.json", "{");
    assert_eq!(holders(&world), serde_json::Value::Null);
}

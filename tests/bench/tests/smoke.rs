// SPDX-License-Identifier: Apache-2.0
//! The benchmark runs and writes a figure for every variant.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy only knows the tests themselves"
)]
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]

use std::process::Command;

/// Runs the benchmark and returns the rows that it wrote.
fn rows_of(name: &str, arguments: &[&str]) -> Vec<serde_json::Value> {
    let file = std::env::temp_dir().join(format!("mesos-gpu-bench-{name}-{}.json", std::process::id()));
    let status = Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(arguments)
        .arg(format!("--json={}", file.display()))
        .status()
        .unwrap();
    assert!(status.success());
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn median(rows: &[serde_json::Value], what: &str, variant: &str) -> f64 {
    let row = rows
        .iter()
        .find(|row| row["what"] == what && row["variant"] == variant);
    row.unwrap_or_else(|| panic!("{what} of {variant} is not in {rows:?}"))["median"]
        .as_f64()
        .unwrap()
}

#[test]
fn ROOT_CGROUPS_one_round_gives_a_figure_for_every_variant() {
    if let Some(lacking) = testbed::support::lacking_for_cgroups() {
        return testbed::support::skip(&format!("bench: {lacking}"));
    }
    let rows = rows_of("start", &["--rounds=1"]);
    let variants: Vec<&str> = rows.iter().map(|row| row["variant"].as_str().unwrap()).collect();
    assert_eq!(variants, ["no GPU support", "gpu/nvidia", "mesos-gpu"]);
    assert!(
        rows.iter().all(|row| row["median"].as_f64().unwrap() > 0.0),
        "{rows:?}"
    );
}

#[test]
fn ROOT_every_way_to_show_a_driver_gives_its_figures_and_the_volume_writes_and_adds_what_it_promises() {
    let output = Command::new("id").arg("-u").output().unwrap();
    if output.stdout != b"0\n" {
        return testbed::support::skip("bench driver-volume: root");
    }
    let small = [
        "driver-volume",
        "--rounds=1",
        "--containers=2",
        "--libraries=5",
        "--megabytes=8",
    ];
    let rows = rows_of("volume", &small);
    let median = |what: &str, variant: &str| median(&rows, what, variant);
    assert!(median("written at set-up", "copy") > 8.0);
    assert!(median("written at set-up", "volume") < 0.2);
    assert_eq!(median("mounts on the host", "volume"), 6.0);
    assert_eq!(median("container: mounts added", "volume"), 6.0);
    assert_eq!(median("container: mounts added", "bind each file"), 5.0);
    assert!(median("container: namespace and mounts", "volume") > 0.0);
}

/// Also that of every agent all is free in the end: the benchmark says so itself, and fails.
#[test]
fn a_small_round_of_the_allocators_gives_every_figure_for_every_variant() {
    let small = [
        "allocator",
        "--agents=40",
        "--frameworks=20",
        "--cycles=3",
        "--rounds=1",
    ];
    let rows = rows_of("allocator", &small);
    let of = |scenario: &str, what: &str| -> Vec<&str> {
        let rows = rows
            .iter()
            .filter(|row| row["scenario"] == scenario && row["what"] == what);
        rows.map(|row| row["variant"].as_str().unwrap()).collect()
    };
    for scenario in ["hold", "decline"] {
        for what in ["to last offer", "to drained", "processor time", "least of it"] {
            assert_eq!(of(scenario, what), ["strict", "share", "open"]);
        }
    }
    let positive = |row: &serde_json::Value| {
        let figures = [
            &row["median"],
            &row["beside_figures"]["median"],
            &row["ratio"]["median"],
        ];
        figures.iter().all(|figure| figure.as_f64().unwrap() > 0.0)
    };
    assert!(rows.iter().all(positive), "{rows:?}");
}

#[test]
fn ROOT_CGROUPS_images_give_their_figures_and_only_the_built_in_copies_the_driver() {
    if let Some(lacking) = testbed::support::lacking_for_cgroups() {
        return testbed::support::skip(&format!("bench images: {lacking}"));
    }
    let small = ["images", "--rounds=1", "--launches=2", "--megabytes=8"];
    let rows = rows_of("images", &small);
    let median = |what: &str, variant: &str| median(&rows, what, variant);
    let (start, launch) = ("start: copied to the volume", "first launch: copied");
    assert!(median(start, "gpu/nvidia") > 3.0);
    for variant in ["no GPU support", "mesos-gpu"] {
        assert_eq!((median(start, variant), median(launch, variant)), (0.0, 0.0));
    }
    let mounts = |variant: &str| median("mounts in a container", variant);
    assert!(mounts("gpu/nvidia") > mounts("no GPU support"));
    // One for each file.
    assert!(mounts("mesos-gpu") > mounts("gpu/nvidia"));
    for what in ["agent start, empty volume", "launch: program runs"] {
        for variant in ["no GPU support", "gpu/nvidia", "mesos-gpu"] {
            assert!(median(what, variant) > 0.0);
        }
    }
    assert!(median("in process: first fit", "mesos-gpu") > 0.0);
}

#[test]
fn a_look_at_16_gpus_of_200_containers_costs_the_agent_thread_no_millisecond() {
    let rows = rows_of("sampling", &["sampling", "--rounds=200"]);
    let on_agent_thread = |row: &&serde_json::Value| row["what"].as_str().unwrap().starts_with('a');
    assert_eq!(rows.iter().filter(on_agent_thread).count(), 6, "{rows:?}");
    for row in rows.iter().filter(on_agent_thread) {
        // A quarter of the figures, because this machine may have other work.
        let figure = row["first_quartile"].as_f64().unwrap();
        assert!(figure > 0.0 && figure < 1.0, "{row}");
    }
}

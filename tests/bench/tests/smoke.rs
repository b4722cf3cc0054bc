// SPDX-License-Identifier: Apache-2.0
//! The benchmark runs and writes a figure for every variant.
#![allow(clippy::unwrap_used, reason = "clippy only knows the tests themselves")]
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]

use std::process::Command;

#[test]
fn ROOT_CGROUPS_one_round_gives_a_figure_for_every_variant() {
    if let Some(lacking) = testbed::support::lacking_for_cgroups() {
        return testbed::support::skip(&format!("bench: {lacking}"));
    }
    let file = std::env::temp_dir().join(format!("mesos-gpu-bench-{}.json", std::process::id()));
    let status = Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(["--rounds=1", &format!("--json={}", file.display())])
        .status()
        .unwrap();
    assert!(status.success());
    let rows: Vec<serde_json::Value> =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    std::fs::remove_file(&file).unwrap();
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
    let file = std::env::temp_dir().join(format!("mesos-gpu-bench-volume-{}.json", std::process::id()));
    let small = [
        "driver-volume",
        "--rounds=1",
        "--containers=2",
        "--libraries=5",
        "--megabytes=8",
    ];
    let status = Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(small)
        .arg(format!("--json={}", file.display()))
        .status()
        .unwrap();
    assert!(status.success());
    let rows: Vec<serde_json::Value> =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    std::fs::remove_file(&file).unwrap();
    let median = |what: &str, variant: &str| {
        let row = rows
            .iter()
            .find(|row| row["what"] == what && row["variant"] == variant);
        row.unwrap_or_else(|| panic!("{what} of {variant} is not in {rows:?}"))["median"]
            .as_f64()
            .unwrap()
    };
    assert!(median("written at set-up", "copy") > 8.0);
    assert!(median("written at set-up", "volume") < 0.2);
    assert_eq!(median("mounts on the host", "volume"), 6.0);
    assert_eq!(median("container: mounts added", "volume"), 6.0);
    assert_eq!(median("container: mounts added", "bind each file"), 5.0);
    assert!(median("container: namespace and mounts", "volume") > 0.0);
}

#[test]
fn a_look_at_16_gpus_of_200_containers_costs_the_agent_thread_no_millisecond() {
    let file = std::env::temp_dir().join(format!("mesos-gpu-bench-sampling-{}.json", std::process::id()));
    let status = Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(["sampling", "--rounds=200", &format!("--json={}", file.display())])
        .status()
        .unwrap();
    assert!(status.success());
    let rows: Vec<serde_json::Value> =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    std::fs::remove_file(&file).unwrap();
    let on_agent_thread = |row: &&serde_json::Value| row["what"].as_str().unwrap().starts_with('a');
    assert_eq!(rows.iter().filter(on_agent_thread).count(), 6, "{rows:?}");
    for row in rows.iter().filter(on_agent_thread) {
        // A quarter of the figures, because this machine may have other work.
        let figure = row["first_quartile"].as_f64().unwrap();
        assert!(figure > 0.0 && figure < 1.0, "{row}");
    }
}

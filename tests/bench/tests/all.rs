// SPDX-License-Identifier: Apache-2.0
//! The whole benchmark, as small as it can be: every row is there with a figure of every variant that it is about, and the
//! table and the chart are made of them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy only knows the tests themselves"
)]
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const ALL: [&str; 3] = ["no GPU support", "gpu/nvidia", "mesos-gpu"];
const OURS: [&str; 1] = ["mesos-gpu"];
const SMALL: [&str; 12] = [
    "all",
    "--rounds=1",
    "--launches=1",
    "--at-once=3",
    "--native=3",
    "--recovered=2",
    "--recovered-native=20",
    "--idle=1",
    "--agents=40",
    "--megabytes=8",
    "--json=report.json",
    "--svg=chart.svg",
];

fn bench(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
    command.args(arguments).current_dir(folder).output().unwrap()
}

/// What must be measured, of whom.
fn wanted() -> Vec<(String, &'static [&'static str])> {
    let mut rows: Vec<(String, &[&str])> = Vec::new();
    let of_all = [
        "agent start, cold",
        "agent start, warm",
        "written by a cold start",
        "memory after a start",
        "written by a launch",
        "cleanup, host",
        "cleanup, image",
        "memory after the launches",
        "3 launches at once, host",
        "3 launches at once, image",
        "growth by a GPU, until its task runs",
        "recovery of 2 containers",
        "processor of an idle agent, 1 s",
    ];
    rows.extend(of_all.map(|what| (what.to_owned(), &ALL[..])));
    for place in ["host", "image"] {
        for gpus in ["1 GPU", "2 GPUs", "8 GPUs"] {
            rows.push((format!("launch, {gpus}, {place}"), &ALL));
            if place == "host" || gpus == "1 GPU" {
                rows.push((format!("own share of a launch, {gpus}, {place}"), &OURS));
            }
        }
        rows.push((format!("own share of a cleanup, {place}"), &OURS));
    }
    let ours = [
        "own share of a start",
        "own share of a growth",
        "own share of the recovery of 20 containers",
        "estimator, a look, 16 GPUs with guests",
        "estimator, an answer, 16 GPUs with guests",
        "library, stripped",
    ];
    rows.extend(ours.map(|what| (what.to_owned(), &OURS[..])));
    let beside = [
        "allocator cycle, strict, elapsed",
        "allocator cycle, strict, processor",
        "allocator cycle, share, elapsed",
        "allocator cycle, share, processor",
    ];
    rows.extend(beside.map(|what| (what.to_owned(), &ALL[1..])));
    rows
}

#[test]
fn ROOT_CGROUPS_every_row_is_measured_and_the_table_and_the_chart_are_made_of_them() {
    if let Some(lacking) = testbed::support::lacking_for_cgroups() {
        return testbed::support::skip(&format!("bench all: {lacking}"));
    }
    let folder = std::env::temp_dir().join(format!("mesos-gpu-bench-all-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let output = bench(&folder, &SMALL);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let report: Value = serde_json::from_str(&read("report.json")).unwrap();
    let rows = report["rows"].as_array().unwrap();
    for (what, variants) in wanted() {
        let row = rows.iter().find(|row| row["what"] == *what);
        let row = row.unwrap_or_else(|| panic!("{what} is not in {report:#}"));
        let figures = row["figures"].as_array().unwrap();
        let measured: Vec<&str> = figures
            .iter()
            .map(|one| one["variant"].as_str().unwrap())
            .collect();
        assert_eq!(measured, variants, "{what}");
        for figure in figures {
            let median = figure["median"].as_f64().unwrap();
            // The file system of the temporary folder may be in memory, and an idle agent may do nothing at all.
            let may_be_nothing = what.starts_with("written") || what.starts_with("processor");
            assert!(
                median > 0.0 || may_be_nothing && median == 0.0,
                "{what}: {figure}"
            );
        }
        let has_both = variants.len() == 3;
        let beside = &figures[figures.len() - 1];
        assert_eq!(
            beside["to_none"].is_object() || figures[0]["median"] == 0.0,
            has_both,
            "{row}"
        );
    }
    assert_eq!(rows.len(), wanted().len(), "{report:#}");
    assert_eq!(report["failed"], Value::Array(Vec::new()));

    // A document gets the same table from the file, and keeps the rest.
    let document = "head\n<!-- bench: begin -->\nold\n<!-- bench: end -->\ntail\n";
    std::fs::write(folder.join("document.md"), document).unwrap();
    let shown = bench(
        &folder,
        &["show", "report.json", "--markdown=document.md", "--svg=again.svg"],
    );
    assert!(
        shown.status.success(),
        "{}",
        String::from_utf8_lossy(&shown.stderr)
    );
    assert_eq!(shown.stdout, output.stdout);
    let document = read("document.md");
    assert!(
        document.starts_with("head\n") && document.ends_with("\ntail\n") && !document.contains("\nold\n")
    );
    let lines = document.lines().filter(|line| line.starts_with("| ")).count();
    assert_eq!(lines, rows.len() + 1, "{document}");
    assert_eq!(read("again.svg"), read("chart.svg"));
    assert!(read("chart.svg").contains("agent start, cold"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_document_has_every_option_and_every_part_and_a_place_for_the_table() {
    let output = bench(Path::new("/"), &["all", "--none-such"]);
    assert!(!output.status.success());
    let usage = String::from_utf8(output.stderr).unwrap();
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/benchmark.md");
    let document = std::fs::read_to_string(document).unwrap();
    let (options, parts) = usage.split_once("the rows are ").unwrap();
    let options = options
        .split("[--")
        .skip(1)
        .map(|rest| rest.split(['=', ']']).next().unwrap());
    let options: Vec<String> = options.map(|name| format!("`--{name}`")).collect();
    let parts = parts
        .trim()
        .split([',', ' '])
        .filter(|word| !["", "and"].contains(word));
    let parts: Vec<String> = parts.map(|name| format!("`{name}`")).collect();
    assert_eq!((options.len(), parts.len()), (14, 10), "{usage}");
    for name in options.iter().chain(&parts) {
        assert!(document.contains(name), "{name} is not in the document");
    }
    let (_, rest) = document.split_once("<!-- bench: begin -->").unwrap();
    assert!(rest.contains("<!-- bench: end -->"));
}

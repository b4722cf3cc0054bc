// SPDX-License-Identifier: Apache-2.0
//! The README and its chapters tell the truth: every key, flag, module, path, command, name and log line in them is one that
//! exists.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "readme/commands.rs"]
mod commands;
#[path = "readme/flags.rs"]
mod flags;
#[path = "readme/log_lines.rs"]
mod log_lines;
#[path = "readme/names.rs"]
mod names;
#[path = "readme/text.rs"]
mod text;

use mesos_gpu::config::allocator::ALLOCATOR_KEYS;
use mesos_gpu::config::{KEYS, Key};
use std::collections::BTreeSet;
use text::{code, documents, quoted, read, readme, root, rows, section};

#[test]
fn every_parameter_stands_in_the_table_with_its_default_and_meaning_and_no_other() {
    let oversubscription = read("docs/oversubscription.md");
    let table = rows(section(&oversubscription, "Parameters of oversubscription"));
    check_keys(&[rows(section(&readme(), "Parameters")), table].concat(), KEYS);
    let allocator = read("docs/allocator.md");
    check_keys(
        &rows(section(&allocator, "Parameters of the allocator")),
        ALLOCATOR_KEYS,
    );
}

fn check_keys(rows: &[Vec<String>], keys: &[Key]) {
    let names: Vec<String> = rows
        .iter()
        .map(|row| row[0].trim_matches('`').to_owned())
        .collect();
    assert_eq!(names, keys.iter().map(|key| key.name).collect::<Vec<_>>());
    for (row, key) in rows.iter().zip(keys) {
        assert_eq!(
            row[2].replace('`', ""),
            key.default.trim_matches(['(', ')']),
            "default of {}",
            key.name
        );
        assert_eq!(row[3].replace('`', ""), key.meaning, "meaning of {}", key.name);
    }
}

#[test]
fn every_metric_of_the_allocator_is_one_that_it_writes() {
    let code = read("src/domain/allocation_metrics.rs");
    let allocator = read("docs/allocator.md");
    let rows = rows(section(&allocator, "What can be seen"));
    assert!(rows.len() >= 4);
    for row in rows {
        let name = row[0].trim_matches('`').split('{').next().unwrap().to_owned();
        assert!(code.contains(&name), "nothing writes {name}");
    }
}

#[test]
fn every_module_stands_in_the_table_and_in_modules_json() {
    let json: serde_json::Value = serde_json::from_str(&read("modules.json")).unwrap();
    let named = json["libraries"][0]["modules"].as_array().unwrap();
    let named: BTreeSet<&str> = named
        .iter()
        .map(|module| module["name"].as_str().unwrap())
        .collect();
    let rows = rows(section(&readme(), "Load"));
    assert_eq!(
        rows.iter()
            .map(|row| row[0].trim_matches('`'))
            .collect::<BTreeSet<_>>(),
        named
    );
    let records = read("src/bridge/exports.rs");
    for row in &rows {
        let name = row[0].trim_matches('`');
        assert!(
            records.contains(&format!("static {name}: ModuleRecord")),
            "{name}"
        );
        assert!(records.contains(&format!("c\"{}\"", row[1])), "kind {}", row[1]);
    }
}

#[test]
fn every_verb_of_the_life_has_its_file() {
    for row in rows(section(&readme(), "The life of a container with GPUs")) {
        for verb in quoted(&row[0]) {
            let file = root().join(format!("src/isolator/{verb}.rs"));
            assert!(file.is_file(), "{}", file.display());
        }
    }
}

#[test]
fn the_benchmark_table_has_its_place() {
    let readme = readme();
    let benchmark = section(&readme, "Benchmark");
    for mark in ["<!-- bench: begin -->", "<!-- bench: end -->"] {
        assert!(code("tests/bench/src").contains(mark));
        assert!(benchmark.lines().any(|line| line == mark), "{mark}");
    }
}

#[test]
fn documents_say_nothing_of_sections_that_are_not_there() {
    // A heading that is linked to, `file.md#heading`.
    for document in documents() {
        for link in document.text.split("](").skip(1) {
            let target = link.split(')').next().unwrap();
            let own = !target.contains("://");
            let document_folder = root().join(&document.path).with_file_name("");
            assert!(
                !own || document_folder.join(target).exists(),
                "{}: {target}",
                document.path
            );
        }
    }
}

/// A bar within a cell begins another one, also in back quotes.
#[test]
fn every_row_of_a_table_has_the_cells_of_its_head() {
    for document in documents() {
        let mut head = None;
        for line in document.text.lines() {
            let cells = line.strip_prefix('|').map(|row| row.matches('|').count());
            match (head, cells) {
                (Some(want), Some(cells)) => assert_eq!(cells, want, "{}: {line}", document.path),
                _ => head = cells,
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The README tells the truth: every key, module, path, command and log line it names is one that exists.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use mesos_gpu::config::allocator::ALLOCATOR_KEYS;
use mesos_gpu::config::{KEYS, Key};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

/// The chapter on the allocator.
fn allocator_chapter() -> String {
    chapter("docs/allocator.md")
}

/// The chapter on idle GPUs that are offered a second time.
fn oversubscription_chapter() -> String {
    chapter("docs/oversubscription.md")
}

/// A chapter that the README names.
fn chapter(path: &str) -> String {
    assert!(readme().contains(&format!("`{path}`")));
    fs::read_to_string(root().join(path)).unwrap()
}

/// The text of the section under this heading.
fn section(heading: &str) -> String {
    let readme = readme();
    let start = readme
        .find(&format!("\n## {heading}\n"))
        .unwrap_or_else(|| panic!("the README has no {heading}"));
    let rest = &readme[start + 1..];
    rest[..rest[1..].find("\n## ").map_or(rest.len(), |end| end + 1)].to_owned()
}

/// The rows of the first table in a text, without its head.
fn rows(text: &str) -> Vec<Vec<String>> {
    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with("|---"))
        .skip(1)
        .take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        row.trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect()
    })
    .collect()
}

/// Everything in back quotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_parameter_stands_in_the_table_with_its_default_and_meaning_and_no_other() {
    let oversubscription = oversubscription_chapter();
    let table = oversubscription
        .split("## Parameters of oversubscription")
        .nth(1)
        .unwrap();
    check_keys(&[rows(&section("Parameters")), rows(table)].concat(), KEYS);
    let allocator = allocator_chapter();
    let table = allocator.split("## Parameters of the allocator").nth(1).unwrap();
    check_keys(&rows(table), ALLOCATOR_KEYS);
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
    let code = fs::read_to_string(root().join("src/domain/allocation_metrics.rs")).unwrap();
    let rows = rows(allocator_chapter().split("## What can be seen").nth(1).unwrap());
    assert!(rows.len() >= 4);
    for row in rows {
        let name = row[0].trim_matches('`').split('{').next().unwrap().to_owned();
        assert!(code.contains(&name), "nothing writes {name}");
    }
}

#[test]
fn every_module_stands_in_the_table_and_in_modules_json() {
    let json: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(root().join("modules.json")).unwrap()).unwrap();
    let named = json["libraries"][0]["modules"].as_array().unwrap();
    let named: BTreeSet<&str> = named
        .iter()
        .map(|module| module["name"].as_str().unwrap())
        .collect();
    let rows = rows(&section("Build and load"));
    assert_eq!(
        rows.iter()
            .map(|row| row[0].trim_matches('`'))
            .collect::<BTreeSet<_>>(),
        named
    );
    let records = fs::read_to_string(root().join("src/bridge/exports.rs")).unwrap();
    for (row, name) in rows.iter().zip(&named) {
        assert!(
            records.contains(&format!("static {}: ModuleRecord", row[0].trim_matches('`'))),
            "{name}"
        );
        assert!(records.contains(&format!("c\"{}\"", row[1])), "kind {}", row[1]);
    }
}

#[test]
fn every_verb_of_the_life_has_its_file() {
    for row in rows(&section("The life of a container with GPUs")) {
        for verb in quoted(&row[0]) {
            let file = root().join(format!("src/isolator/{verb}.rs"));
            assert!(file.is_file(), "{}", file.display());
        }
    }
}

#[test]
fn every_line_to_look_for_is_one_that_the_library_writes() {
    let mut code = String::new();
    for source in files(&root().join("src"))
        .into_iter()
        .chain(files(&root().join("cpp")))
    {
        code.push_str(&fs::read_to_string(source).unwrap());
    }
    // A text that is broken over lines in the code, and what is filled in, do not count.
    let plain = |text: &str| {
        text.replace("\\\n", "")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let code = plain(
        &code
            .replace("{} names", "names")
            .replace("\"\n", " ")
            .replace("MESOS_VERSION \"", "1.11.0"),
    );
    let oversubscription = oversubscription_chapter();
    let of_chapter = rows(oversubscription.split("## What the log says").nth(1).unwrap());
    assert!(of_chapter.len() >= 6);
    for row in rows(&section("When something is wrong"))
        .into_iter()
        .chain(of_chapter)
    {
        let line = row[0]
            .trim_matches('`')
            .replace("this machine has no GPU to hand out: ", "");
        let fixed: Vec<&str> = line
            .split(['…', ':'])
            .flat_map(|part| part.split("2 more wanted, 1 of 4 free"))
            .map(str::trim)
            .collect();
        for part in fixed.iter().filter(|part| part.len() > 4) {
            let shape = part
                .replace("gpu/nvidia and mesos_gpu_Isolator", "{BUILT_IN} and {own_name}")
                .replace("neither cgroups/devices nor cgroups/all", "neither {} nor {}")
                .replace("cannot load libnvidia-ml.so.1", "cannot load {library}")
                .replace("nvmlInit_v2 failed", "{call} failed")
                .replace(
                    "no GPU is handed out any more since",
                    "no GPU is handed out any more since {reason}",
                )
                .replace("as Mesos 1.11.0", "as Mesos");
            assert!(
                code.contains(&shape),
                "nothing writes {shape:?} (of {:?})",
                row[0]
            );
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect()
}

#[test]
fn every_path_of_the_repository_is_there() {
    let readme = readme();
    let tops = [
        "src",
        "cpp",
        "docs",
        "include",
        "tests",
        "modules.json",
        "LICENSE",
        "Cargo.toml",
    ];
    let paths = quoted(&readme)
        .into_iter()
        .filter(|text| tops.contains(&text.split('/').next().unwrap()));
    let mut checked = 0;
    for path in paths.filter(|path| !path.contains(' ')) {
        assert!(root().join(path).exists(), "{path}");
        checked += 1;
    }
    assert!(checked > 8, "only {checked} paths were found");
}

#[test]
fn every_package_and_subcommand_of_a_command_exists() {
    let readme = readme();
    let program = fs::read_to_string(root().join("tests/testbed/src/program.rs")).unwrap();
    let mut checked = 0;
    for command in readme.split("cargo run -p mesos-gpu-testbed -- ").skip(1) {
        let words: String = command
            .chars()
            .take_while(|c| c.is_ascii_alphabetic() || *c == '|')
            .collect();
        for word in words.split('|') {
            assert!(
                program.contains(&format!("Some(\"{word}\") =>")),
                "subcommand {word}"
            );
            checked += 1;
        }
    }
    assert!(checked >= 4);
    // tests/tool_docs.rs holds the tool's own chapter against the tool.
    assert!(readme.contains("`mesos-gpu list`") && readme.contains("`docs/tool.md`"));
}

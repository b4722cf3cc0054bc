// SPDX-License-Identifier: Apache-2.0
//! What the packages rest on, as their manifests and cargo say it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::licence;
use crate::tree::{assert_none, entries, root};

/// The packages of this repository and everything they are built from on this kind of machine.
fn packages() -> Vec<serde_json::Value> {
    // All platforms' would have to be downloaded first.
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "metadata",
        "--format-version",
        "1",
        "--offline",
        "--locked",
        "--filter-platform",
        &platform,
    ]);
    let output = cargo
        .current_dir(root())
        .stdin(Stdio::null())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let packages = metadata["packages"].as_array().expect("packages").clone();
    assert!(
        packages.len() > 20,
        "only {} packages were found: the test no longer sees them",
        packages.len()
    );
    packages
}

fn text<'a>(package: &'a serde_json::Value, field: &str) -> &'a str {
    package[field].as_str().unwrap_or("")
}

#[test]
fn every_licence_goes_with_ours() {
    let wrong: Vec<String> = packages()
        .iter()
        .filter(|package| !licence::allowed(text(package, "license")))
        .map(|one| {
            format!(
                "{} {}: `{}`",
                text(one, "name"),
                text(one, "version"),
                text(one, "license")
            )
        })
        .collect();
    assert_none(
        "licences that the list in tests/manifest/licence.rs does not allow",
        &wrong,
    );
}

#[test]
fn dependencies_come_from_the_registry_or_this_tree() {
    let comes_well = |one: &serde_json::Value| match one["source"].as_str() {
        Some(source) => source.starts_with("registry+"),
        None => Path::new(text(one, "manifest_path")).starts_with(root()),
    };
    let wrong: Vec<String> = packages()
        .iter()
        .filter(|one| !comes_well(one))
        .map(|one| format!("{} from {}", text(one, "name"), one["source"]))
        .collect();
    assert_none("dependencies from elsewhere", &wrong);
}

/// Not a failure: others choose their own pace. It is printed so that a new double is seen in review.
#[test]
fn crates_at_several_versions_are_listed() {
    let mut versions = BTreeMap::<String, BTreeSet<String>>::new();
    for one in packages() {
        versions
            .entry(text(&one, "name").to_owned())
            .or_default()
            .insert(text(&one, "version").to_owned());
    }
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        println!("{name}: {versions:?}");
    }
}

#[test]
fn every_dependency_says_why_it_is_there() {
    let (mut wrong, mut manifests) = (Vec::new(), 0);
    for one in entries()
        .iter()
        .filter(|one| one.path.file_name().is_some_and(|name| name == "Cargo.toml"))
    {
        manifests += 1;
        let text = one.text();
        wrong.extend(
            unexplained(&text)
                .iter()
                .map(|line| format!("{}: {line}", one.path.display())),
        );
    }
    assert!(
        manifests >= 3,
        "only {manifests} manifests were found: the test no longer sees them"
    );
    assert_none(
        "dependencies without a comment line above them (a block of lines may share one)",
        &wrong,
    );
}

/// The dependency lines that no comment line precedes in their block. A blank line or a heading ends a block.
fn unexplained(manifest: &str) -> Vec<&str> {
    let (mut in_dependencies, mut explained) = (false, false);
    let mut found = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            in_dependencies = line.trim_matches(['[', ']']).ends_with("dependencies");
        }
        if line.is_empty() || line.starts_with('[') {
            explained = false;
        } else if line.starts_with('#') {
            explained = true;
        } else if in_dependencies && !explained {
            found.push(line);
        }
    }
    found
}

#[test]
fn an_unexplained_dependency_is_seen() {
    let manifest = "[package]\nname = \"x\"\n\n[dependencies]\n# Why.\na = \"1\"\nb = \"1\"\n\nc = \"1\"\n\
                    [dev-dependencies]\nd = \"1\"\n[profile.dev]\ndebug = 1\n";
    assert_eq!(unexplained(manifest), ["c = \"1\"", "d = \"1\""]);
}

// SPDX-License-Identifier: Apache-2.0
//! The layers of the house (crate documentation): a module of `src` uses only modules that stand below it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

/// From the top down. Modules on one line do not know each other.
const LAYERS: [&[&str]; 7] = [
    &["bridge", "tool"],
    &["isolator", "advertise", "filter", "system"],
    &["agent"],
    &["ports"],
    &["config"],
    &["wire"],
    &["domain"],
];
/// What every layer may use.
const GROUND: &str = "error";

/// Where a higher layer is used on purpose: (module, what it uses, why).
const EXCEPTIONS: [(&str, &str, &str); 0] = [];

fn rank(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}

/// The top-level modules that a source names by `crate::<module>`.
fn uses(source: &str) -> Vec<String> {
    let code = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n");
    code.split("crate::")
        .skip(1)
        .flat_map(|rest| match rest.strip_prefix('{') {
            Some(list) => list
                .split('}')
                .next()
                .unwrap_or("")
                .split(',')
                .map(str::trim)
                .map(first_word)
                .collect(),
            None => vec![first_word(rest)],
        })
        .collect()
}

fn first_word(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

#[test]
fn a_module_uses_only_what_stands_below_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    let mut checked = 0;
    for path in sources(&src) {
        let relative = path.strip_prefix(&src).unwrap();
        let own = relative
            .iter()
            .next()
            .unwrap()
            .to_str()
            .unwrap()
            .trim_end_matches(".rs")
            .to_owned();
        if own == "lib" || own == "bin" {
            continue;
        }
        for used in uses(&fs::read_to_string(&path).unwrap()) {
            let Some(below) = rank(&used) else {
                assert!(
                    used == GROUND,
                    "{}: crate::{used} has no place in the layers",
                    path.display()
                );
                continue;
            };
            checked += 1;
            let allowed = used == own || rank(&own).is_some_and(|own| own < below);
            let excepted = EXCEPTIONS.iter().any(|(a, b, _)| *a == own && *b == used);
            if !allowed && !excepted {
                wrong.push(format!("{} uses crate::{used}", relative.display()));
            }
        }
    }
    assert!(
        checked > 50,
        "only {checked} uses were found: the test no longer reads the sources"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn unsafe_code_stays_in_its_rooms() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut rooms: Vec<PathBuf> = sources(&src)
        .into_iter()
        .filter(|path| fs::read_to_string(path).unwrap().contains("allow(unsafe_code)"))
        .map(|path| path.strip_prefix(&src).unwrap().to_path_buf())
        .collect();
    rooms.sort();
    assert_eq!(
        rooms,
        [
            PathBuf::from("bridge.rs"),
            PathBuf::from("system/nvml/mig_ids.rs")
        ]
    );
}

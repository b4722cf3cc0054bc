// SPDX-License-Identifier: Apache-2.0
//! The names in documents: parameters, metrics, variables, states, files. Each is one that the code knows, or that of
//! something that is not ours.

use super::flags::MESOS;
use super::text::{blocks, code, documents, files, quoted, read, readme, root};
use mesos_gpu::config::allocator::ALLOCATOR_KEYS;
use mesos_gpu::config::{KEYS, Key};
use std::fs;

/// Names of Mesos's, NVIDIA's, Prometheus's and systemd's that documents use and no code of ours needs.
const OTHERS: [&str; 23] = [
    // By cargo, of a crate's name.
    "libfake_nvml",
    "SHELL",
    "DESTDIR",
    "GPU_RESOURCES",
    "NVIDIA_REQUIRE_JETPACK",
    "PREFIX",
    "REASON_CONTAINER_PREEMPTED",
    "REVIVE",
    "REVOCABLE_RESOURCES",
    "SKIPPED",
    "SYSCONFDIR",
    "TASK_FAILED",
    "TASK_GONE",
    "TASK_LOST",
    "hpc_job",
    "node_exporter",
    "node_textfile_mtime_seconds",
    "share_cgroups",
    "gpus_percent",
    "gpus_total",
    "gpus_used",
    "executors_preempted",
    "tasks_failed",
];

fn is_name(word: &str) -> bool {
    let letters = |plain: fn(&u8) -> bool| word.bytes().all(|b| plain(&b) || b == b'_' || b.is_ascii_digit());
    let begins = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins
        && word.len() > 4
        && (letters(u8::is_ascii_uppercase) || (word.contains('_') && letters(u8::is_ascii_lowercase)))
}

/// The names in a quoted text: `key=value`, `series{label=}`, `a/b`, `NAME=value`.
fn names(quoted: &str) -> Vec<&str> {
    // A sentence of the log is checked as one.
    if quoted.split(' ').count() > 3 {
        return Vec::new();
    }
    quoted
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| is_name(word))
        .collect()
}

#[test]
fn every_name_is_one_that_the_code_knows() {
    let code = code("src")
        + &code("cpp")
        + &code("tests/testbed/src")
        + &code("packaging")
        + &read("build.rs")
        + &code("tests/harness")
        + &code("tests/bench/src")
        + &read("tests/run");
    let keys = KEYS.iter().chain(ALLOCATOR_KEYS).map(|key: &Key| key.name);
    let keys: Vec<&str> = keys.collect();
    let mut checked = 0;
    for document in documents() {
        for text in quoted(&document.text) {
            for name in names(&text) {
                let parts = name.strip_prefix("mesos_gpu_").unwrap_or(name);
                let known = keys.contains(&name)
                    || MESOS.contains(&name)
                    || OTHERS.contains(&name)
                    || code.contains(name)
                    || root().join(name).exists()
                    // Names of series are put together of their parts.
                    || (parts != name && code.contains(parts));
                assert!(known, "{}: nothing is called {name}, in `{text}`", document.path);
                checked += 1;
            }
        }
    }
    assert!(checked > 150, "only {checked} names were found");
}

#[test]
fn every_parameter_of_an_example_exists() {
    let mut checked = 0;
    for document in documents() {
        let mut texts = quoted(&document.text);
        texts.extend(blocks(&document.text, "json"));
        for text in texts.iter().filter(|text| text.contains("\"key\"")) {
            for rest in text.split("\"key\"").skip(1) {
                let key = rest.split('"').nth(1).unwrap();
                let mut all = KEYS.iter().chain(ALLOCATOR_KEYS);
                assert!(all.any(|known| known.name == key), "{}: {key}", document.path);
                checked += 1;
            }
        }
    }
    assert!(checked >= 2);
}

#[test]
fn every_path_of_the_repository_is_there() {
    let tops: Vec<String> = fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name != "target" && !name.starts_with('.'))
        .collect();
    let mut checked = 0;
    for document in documents() {
        for text in quoted(&document.text) {
            let path = text.split([' ', ',']).next().unwrap();
            if tops.iter().any(|top| path.split('/').next() == Some(top)) {
                assert!(root().join(path).exists(), "{}: {path}", document.path);
                checked += 1;
            }
        }
    }
    assert!(checked > 30, "only {checked} paths were found");
}

#[test]
fn every_chapter_is_named_in_the_readme() {
    let readme = readme();
    for path in files(&root().join("docs")) {
        let path = path.strip_prefix(root()).unwrap().display().to_string();
        let named = readme.contains(&format!("`{path}`"));
        assert!(named || !path.ends_with(".md"), "the README does not name {path}");
    }
}

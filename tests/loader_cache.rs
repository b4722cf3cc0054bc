// SPDX-License-Identifier: Apache-2.0
//! The cache that we write, in the hands of those for whom it is meant: the machine's own loader and `ldconfig`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fake_nvml::skip;
use mesos_gpu::domain::loader_cache::{self, AARCH64_FLAGS, Entry, X86_64_FLAGS};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LDCONFIG: &str = "/sbin/ldconfig";

/// Names that stand in one order as text and in another as the loader counts, beside the driver's own.
const NAMES: [&str; 20] = [
    "libcuda.so.1",
    "libcuda.so",
    "libnvidia-ml.so.1",
    "libnvidia-ptxjitcompiler.so.1",
    "libnvidia-glcore.so.580.159.04",
    "libnvidia-glcore.so.580.159.4a",
    "libodd.so.2",
    "libodd.so.10",
    "libodd.so.9",
    "libodd9.so",
    "libodd10.so",
    "libodd10a.so",
    "libodd",
    "libodd-1.so",
    "libodd_1.so",
    "libODD.so",
    "libodd~.so",
    "lib\u{e4}\u{f6}.so.1",
    "0.so",
    "zlast.so",
];

fn own_flags() -> i32 {
    if cfg!(target_arch = "aarch64") {
        AARCH64_FLAGS
    } else {
        X86_64_FLAGS
    }
}

fn entry(name: &str, folder: &Path) -> Entry {
    Entry {
        name: name.to_owned(),
        path: folder.join(name).to_str().unwrap().to_owned(),
        flags: own_flags(),
        os_version: 0,
        hwcap: 0,
    }
}

fn compile(folder: &Path, name: &str, text: &str, options: &[&str]) -> PathBuf {
    let (source, target) = (folder.join("source.c"), folder.join(name));
    fs::write(&source, text).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(options).arg("-o").arg(&target).arg(&source);
    assert!(compiler.status().unwrap().success(), "{compiler:?}");
    target
}

fn library(folder: &Path) -> PathBuf {
    compile(
        folder,
        "library",
        "int here(void) { return 1; }",
        &["-shared", "-fPIC"],
    )
}

/// Loads each library that it is given by name, and says from where it came.
const ASKER: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **names) {
    for (int at = 1; at < count; at++) {
        void *library = dlopen(names[at], RTLD_NOW);
        void *symbol = library ? dlsym(library, "here") : 0;
        Dl_info where;
        puts(symbol && dladdr(symbol, &where) ? where.dli_fname : "not found");
        if (library) dlclose(library);
    }
    return 0;
}
"#;

fn missing() -> Option<&'static str> {
    if !nix::unistd::geteuid().is_root() {
        return Some("root, to put a cache over the machine's own in a private mount namespace");
    }
    for (program, argument) in [
        ("cc", "--version"),
        ("unshare", "--version"),
        (LDCONFIG, "--version"),
    ] {
        if Command::new(program).arg(argument).output().is_err() {
            return Some(program);
        }
    }
    None
}

#[test]
fn root_the_loader_finds_every_name_by_the_written_cache_with_an_empty_environment() {
    if let Some(missing) = missing() {
        return skip(missing);
    }
    let temporary = tempfile::tempdir().unwrap();
    let (tools, odd) = (
        temporary.path().join("tools"),
        temporary.path().join("an odd folder"),
    );
    fs::create_dir_all(&tools).unwrap();
    fs::create_dir_all(&odd).unwrap();
    let library = library(&tools);
    for name in NAMES {
        fs::copy(&library, odd.join(name)).unwrap();
    }
    let asker = compile(&tools, "asker", ASKER, &["-ldl"]);
    let machines = fs::read("/etc/ld.so.cache").unwrap();
    let added: Vec<Entry> = NAMES.iter().map(|name| entry(name, &odd)).collect();
    // Over the machine's own, and alone.
    for base in [Some(&machines[..]), None] {
        let cache = tools.join("ld.so.cache");
        fs::write(&cache, loader_cache::with_added(base, &added).unwrap()).unwrap();
        let script = r#"mount --bind "$1" /etc/ld.so.cache && shift && exec env -i "$@""#;
        let output = Command::new("unshare")
            .args([
                "--mount",
                "--propagation",
                "private",
                "sh",
                "-e",
                "-c",
                script,
                "sh",
            ])
            .args([&cache, &asker])
            .args(NAMES)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let told = String::from_utf8(output.stdout).unwrap();
        let expected: Vec<&str> = added.iter().map(|entry| &entry.path[..]).collect();
        assert_eq!(
            told.lines().collect::<Vec<_>>(),
            expected,
            "base {}",
            base.is_some()
        );
    }
}

#[test]
fn ldconfig_lists_what_was_written_and_what_was_there() {
    if !Path::new(LDCONFIG).exists() {
        return skip(LDCONFIG);
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("ld.so.cache");
    let machines = fs::read("/etc/ld.so.cache").unwrap();
    let added: Vec<Entry> = NAMES.iter().map(|name| entry(name, Path::new("/odd"))).collect();
    fs::write(&cache, loader_cache::with_added(Some(&machines), &added).unwrap()).unwrap();
    let before = listed(Path::new("/etc/ld.so.cache"));
    let after = listed(&cache);
    assert!(!before.is_empty());
    for line in &before {
        assert!(after.contains(line), "{line:?} is gone");
    }
    assert_eq!(after.len(), before.len() + NAMES.len());
    for entry in &added {
        let line = after
            .iter()
            .find(|line| line.ends_with(&format!("=> {}", entry.path)));
        assert!(line.is_some_and(|line| line.contains(&entry.name)), "{entry:?}");
    }
}

/// `ldconfig`'s own caches with libraries for processors of a level, in both its forms.
#[test]
fn libraries_of_a_processor_level_stay_in_a_rewritten_cache() {
    if let Some(missing) = missing() {
        return skip(missing);
    }
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    let level = if cfg!(target_arch = "x86_64") {
        "lib/glibc-hwcaps/x86-64-v2"
    } else {
        return skip("a machine whose C library has named processor levels");
    };
    fs::create_dir_all(folder.join(level)).unwrap();
    let library = compile(
        folder,
        "lib/libodd.so.1",
        "int here(void) { return 1; }",
        &["-shared", "-fPIC", "-Wl,-soname,libodd.so.1"],
    );
    fs::copy(&library, folder.join(level).join("libodd.so.1")).unwrap();
    let (conf, cache) = (folder.join("conf"), folder.join("ld.so.cache"));
    fs::write(&conf, format!("{}\n", folder.join("lib").display())).unwrap();
    for form in ["new", "compat"] {
        let mut ldconfig = Command::new(LDCONFIG);
        ldconfig
            .args(["-X", "-c", form, "-f"])
            .arg(&conf)
            .arg("-C")
            .arg(&cache);
        assert!(ldconfig.status().unwrap().success(), "{ldconfig:?}");
        let (before, bytes) = (listed(&cache), fs::read(&cache).unwrap());
        assert_eq!(loader_cache::parse(&bytes).unwrap().len(), before.len(), "{form}");
        fs::write(&cache, loader_cache::with_added(Some(&bytes), &[]).unwrap()).unwrap();
        let after = listed(&cache);
        assert_eq!(after.len(), before.len(), "{form}");
        // `ldconfig` itself misreads the names of levels in the compatible form, so the rest of the line counts there.
        let place = |line: &str| line.split("=>").last().unwrap().to_owned();
        let changed: Vec<_> = before
            .iter()
            .zip(&after)
            .filter(|(before, after)| place(before) != place(after) || (form == "new" && before != after))
            .collect();
        assert!(changed.is_empty(), "{form}: {changed:?}");
        let named = after.iter().filter(|line| line.contains("hwcap: \"x86-64-v2\""));
        assert_eq!(named.count(), 1, "{form}");
    }
}

/// What `ldconfig` lists, a line for each entry, in the cache's order; twice the same line is told.
fn listed(cache: &Path) -> Vec<String> {
    let output = Command::new(LDCONFIG)
        .args(["-p", "-C"])
        .arg(cache)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<String> = text
        .lines()
        .filter(|line| line.contains("=>"))
        .map(str::to_owned)
        .collect();
    let mut counts = BTreeMap::new();
    for line in &lines {
        *counts.entry(line).or_insert(0) += 1;
    }
    assert!(
        counts.values().all(|count| *count == 1),
        "an entry stands there twice"
    );
    lines
}

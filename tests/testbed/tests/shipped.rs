// SPDX-License-Identifier: Apache-2.0
//! What ships: the shared library as the dynamic linker and Mesos's module manager see it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "shipped/elf.rs"]
mod elf;
#[path = "shipped/imports.rs"]
mod imports;
#[path = "shipped/library.rs"]
mod library;
#[path = "shipped/record.rs"]
mod record;

use std::collections::{BTreeMap, BTreeSet};

use elf::Dynamic;
use imports::Version;
use library::{Library, repository};
use record::{Opened, TEXTS};
use testbed::support;

/// The modules and their kinds, as Mesos spells them.
const KINDS: [(&str, &str); 5] = [
    ("mesos_gpu_Isolator", "Isolator"),
    ("mesos_gpu_Hook", "Hook"),
    ("mesos_gpu_Allocator", "Allocator"),
    ("mesos_gpu_ResourceEstimator", "ResourceEstimator"),
    ("mesos_gpu_QoSController", "QoSController"),
];
/// Modules that the library has and modules.json does not load: those that not every agent wants.
const NOT_IN_MODULES_JSON: [&str; 0] = [];

/// How new a system the library asks for, when it is built on a glibc no newer than `BUILT_ON`: raising a number takes
/// machines away from somebody, so it is done here, on purpose, and said to users.
const LIMITS: [(&str, Version); 4] = [
    ("GLIBC", Version::new(2, 34, 0)),
    ("GLIBCXX", Version::new(3, 4, 29)),
    ("CXXABI", Version::new(1, 3, 9)),
    ("GCC", Version::new(4, 2, 0)),
];
const BUILT_ON: Version = Version::new(2, 36, 0);

/// The libraries that a Mesos agent has loaded anyway.
const NEEDED: [&str; 7] = [
    "libstdc++.so.6",
    "libgcc_s.so.1",
    "libc.so.6",
    "ld-linux-x86-64.so.2",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
];

const MEBIBYTE: u64 = 1 << 20;

/// What modules.json names: the modules of each library.
fn manifest() -> BTreeMap<String, BTreeSet<String>> {
    let manifest: serde_json::Value = serde_json::from_str(&repository("modules.json")).unwrap();
    let name = |value: &serde_json::Value| value["name"].as_str().expect("a name").to_owned();
    let libraries = manifest["libraries"].as_array().expect("libraries");
    let modules = |one: &serde_json::Value| {
        one["modules"]
            .as_array()
            .expect("modules")
            .iter()
            .map(name)
            .collect()
    };
    libraries.iter().map(|one| (name(one), modules(one))).collect()
}

#[test]
fn the_library_exports_the_module_records_and_nothing_else() {
    let expected: BTreeSet<String> = KINDS.iter().map(|(module, _)| (*module).to_owned()).collect();
    for library in Library::all() {
        let exports: BTreeSet<String> = Dynamic::read(&library.data).exports.into_iter().collect();
        assert_eq!(exports, expected, "{}", library.path.display());
    }
}

#[test]
fn modules_json_loads_the_modules_of_this_library() {
    let manifest = manifest();
    let library = Library::tested();
    let file = library.path.file_name().unwrap().to_str().unwrap();
    // Mesos makes `lib<name>.so` of a name.
    assert_eq!(
        manifest
            .keys()
            .map(|name| format!("lib{name}.so"))
            .collect::<Vec<_>>(),
        [file]
    );
    let mut named: BTreeSet<String> = manifest.into_values().flatten().collect();
    named.extend(NOT_IN_MODULES_JSON.map(str::to_owned));
    let exports: BTreeSet<String> = Dynamic::read(&library.data).exports.into_iter().collect();
    assert_eq!(named, exports);
}

#[test]
fn what_it_takes_from_mesos_is_weak_and_listed() {
    let listed = imports::listed();
    assert!(listed.len() > 30, "cpp/imports.hpp is read wrongly: {listed:?}");
    for library in Library::all() {
        let imports = Dynamic::read(&library.data).imports;
        let foreign: Vec<_> = imports
            .iter()
            .filter(|import| imports::is_foreign_cpp(import))
            .collect();
        let strong: Vec<_> = foreign.iter().filter(|import| !import.weak).collect();
        assert!(
            strong.is_empty(),
            "{}: not weak: {strong:?}",
            library.path.display()
        );
        let asked: BTreeSet<String> = foreign.iter().map(|import| import.name.clone()).collect();
        let unlisted: Vec<_> = asked.difference(&listed).collect();
        assert!(
            unlisted.is_empty(),
            "{}: cpp/imports.hpp lacks {unlisted:?}",
            library.path.display()
        );
        // Where the compiler optimises, it drops a few.
        let unused: Vec<_> = listed.difference(&asked).collect();
        if !library.optimized {
            assert!(unused.is_empty(), "cpp/imports.hpp has {unused:?} for nothing");
        }
    }
}

/// A weak name without a version is one that the tools or Rust's library look for and do without.
#[test]
fn everything_else_it_takes_is_of_the_c_and_cpp_run_time() {
    for library in Library::all() {
        let imports = Dynamic::read(&library.data).imports;
        let stray: Vec<_> = imports
            .iter()
            .filter(|import| !imports::is_foreign_cpp(import) && !imports::is_of_the_system(import))
            .filter(|import| !import.weak || import.version.is_some())
            .collect();
        assert!(stray.is_empty(), "{}: {stray:#?}", library.path.display());
    }
}

#[test]
fn it_runs_on_systems_as_old_as_promised() {
    let here = Version::of_this_glibc();
    for library in Library::all() {
        let imports = Dynamic::read(&library.data).imports;
        for (family, limit) in LIMITS {
            let Some((highest, name)) = imports::highest(&imports, family) else {
                continue;
            };
            println!("{}: needs {family}_{highest}, for {name}", library.path.display());
            if here <= BUILT_ON {
                assert!(
                    highest <= limit,
                    "{name} needs {family}_{highest}, promised is {family}_{limit}"
                );
            }
        }
    }
    if here > BUILT_ON {
        support::skip(&format!(
            "it_runs_on_systems_as_old_as_promised: a glibc of at most {BUILT_ON} to build with (this is {here})"
        ));
    }
}

#[test]
fn it_needs_no_library_that_an_agent_might_lack() {
    for library in Library::all() {
        let needed = Dynamic::read(&library.data).needed;
        assert!(needed.iter().any(|one| one == "libc.so.6"), "{needed:?}");
        let strange: Vec<_> = needed
            .iter()
            .filter(|one| !NEEDED.contains(&one.as_str()))
            .collect();
        assert!(strange.is_empty(), "{} needs {strange:?}", library.path.display());
    }
}

#[test]
fn it_loads_without_mesos_and_its_records_are_as_mesos_wants_them() {
    for library in Library::all() {
        let opened = Opened::open(&library.path).unwrap();
        for (module, kind) in KINDS {
            let record = opened.record(module).unwrap();
            for (name, text) in TEXTS.iter().zip(&record.texts) {
                let text = text
                    .as_deref()
                    .unwrap_or_else(|| panic!("{module}: {name} is null, Mesos refuses that"));
                assert!(!text.trim().is_empty(), "{module}: {name} is empty");
            }
            let texts = record.texts.each_ref().map(|text| text.as_deref().unwrap_or(""));
            assert_eq!(texts[..3], ["2", "1.11.0", kind], "{module}");
            assert!(
                !record.has_check,
                "{module}: without a check, Mesos asks for equal versions"
            );
            assert!(record.has_factory, "{module}: Mesos calls the factory");
        }
        assert!(
            opened.record("mesos_gpu_create_isolator").is_err(),
            "{}",
            library.path.display()
        );
    }
}

#[test]
fn a_release_build_has_no_fault_injection() {
    const SWITCH: &str = "MESOS_GPU_FAULTS";
    let tested = Library::tested();
    // Else a release build lacks it because it is called something else.
    assert!(
        tested.optimized || tested.contains(SWITCH),
        "a debug build reads no {SWITCH}"
    );
    if let Some(library) = Library::released("a_release_build_has_no_fault_injection") {
        assert!(!library.contains(SWITCH), "{}", library.path.display());
    }
}

#[test]
fn a_release_build_is_small() {
    if let Some(library) = Library::released("a_release_build_is_small") {
        let bytes = Dynamic::read(&library.data).loaded_bytes;
        println!("{}: {bytes} bytes when stripped", library.path.display());
        assert!(
            bytes > 0 && bytes <= 4 * MEBIBYTE,
            "{} is {bytes} bytes when stripped",
            library.path.display()
        );
    }
}

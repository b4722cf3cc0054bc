// SPDX-License-Identifier: Apache-2.0
//! The driver's files on hosts of every kind, laid out in temporary trees: what is found, what is left out, and that a host
//! in disorder gives notes instead of failures.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "driver_files/current.rs"]
mod current;
#[path = "driver_files/host.rs"]
mod host;
#[path = "driver_files/layouts.rs"]
mod layouts;
#[path = "driver_files/others.rs"]
mod others;
#[path = "driver_files/specification.rs"]
mod specification;

use host::{Host, OTHER, VERSION};
use std::fs;

#[test]
fn copies_of_32_and_64_bits_go_to_their_own_folders_in_whatever_order_the_cache_has_them() {
    for first_32 in [true, false] {
        let host = Host::new();
        let (wide, narrow) = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/i386-linux-gnu");
        for name in ["libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler"] {
            host.library(wide, name, VERSION, 64);
            host.library(narrow, name, VERSION, 32);
        }
        let folders = if first_32 { [narrow, wide] } else { [wide, narrow] };
        host.cache(&folders);
        let found = host.find().unwrap();
        for (place, folder) in [("lib64", wide), ("lib", narrow)] {
            let cuda = host::file(&found, &format!("{place}/libcuda.so.{VERSION}"));
            assert_eq!(cuda.source, host.path(&format!("{folder}/libcuda.so.{VERSION}")));
            assert_eq!(cuda.links, ["libcuda.so", "libcuda.so.1"]);
        }
        assert_eq!(found.files.len(), 6);
        assert_eq!(found.notes, Vec::<String>::new());
    }
}

#[test]
fn every_form_of_the_loader_cache_serves_and_without_a_usable_one_the_folders_do() {
    let host = Host::new();
    // A folder that only the cache knows.
    host.library("/srv/driver", "libcuda", VERSION, 64);
    host.library("/srv/driver", "libnvidia-ml", VERSION, 64);
    let new = host.cache(&["/srv/driver"]);
    let compatible = host::within_old_form(&new);
    let extended = host::extended(&new);
    for (form, bytes) in [
        ("new", &new),
        ("compatible", &compatible),
        ("extended", &extended),
    ] {
        fs::write(host.path("/etc/ld.so.cache"), bytes).unwrap();
        let found = host.find().unwrap();
        assert_eq!(found.files.len(), 2, "{form}");
        assert_eq!(found.notes, Vec::<String>::new(), "{form}");
    }

    host.library("/usr/lib64", "libcuda", VERSION, 64);
    let mut count = new.clone();
    count[20..24].copy_from_slice(&(1u32 << 31).to_le_bytes());
    let mut offsets = new.clone();
    offsets[52..60].fill(0xff);
    offsets[76..].fill(0xff);
    let hostile = [
        ("count", Some(count)),
        ("offsets", Some(offsets)),
        ("truncated", Some(new[..60].to_vec())),
        ("garbage", Some(vec![0xa5; 10_000])),
        ("empty", Some(Vec::new())),
        ("missing", None),
    ];
    for (what, bytes) in hostile {
        fs::remove_file(host.path("/etc/ld.so.cache")).unwrap();
        if let Some(bytes) = &bytes {
            fs::write(host.path("/etc/ld.so.cache"), bytes).unwrap();
        }
        let found = host.find().unwrap();
        assert_eq!(
            host::file(&found, &format!("lib64/libcuda.so.{VERSION}")).source,
            host.path(&format!("/usr/lib64/libcuda.so.{VERSION}")),
            "{what}"
        );
        let told = found.notes.iter().any(|note| note.contains("ld.so.cache"));
        assert_eq!(told, what != "offsets", "{what}: {:?}", found.notes);
        fs::write(host.path("/etc/ld.so.cache"), b"").unwrap();
    }
}

#[test]
fn libraries_never_heard_of_are_found_by_the_version_and_other_versions_are_left_out() {
    let host = Host::new();
    let folder = "/usr/lib/x86_64-linux-gnu";
    host.library(folder, "libcuda", VERSION, 64);
    host.cache(&[folder]);
    // After the cache was written.
    for name in [
        "libnvidia-gpucomp",
        "libnvidia-of-a-branch-to-come",
        "libsomethingnew",
    ] {
        host.library(folder, name, VERSION, 64);
        host.library(folder, name, OTHER, 64);
    }
    host.plain(&format!("{folder}/libnvidia-container.so.1.17.4"), &host::elf(64));
    host.plain(&format!("{folder}/libcudart.so.12.8.57"), &host::elf(64));
    let found = host.find().unwrap();
    let names: Vec<&str> = found.files.iter().map(|file| &file.name[..]).collect();
    assert_eq!(
        names,
        [
            "libcuda",
            "libnvidia-gpucomp",
            "libnvidia-of-a-branch-to-come",
            "libsomethingnew"
        ]
        .map(|name| format!("{name}.so.{VERSION}"))
    );
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.contains(OTHER) && note.contains(VERSION)),
        "{:?}",
        found.notes
    );
}

#[test]
fn a_library_in_disorder_is_a_note_and_never_an_error() {
    let host = Host::new();
    let folder = "/usr/lib64";
    host.library(folder, "libcuda", VERSION, 64);
    host.library(folder, "libnvidia-gone", VERSION, 64);
    host.cache(&[folder]);
    fs::remove_file(host.path(&format!("{folder}/libnvidia-gone.so.{VERSION}"))).unwrap();
    host.plain(&format!("{folder}/libnvidia-text.so.{VERSION}"), b"#!/bin/sh");
    host.plain(&format!("{folder}/libnvidia-cut.so.{VERSION}"), b"\x7fELF");
    fs::create_dir(host.path(&format!("{folder}/libnvidia-folder.so.{VERSION}"))).unwrap();
    host.link(
        &format!("{folder}/libnvidia-circle.so.1"),
        "libnvidia-circle.so.1",
    );
    nix::unistd::mkfifo(
        &host.path(&format!("{folder}/libnvidia-pipe.so.{VERSION}")),
        nix::sys::stat::Mode::S_IRWXU,
    )
    .unwrap();
    host.link(
        &format!("{folder}/libnvidia-pipe.so.1"),
        &format!("libnvidia-pipe.so.{VERSION}"),
    );
    let found = host.find().unwrap();
    assert_eq!(found.files.len(), 1, "{:?}", found.files);
    for odd in ["gone.so.1", "text.so", "cut.so", "circle.so.1", "pipe.so"] {
        let told = found
            .notes
            .iter()
            .filter(|note| note.contains(&format!("libnvidia-{odd}")));
        assert!(told.count() >= 1, "{odd}: {:?}", found.notes);
    }
}

#[test]
fn without_a_version_the_only_driver_is_taken_and_of_several_none() {
    let host = Host::new();
    let error = host.search().find(None).unwrap_err();
    assert!(
        error.contains("no libraries of NVIDIA driver of any version below"),
        "{error}"
    );
    host.library("/usr/lib64", "libcuda", VERSION, 64);
    host.library("/usr/lib64", "libnvidia-ml", VERSION, 64);
    assert_eq!(host.search().find(None).unwrap().version, VERSION);
    host.library("/usr/lib64", "libnvidia-ml", OTHER, 64);
    let error = host.search().find(None).unwrap_err();
    assert!(error.contains(&format!("{OTHER} and {VERSION}")), "{error}");
    assert_eq!(host.search().find(Some(OTHER)).unwrap().files.len(), 1);
    let error = host.search().find(Some("610.1")).unwrap_err();
    assert!(error.contains("610.1") && error.contains(VERSION), "{error}");
    for bad in ["", "1", "580", "../..", "580.1/x"] {
        let error = host.search().find(Some(bad)).unwrap_err();
        assert!(error.contains("numbers with dots"), "{bad:?}: {error}");
    }
}

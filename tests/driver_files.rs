// SPDX-License-Identifier: Apache-2.0
//! The driver's files on hosts of every kind, laid out in temporary trees: what is found, what is left out, and that a host
//! in disorder gives notes instead of failures.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "driver_files/host.rs"]
mod host;
#[path = "driver_files/layouts.rs"]
mod layouts;
#[path = "driver_files/specification.rs"]
mod specification;

use host::{Host, OTHER, VERSION};
use std::fs;
use std::time::Instant;

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

#[test]
fn programs_graphics_descriptions_and_firmware_come_along() {
    let host = Host::new();
    host.library("/usr/lib64", "libcuda", VERSION, 64);
    host.program("/usr/bin/nvidia-smi");
    host.program("/usr/local/nvidia/bin/nvidia-smi");
    host.program("/usr/sbin/nvidia-persistenced");
    host.program("/opt/smi/nvidia-cuda-mps-server-580");
    host.link(
        "/usr/bin/nvidia-cuda-mps-server",
        "/opt/smi/nvidia-cuda-mps-server-580",
    );
    host.plain("/usr/bin/nvidia-debugdump", b"not executable");
    for json in [
        "/usr/share/vulkan/icd.d/nvidia_icd.json",
        "/usr/share/vulkan/icd.d/intel_icd.json",
        "/etc/vulkan/icd.d/nvidia_icd.json",
        "/etc/vulkan/implicit_layer.d/nvidia_layers.json",
        "/usr/share/glvnd/egl_vendor.d/10_nvidia.json",
        "/usr/share/glvnd/egl_vendor.d/50_mesa.json",
        "/usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json",
    ] {
        host.plain(json, b"{}");
    }
    host.plain(
        &format!("/lib/firmware/nvidia/{VERSION}/gsp_ga10x.bin"),
        b"firmware",
    );
    host.plain(
        &format!("/lib/firmware/nvidia/{OTHER}/gsp_ga10x.bin"),
        b"firmware",
    );
    let found = host.find().unwrap();
    let mut shown: Vec<String> = found
        .files
        .iter()
        .map(|file| format!("{}/{} {}", file.place.folder(), file.name, file.links.join(" ")))
        .collect();
    shown.sort();
    assert_eq!(
        shown,
        [
            "bin/nvidia-cuda-mps-server-580 nvidia-cuda-mps-server".to_owned(),
            "bin/nvidia-persistenced ".to_owned(),
            "bin/nvidia-smi ".to_owned(),
            "firmware/gsp_ga10x.bin ".to_owned(),
            format!("lib64/libcuda.so.{VERSION} libcuda.so libcuda.so.1"),
            "share/egl/egl_external_platform.d/15_nvidia_gbm.json ".to_owned(),
            "share/glvnd/egl_vendor.d/10_nvidia.json ".to_owned(),
            "share/vulkan/icd.d/nvidia_icd.json ".to_owned(),
            "share/vulkan/implicit_layer.d/nvidia_layers.json ".to_owned(),
        ]
    );
    assert!(found.files.is_sorted());
    assert_eq!(
        host::file(&found, "bin/nvidia-smi").source,
        host.path("/usr/bin/nvidia-smi")
    );
    let told = |what: &str| found.notes.iter().any(|note| note.contains(what));
    assert!(
        told("nvidia-debugdump is left out: it is no executable file"),
        "{:?}",
        found.notes
    );
    assert!(
        told("/etc/vulkan/icd.d/nvidia_icd.json is left out"),
        "{:?}",
        found.notes
    );
}

#[test]
fn what_was_found_is_current_until_a_source_the_cache_or_a_folder_changes() {
    type Change = fn(&Host);
    let changes: [(&str, Change); 6] = [
        ("library replaced", |host| {
            let cuda = format!("/usr/lib64/libcuda.so.{VERSION}");
            host.plain(&format!("{cuda}.new"), &host::elf(64));
            fs::rename(host.path(&format!("{cuda}.new")), host.path(&cuda)).unwrap();
        }),
        ("library written", |host| {
            host.plain(
                &format!("/usr/lib64/libcuda.so.{VERSION}"),
                b"longer than before, and no library",
            );
        }),
        ("library gone", |host| {
            fs::remove_file(host.path(&format!("/usr/lib64/libcuda.so.{VERSION}"))).unwrap();
        }),
        ("library added", |host| {
            host.library("/usr/lib64", "libnvidia-new", VERSION, 64)
        }),
        ("cache written", |host| {
            drop(host.cache(&["/usr/lib64", "/usr/lib64"]))
        }),
        ("cache gone", |host| {
            fs::remove_file(host.path("/etc/ld.so.cache")).unwrap()
        }),
    ];
    for (what, change) in changes {
        let host = Host::new();
        host.library("/usr/lib64", "libcuda", VERSION, 64);
        host.cache(&["/usr/lib64"]);
        let search = host.search();
        let found = search.look(Some(VERSION)).unwrap();
        assert!(search.is_current(&found), "{what}");
        // Time stamps are as coarse as the kernel's tick.
        std::thread::sleep(std::time::Duration::from_millis(20));
        change(&host);
        assert!(!search.is_current(&found), "{what}");
        if let Ok(again) = search.look(Some(VERSION)) {
            assert_eq!(again.same_files(&found), what.starts_with("cache"), "{what}");
        }
    }
}

#[test]
fn asking_whether_forty_libraries_are_current_takes_far_less_than_a_millisecond() {
    let host = Host::new();
    for number in 0..40 {
        host.library(
            "/usr/lib64",
            if number == 0 { "libcuda" } else { "libnvidia-part" },
            &format!("{VERSION}{}", ""),
            64,
        );
        host.library("/usr/lib64", &format!("libnvidia-part{number}"), VERSION, 64);
    }
    // Among a distribution's own.
    for number in 0..2000 {
        host.plain(
            &format!("/usr/lib64/libfoo{number}.so.1.0.{number}"),
            &host::elf(64),
        );
        host.link(
            &format!("/usr/lib64/libfoo{number}.so.1"),
            &format!("libfoo{number}.so.1.0.{number}"),
        );
    }
    host.cache(&["/usr/lib64"]);
    let search = host.search();
    let mut finds = Vec::new();
    let mut checks = Vec::new();
    for _ in 0..20 {
        let start = Instant::now();
        let found = search.look(Some(VERSION)).unwrap();
        finds.push(start.elapsed());
        assert!(found.files.files.len() >= 40);
        let start = Instant::now();
        assert!(search.is_current(&found));
        checks.push(start.elapsed());
    }
    finds.sort();
    checks.sort();
    println!(
        "find: fastest {:?}, median {:?}; current: fastest {:?}, median {:?}",
        finds[0], finds[10], checks[0], checks[10]
    );
    // The fastest, as the machine may be busy.
    assert!(checks[0].as_micros() < 1000, "{checks:?}");
}

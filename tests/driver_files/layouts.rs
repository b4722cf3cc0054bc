// SPDX-License-Identifier: Apache-2.0
//! Hosts whose driver lies at places of their own.

use crate::host::{self, Host, VERSION};
use mesos_gpu::system::driver_files::DriverSearch;
use std::fs;

#[test]
fn hosts_without_the_usual_paths_are_searched_where_they_keep_the_driver() {
    for folder in [
        "/run/opengl-driver/lib",
        "/usr/lib/wsl/lib",
        "/usr/local/glibc/usr/lib",
        "/usr/local/nvidia/lib64",
        "/usr/lib64/nvidia",
        "/usr/lib/x86_64-linux-gnu/vdpau",
        "/lib64",
    ] {
        let host = Host::new();
        host.library(folder, "libcuda", VERSION, 64);
        let found = host.find().unwrap();
        let cuda = host::file(&found, &format!("lib64/libcuda.so.{VERSION}"));
        assert_eq!(cuda.source, host.path(&format!("{folder}/libcuda.so.{VERSION}")));
        assert_eq!(cuda.links, ["libcuda.so", "libcuda.so.1"], "{folder}");
    }
}

#[test]
fn nixos_links_into_its_store_are_followed() {
    let host = Host::new();
    let store = "/nix/store/abc-nvidia-x11/lib";
    for name in ["libcuda", "libnvidia-ml"] {
        host.library(store, name, VERSION, 64);
        for end in [format!(".so.{VERSION}"), ".so.1".to_owned(), ".so".to_owned()] {
            host.link(
                &format!("/nix/store/xyz-graphics-drivers/lib/{name}{end}"),
                &format!("{store}/{name}{end}"),
            );
        }
    }
    host.program("/nix/store/abc-nvidia-x11-bin/bin/nvidia-smi");
    host.link(
        "/nix/store/sys/sw/bin/nvidia-smi",
        "/nix/store/abc-nvidia-x11-bin/bin/nvidia-smi",
    );
    host.link("/run/opengl-driver", "/nix/store/xyz-graphics-drivers");
    host.link("/run/current-system", "/nix/store/sys");
    let found = host.find().unwrap();
    assert_eq!(found.files.len(), 3, "{:?}", found.files);
    let cuda = host::file(&found, &format!("lib64/libcuda.so.{VERSION}"));
    assert_eq!(cuda.source, host.path(&format!("{store}/libcuda.so.{VERSION}")));
    assert_eq!(cuda.links, ["libcuda.so", "libcuda.so.1"]);
    assert_eq!(
        host::file(&found, "bin/nvidia-smi").source,
        host.path("/nix/store/abc-nvidia-x11-bin/bin/nvidia-smi")
    );
}

#[test]
fn debians_alternatives_are_followed() {
    let host = Host::new();
    let (folder, own) = (
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/x86_64-linux-gnu/nvidia/current",
    );
    host.library(own, "libcuda", VERSION, 64);
    host.library(own, "libnvidia-unlisted", VERSION, 64);
    host.link(
        "/etc/alternatives/glx--libcuda.so.1",
        &format!("{own}/libcuda.so.1"),
    );
    host.link(
        &format!("{folder}/libcuda.so.1"),
        "/etc/alternatives/glx--libcuda.so.1",
    );
    host.cache(&[folder]);
    let found = host.find().unwrap();
    assert_eq!(
        found.files.len(),
        2,
        "the folder of the file is searched too: {:?}",
        found.files
    );
    assert_eq!(
        host::file(&found, &format!("lib64/libcuda.so.{VERSION}")).source,
        host.path(&format!("{own}/libcuda.so.{VERSION}"))
    );
}

#[test]
fn windows_hosts_whose_libraries_carry_no_version_are_served() {
    let host = Host::new();
    let folder = "/usr/lib/wsl/lib";
    for name in [
        "libcuda.so",
        "libcuda.so.1",
        "libcuda.so.1.1",
        "libdxcore.so",
        "libnvidia-ml.so.1",
        "libd3d12.so",
    ] {
        host.plain(&format!("{folder}/{name}"), &host::elf(64));
    }
    host.program(&format!("{folder}/nvidia-smi"));
    let found = host.find().unwrap();
    let names: Vec<&str> = found.files.iter().map(|file| &file.name[..]).collect();
    assert_eq!(
        names,
        [
            "libcuda.so",
            "libcuda.so.1",
            "libcuda.so.1.1",
            "libdxcore.so",
            "libnvidia-ml.so.1",
            "nvidia-smi"
        ]
    );
}

#[test]
fn a_stale_cache_without_cuda_is_completed_from_the_folders() {
    let host = Host::new();
    host.library("/usr/lib64", "libz", "1.2.13", 64);
    host.cache(&["/usr/lib64"]);
    host.library("/usr/local/glibc/usr/lib", "libcuda", VERSION, 64);
    assert_eq!(host.find().unwrap().files.len(), 1);
}

#[test]
fn absolute_links_of_a_driver_root_stay_in_it() {
    let host = Host::new();
    let root = "/run/nvidia/driver";
    host.library(&format!("{root}/opt/driver/lib"), "libcuda", VERSION, 64);
    host.link(&format!("{root}/usr/lib64"), "/opt/driver/lib");
    // The way to the root may have links as well.
    host.link("/var/driver", "/nowhere");
    std::os::unix::fs::symlink(host.path(root), host.path("/driver")).unwrap();
    let search = DriverSearch::new(Some(host.path("/driver")), None);
    let found = search.find(None).unwrap();
    assert_eq!(found.version, VERSION);
    assert_eq!(
        host::file(&found, &format!("lib64/libcuda.so.{VERSION}")).source,
        host.path(&format!("{root}/opt/driver/lib/libcuda.so.{VERSION}"))
    );
}

#[test]
fn links_out_of_a_driver_root_lead_nowhere() {
    let host = Host::new();
    let outside = host.path(&format!("/outside/libcuda.so.{VERSION}"));
    host.library("/outside", "libcuda", VERSION, 64);
    host.program("/outside/nvidia-smi");
    let root = "/run/nvidia/driver";
    host.library(&format!("{root}/usr/lib64"), "libnvidia-ml", VERSION, 64);
    host.link(
        &format!("{root}/usr/lib64/libcuda.so.1"),
        outside.to_str().unwrap(),
    );
    host.link(
        &format!("{root}/usr/lib64/libcuda.so"),
        &format!("../../../../../outside/libcuda.so.{VERSION}"),
    );
    host.link(
        &format!("{root}/usr/lib/x86_64-linux-gnu"),
        "../../../../../outside",
    );
    host.link(
        &format!("{root}/usr/bin/nvidia-smi"),
        "../../../../../outside/nvidia-smi",
    );
    let search = DriverSearch::new(Some(host.path(root)), None);
    let found = search.find(Some(VERSION)).unwrap();
    assert!(host::all_below(&found, &host.path(root)), "{:?}", found.files);
    assert_eq!(found.files.len(), 1);
    for link in ["libcuda.so.1", "libcuda.so ", "nvidia-smi", "no libcuda"] {
        assert!(
            found.notes.iter().any(|note| note.contains(link)),
            "{link}: {:?}",
            found.notes
        );
    }
}

#[test]
fn a_driver_root_that_is_none_is_refused_by_name() {
    let host = Host::new();
    let search = DriverSearch::new(Some(host.path("/nothing")), None);
    let error = search.find(Some(VERSION)).unwrap_err();
    assert!(
        error.contains("/nothing") && error.contains("No such file"),
        "{error}"
    );
}

#[test]
fn a_search_may_be_told_its_cache_and_its_folders() {
    let host = Host::new();
    host.library("/usr/lib64", "libcuda", VERSION, 64);
    host.library("/mine", "libcuda", VERSION, 64);
    let bytes = host.cache(&["/mine"]);
    fs::rename(host.path("/etc/ld.so.cache"), host.path("/my.cache")).unwrap();
    assert!(!bytes.is_empty());
    for (cache, folders) in [("/my.cache", vec![]), ("/none", vec!["/mine".into()])] {
        let search = host.search().looking_in(cache.into(), folders);
        let found = search.find(None).unwrap();
        assert!(
            host::all_below(&found, &host.path("/mine")),
            "{cache}: {:?}",
            found.files
        );
    }
}

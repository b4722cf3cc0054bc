// SPDX-License-Identifier: Apache-2.0
//! The driver's files that are no libraries.

use crate::host::{self, Host, OTHER, VERSION};

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
fn a_program_is_taken_before_a_script_of_the_host_and_a_script_before_nothing() {
    let host = Host::new();
    host.library("/usr/lib64", "libcuda", VERSION, 64);
    host.script("/usr/bin/nvidia-smi");
    host.program("/usr/local/nvidia/bin/nvidia-smi");
    host.script("/usr/bin/nvidia-debugdump");
    host.link("/usr/sbin/nvidia-debugdump", "/usr/bin/nvidia-debugdump");
    let found = host.find().unwrap();
    let source = |name: &str| host::file(&found, name).source.clone();
    assert_eq!(
        source("bin/nvidia-smi"),
        host.path("/usr/local/nvidia/bin/nvidia-smi")
    );
    assert_eq!(
        source("bin/nvidia-debugdump"),
        host.path("/usr/bin/nvidia-debugdump")
    );
    let told = |what: &str| found.notes.iter().filter(|note| note.contains(what)).count();
    assert_eq!(told("nvidia-debugdump is a script"), 1, "{:?}", found.notes);
    assert_eq!(told("nvidia-smi"), 0, "{:?}", found.notes);
}

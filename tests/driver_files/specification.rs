// SPDX-License-Identifier: Apache-2.0
//! Files that a specification of the Container Device Interface lists.

use crate::host::{self, Host, OTHER, VERSION};
use mesos_gpu::system::driver_files::DriverSearch;

fn search(host: &Host, text: &str) -> DriverSearch {
    host.plain("/etc/cdi/nvidia.yaml", text.as_bytes());
    DriverSearch::new(None, Some(host.path("/etc/cdi/nvidia.yaml")))
}

fn yaml(host: &Host, files: &[&str]) -> String {
    let mut text =
        "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices: []\ncontainerEdits:\n  hooks: []\n  mounts:\n"
            .to_owned();
    for file in files {
        let path = host.path(file);
        text += &format!(
            "  - hostPath: {0}\n    containerPath: {0}\n    options: [ro, rbind]\n",
            path.display()
        );
    }
    text
}

#[test]
fn the_files_of_a_specification_are_placed_by_what_they_are() {
    let host = Host::new();
    host.library("/odd/64", "libcuda", VERSION, 64);
    host.library("/odd/32", "libcuda", VERSION, 32);
    host.plain("/odd/64/libvendors-own.so.7", &host::elf(64));
    host.library("/odd/64", "libnvidia-not-listed", VERSION, 64);
    host.library("/odd/64", "libnvidia-old", OTHER, 64);
    host.program("/odd/nvidia-smi");
    host.plain("/usr/share/vulkan/icd.d/nvidia_icd.json", b"{}");
    host.plain("/lib/firmware/nvidia/gsp.bin", b"");
    std::os::unix::net::UnixListener::bind(host.path("/odd/socket")).unwrap();
    let listed = [
        &format!("/odd/64/libcuda.so.{VERSION}"),
        &format!("/odd/32/libcuda.so.{VERSION}"),
        "/odd/64/libvendors-own.so.7",
        "/odd/64/libnvidia-old.so.1",
        "/odd/nvidia-smi",
        "/usr/share/vulkan/icd.d/nvidia_icd.json",
        "/lib/firmware/nvidia/gsp.bin",
        "/odd/socket",
        "/odd/gone",
    ];
    let search = search(&host, &yaml(&host, &listed));
    for version in [Some(VERSION), None] {
        let found = search.find(version).unwrap();
        let mut shown: Vec<String> = found
            .files
            .iter()
            .map(|file| format!("{}/{} {}", file.place.folder(), file.name, file.links.join(" ")))
            .collect();
        shown.sort();
        assert_eq!(
            shown,
            [
                "bin/nvidia-smi ".to_owned(),
                "firmware/gsp.bin ".to_owned(),
                format!("lib/libcuda.so.{VERSION} libcuda.so libcuda.so.1"),
                format!("lib64/libcuda.so.{VERSION} libcuda.so libcuda.so.1"),
                "lib64/libvendors-own.so.7 ".to_owned(),
                "share/vulkan/icd.d/nvidia_icd.json ".to_owned(),
            ]
        );
        for note in ["not its devices, hooks", "socket", "gone", OTHER] {
            let told = found.notes.iter().filter(|told| told.contains(note)).count();
            assert_eq!(told, 1, "{note}: {:?}", found.notes);
        }
    }
}

#[test]
fn a_specification_serves_without_a_version_and_goes_stale_when_written() {
    let host = Host::new();
    host.library("/odd", "libcuda", VERSION, 64);
    let text = yaml(&host, &[&format!("/odd/libcuda.so.{VERSION}")]);
    let search = search(&host, &text);
    let found = search.look(None).unwrap();
    assert_eq!(found.files.version, VERSION);
    assert!(search.is_current(&found));
    host.plain("/etc/cdi/nvidia.yaml", (text + "# written afresh\n").as_bytes());
    assert!(!search.is_current(&found));
}

#[test]
fn a_specification_of_another_driver_is_an_error_that_names_both() {
    let host = Host::new();
    host.library("/odd", "libcuda", OTHER, 64);
    let search = search(&host, &yaml(&host, &[&format!("/odd/libcuda.so.{OTHER}")]));
    let error = search.find(Some(VERSION)).unwrap_err();
    assert!(
        error.contains(VERSION) && error.contains(OTHER) && error.contains("nvidia.yaml"),
        "{error}"
    );
}

#[test]
fn a_specification_that_is_none_is_an_error_with_its_path_and_what_was_expected() {
    let host = Host::new();
    for text in [
        "",
        "{",
        "kind: x\n",
        "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\n",
        "\u{0}",
    ] {
        let error = search(&host, text).find(Some(VERSION)).unwrap_err();
        let path = host.path("/etc/cdi/nvidia.yaml");
        assert!(
            error.contains(path.to_str().unwrap()) && error.contains("containerEdits"),
            "{text:?}: {error}"
        );
    }
    let missing = DriverSearch::new(None, Some(host.path("/etc/cdi/none.json")));
    let error = missing.find(Some(VERSION)).unwrap_err();
    assert!(error.contains("none.json: No such file"), "{error}");
}

// SPDX-License-Identifier: Apache-2.0
//! Names that are the driver's and names that only look so.

use super::*;

const VERSION: &str = "580.159.04";
const OWN: Class = Class {
    bits: Bits::Bits64,
    machine: Machine::X86_64,
};
const SMALL: Class = Class {
    bits: Bits::Bits32,
    machine: Machine::I386,
};

fn candidate(path: &str, class: Option<Class>, links: &[&str]) -> Candidate {
    Candidate {
        source: PathBuf::from(path),
        class,
        links: links.iter().map(|link| (*link).to_owned()).collect(),
    }
}

fn chosen(candidates: &[Candidate]) -> (Vec<String>, Vec<String>) {
    let mut choice = choose(candidates, VERSION, Machine::X86_64, Others::Known);
    let files = settled(choice.files, &mut choice.notes);
    let shown = |file: &DriverFile| format!("{}/{} {:?}", file.place.folder(), file.name, file.links);
    (files.iter().map(shown).collect(), choice.notes)
}

#[test]
fn libraries_never_heard_of_are_taken_by_their_version() {
    let (files, notes) = chosen(&[
        candidate(
            "/l/libcuda.so.580.159.04",
            Some(OWN),
            &["libcuda.so", "libcuda.so.1"],
        ),
        candidate("/l/libbrandnew.so.580.159.04", Some(OWN), &[]),
        candidate("/l/libcuda.so.550.54.15", Some(OWN), &[]),
        candidate("/l/libnvidia-ml.so.550.54.15", Some(OWN), &[]),
        candidate("/l/libother.so.550.54.15", Some(OWN), &[]),
        candidate("/l/libz.so.1.2.13", Some(OWN), &["libz.so.1"]),
        candidate("/l/libcudart.so.12.8.57", Some(OWN), &[]),
        candidate("/l/libnvidia-container.so.1.17.4", Some(OWN), &[]),
    ]);
    assert_eq!(
        files,
        [
            r#"lib64/libbrandnew.so.580.159.04 []"#,
            r#"lib64/libcuda.so.580.159.04 ["libcuda.so", "libcuda.so.1"]"#,
        ]
    );
    assert_eq!(
        notes,
        [
            "libraries of driver 550.54.15 are left out, as the driver is 580.159.04: 2, for example /l/libcuda.so.550.54.15"
        ]
    );
}

#[test]
fn each_width_has_its_folder_and_other_machines_none() {
    let arm = Class {
        bits: Bits::Bits64,
        machine: Machine::Aarch64,
    };
    let (files, notes) = chosen(&[
        candidate("/32/libcuda.so.580.159.04", Some(SMALL), &["libcuda.so.1"]),
        candidate("/64/libcuda.so.580.159.04", Some(OWN), &["libcuda.so.1"]),
        candidate("/arm/libcuda.so.580.159.04", Some(arm), &[]),
        candidate("/text/libcuda.so.580.159.04", None, &[]),
    ]);
    assert_eq!(
        files,
        [
            r#"lib/libcuda.so.580.159.04 ["libcuda.so.1"]"#,
            r#"lib64/libcuda.so.580.159.04 ["libcuda.so.1"]"#,
        ]
    );
    assert_eq!(
        notes,
        [
            "/arm/libcuda.so.580.159.04 is left out: it is for another machine, Aarch64 of 64 bits",
            "/text/libcuda.so.580.159.04 is left out: it is no ELF file that can be read",
        ]
    );
}

#[test]
fn parts_with_versions_of_their_own_are_taken_once() {
    let (files, notes) = chosen(&[
        candidate("/l/libnvidia-egl-wayland.so.1.1.9", Some(OWN), &[]),
        candidate(
            "/l/libnvidia-egl-wayland.so.1.1.13",
            Some(OWN),
            &["libnvidia-egl-wayland.so.1"],
        ),
        candidate(
            "/l/libnvidia-egl-gbm.so.1.1.2",
            Some(OWN),
            &["libnvidia-egl-gbm.so.1"],
        ),
        candidate("/l/libnvidia-api.so.1", Some(OWN), &[]),
        candidate("/l/libnvidia-nvvm70.so.4", Some(OWN), &[]),
        candidate(
            "/l/libGLX_nvidia.so.580.159.04",
            Some(OWN),
            &["libGLX_nvidia.so.0"],
        ),
    ]);
    assert_eq!(
        files,
        [
            r#"lib64/libGLX_nvidia.so.580.159.04 ["libGLX_indirect.so.0", "libGLX_nvidia.so.0"]"#,
            r#"lib64/libnvidia-api.so.1 []"#,
            r#"lib64/libnvidia-egl-gbm.so.1.1.2 ["libnvidia-egl-gbm.so.1"]"#,
            r#"lib64/libnvidia-egl-wayland.so.1.1.13 ["libnvidia-egl-wayland.so.1"]"#,
            r#"lib64/libnvidia-nvvm70.so.4 []"#,
        ]
    );
    assert_eq!(
        notes,
        ["/l/libnvidia-egl-wayland.so.1.1.9 is left out, as libnvidia-egl-wayland.so.1 is another file"]
    );
}

#[test]
fn of_the_same_name_the_first_stays_and_no_link_hides_a_file() {
    let (files, notes) = chosen(&[
        candidate(
            "/a/libcuda.so.580.159.04",
            Some(OWN),
            &["libcuda.so.1", "libx.so.580.159.04"],
        ),
        candidate("/b/libcuda.so.580.159.04", Some(OWN), &["libcuda.so"]),
        candidate("/a/libx.so.580.159.04", Some(OWN), &["libcuda.so.1"]),
    ]);
    assert_eq!(
        files,
        [
            r#"lib64/libcuda.so.580.159.04 ["libcuda.so", "libcuda.so.1"]"#,
            r#"lib64/libx.so.580.159.04 []"#,
        ]
    );
    assert_eq!(
        notes,
        ["/b/libcuda.so.580.159.04 is left out, as /a/libcuda.so.580.159.04 has the same name"]
    );
}

#[test]
fn on_windows_hosts_the_folder_tells() {
    for (path, belongs) in [
        ("/usr/lib/wsl/lib/libcuda.so.1.1", true),
        ("/usr/lib/wsl/lib/libdxcore.so", true),
        ("/usr/lib/wsl/lib/libnvidia-ml.so.1", true),
        ("/usr/lib/wsl/lib/libd3d12.so", false),
        ("/usr/lib/wsl/lib/nvidia-smi", false),
        ("/usr/lib/wsl/lib/libcuda.so", true),
        ("/usr/lib/libcuda.so.1.1", false),
        ("/usr/lib/libnvidia-egl-xcb.so.1.0.2", true),
        ("/usr/lib/libnvidia-egl-xcb.so.580.159.04", true),
        ("/usr/lib/libabsl_base.so.20220623.0.0", false),
    ] {
        assert_eq!(may_belong(Path::new(path)), belongs, "{path}");
    }
}

#[test]
fn on_windows_hosts_copies_instead_of_links_all_stay() {
    let copy = |name: &str| candidate(&format!("/usr/lib/wsl/lib/{name}"), Some(OWN), &[]);
    let (files, notes) = chosen(&["libcuda.so", "libcuda.so.1", "libcuda.so.1.1"].map(copy));
    assert_eq!(files.len(), 3, "{files:?} {notes:?}");
    assert_eq!(notes, Vec::<String>::new());
}

#[test]
fn a_driver_version_is_told_from_any_other() {
    for good in ["580.159.04", "390.157", "535.104.05", "1000.1"] {
        assert!(is_driver_version(good), "{good}");
    }
    for bad in [
        "",
        "580",
        "580.",
        ".580",
        "1.1",
        "12.8.57",
        "580.x",
        "580..1",
        "580.1/..",
        "20220623.0",
    ] {
        assert!(!is_driver_version(bad), "{bad}");
    }
    assert_eq!(version_in("libcuda.so.580.159.04"), Some("580.159.04"));
    assert_eq!(stem("libnvidia-ml.so.1"), "libnvidia-ml.so");
    assert_eq!(stem("lib.something"), "lib.something");
}

#[test]
fn the_versions_there_are_those_of_cuda_and_nvml() {
    let found = versions(&[
        candidate("/l/libcuda.so.580.159.04", None, &[]),
        candidate("/l/libnvidia-ml.so.550.54.15", None, &[]),
        candidate("/l/libother.so.123.4", None, &[]),
    ]);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["550.54.15", "580.159.04"]);
}

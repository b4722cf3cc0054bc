// SPDX-License-Identifier: Apache-2.0
//! A program in an image finds the driver's libraries although nothing in its environment says where they are, by the
//! image's own loader. The image is a small one, with the machine's C library and a program that is compiled here.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "image_loader/case.rs"]
mod case;
mod support;

use case::Case;
use mesos_gpu::domain::driver_file::{DriverFile, Place};
use mesos_gpu::domain::loader_cache::{self, Entry, X86_64_FLAGS, with_added};
use mesos_gpu::system::image_root::ImageRoot;
use mesos_gpu::system::image_root::loader::{self, LoaderCaches};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::PathBuf;
use std::process::Command;

const LIBRARY: &str = "libmesosgpuprobe.so.1";
const CACHE: &str = "etc/ld.so.cache";

fn driver() -> Vec<DriverFile> {
    vec![DriverFile {
        source: PathBuf::from("/nowhere/libmesosgpuprobe.so.580.159.04"),
        place: Place::Lib64,
        name: "libmesosgpuprobe.so.580.159.04".to_owned(),
        links: vec![LIBRARY.to_owned()],
    }]
}

#[test]
fn without_a_cache_the_driver_is_found_and_so_is_the_c_library() {
    let Some(case) = Case::new() else { return };
    case.assert_fails_for("/bin/probe", LIBRARY);
    case.show();
    let cache = loader_cache::parse(&fs::read(case.inside(CACHE)).unwrap()).unwrap();
    assert!(
        cache
            .iter()
            .all(|entry| entry.path.starts_with("/usr/local/nvidia/")),
        "{cache:?}"
    );
    case.assert_runs("/bin/probe");
}

#[test]
fn with_a_cache_everything_in_it_stays_found() {
    let Some(case) = Case::new() else { return };
    fs::write(
        case.inside("etc/ld.so.conf"),
        "/opt/extra\ninclude /etc/ld.so.conf.d/*.conf\n",
    )
    .unwrap();
    if !case.ldconfig() {
        return;
    }
    case.assert_runs("/bin/extra");
    case.assert_fails_for("/bin/probe", LIBRARY);
    let none: [&str; 0] = [];
    assert_eq!(case.show(), none);
    case.assert_runs("/bin/extra");
    case.assert_runs("/bin/probe");
    // The container starts, and runs its own.
    assert!(case.ldconfig());
    case.assert_runs("/bin/extra");
    case.assert_runs("/bin/probe");
}

/// The loader does not heed `LD_LIBRARY_PATH` there.
#[test]
fn a_set_user_id_program_finds_the_driver() {
    let Some(case) = Case::new() else { return };
    let program = case.inside("bin/probe");
    chown(&program, Some(65534), Some(65534)).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    let with_path = || {
        let mut chroot = Command::new("chroot");
        chroot.arg(case.folder.path()).arg("/bin/probe");
        chroot
            .env("LD_LIBRARY_PATH", "/usr/local/nvidia/lib64")
            .output()
            .unwrap()
            .status
    };
    let nosuid = nix::sys::statvfs::statvfs(case.folder.path())
        .unwrap()
        .flags()
        .contains(nix::sys::statvfs::FsFlags::ST_NOSUID);
    if nosuid {
        support::skip("a folder for temporary files that is not mounted nosuid");
        return;
    }
    assert!(!with_path().success(), "it is no set-user-id program");
    case.show();
    case.assert_runs("/bin/probe");
}

#[test]
fn a_cache_that_no_loader_can_read_is_replaced_and_told() {
    let Some(case) = Case::new() else { return };
    let mut lies = b"glibc-ld.so.cache1.1".to_vec();
    lies.extend([0xff; 28]);
    for cache in [b"".to_vec(), b"no cache".to_vec(), lies] {
        fs::write(case.inside(CACHE), cache).unwrap();
        let notes = case.show();
        assert!(
            notes
                .iter()
                .any(|note| note.contains("is replaced by one with the driver's libraries alone")),
            "{notes:?}"
        );
        case.assert_runs("/bin/probe");
    }
}

#[test]
fn what_ldconfig_will_forget_is_told() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("lib64")).unwrap();
    fs::write(folder.path().join("lib64/ld-linux-x86-64.so.2"), "").unwrap();
    let image = ImageRoot::open(folder.path()).unwrap();
    let notes = loader::show_libraries(&image, &driver(), &mut LoaderCaches::default());
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("includes no"), "{notes:?}");
    assert!(!folder.path().join("etc/ld.so.conf.d").exists(), "of no use");
    fs::write(
        folder.path().join("etc/ld.so.conf"),
        "include ld.so.conf.d/*.conf\n",
    )
    .unwrap();
    let none: [&str; 0] = [];
    assert_eq!(
        loader::show_libraries(&image, &driver(), &mut LoaderCaches::default()),
        none
    );
    assert_eq!(
        fs::read_to_string(folder.path().join("etc/ld.so.conf.d/00-mesos-gpu.conf")).unwrap(),
        "/usr/local/nvidia/lib64\n/usr/local/nvidia/lib\n"
    );
}

#[test]
fn a_musl_image_gets_no_cache_and_one_note() {
    let folder = tempfile::tempdir().unwrap();
    for (name, words) in [("musl", "is musl"), ("static", "no loader of the GNU C library")] {
        let root = folder.path().join(name);
        fs::create_dir_all(root.join("lib")).unwrap();
        fs::create_dir_all(root.join("etc")).unwrap();
        if name == "musl" {
            fs::write(root.join("lib/ld-musl-x86_64.so.1"), "").unwrap();
        }
        let image = ImageRoot::open(&root).unwrap();
        let notes = loader::show_libraries(&image, &driver(), &mut LoaderCaches::default());
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains(words), "{notes:?}");
        assert_eq!(
            fs::read_dir(root.join("etc")).unwrap().count(),
            0,
            "something was written"
        );
    }
}

#[test]
fn a_loader_in_the_usr_tree_is_seen_through_the_images_links() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("usr/lib64")).unwrap();
    fs::write(folder.path().join("usr/lib64/ld-2.36.so"), "").unwrap();
    symlink("usr/lib64", folder.path().join("lib64")).unwrap();
    symlink(
        "/usr/lib64/ld-2.36.so",
        folder.path().join("usr/lib64/ld-linux-x86-64.so.2"),
    )
    .unwrap();
    let image = ImageRoot::open(folder.path()).unwrap();
    loader::show_libraries(&image, &driver(), &mut LoaderCaches::default());
    assert!(folder.path().join(CACHE).is_file());
}

/// What an image could have the host run: its own `ldconfig`, or a library that is loaded into every program.
#[test]
fn nothing_of_the_image_is_run() {
    let Some(case) = Case::new() else { return };
    let canary = case.inside("canary");
    let script = format!("#!/bin/sh\ntouch {}\n", canary.display());
    for program in [
        "sbin/ldconfig",
        "sbin/ldconfig.real",
        "usr/sbin/ldconfig",
        "usr/bin/nvidia-modprobe",
    ] {
        let path = case.inside(program);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(
        case.inside("etc/ld.so.preload"),
        "/usr/local/nvidia/lib64/libmesosgpuprobe.so.1\n",
    )
    .unwrap();
    case.show();
    assert!(case.inside(CACHE).is_file());
    assert!(!canary.exists());
}

/// The caches that were made are kept, and found again by what the image brought.
#[test]
fn each_image_gets_its_own_cache_also_after_others_and_after_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let mut caches = LoaderCaches::default();
    let mut show = |name: &str, own: &[u8], files: &[DriverFile]| {
        let root = folder.path().join(name);
        fs::create_dir_all(root.join("lib64")).unwrap();
        fs::create_dir_all(root.join("etc")).unwrap();
        fs::write(root.join("lib64/ld-linux-x86-64.so.2"), "").unwrap();
        fs::write(root.join(CACHE), own).unwrap();
        let image = ImageRoot::open(&root).unwrap();
        let notes = loader::show_libraries(&image, files, &mut caches);
        (fs::read(root.join(CACHE)).unwrap(), notes)
    };
    let fresh = |own: &[u8], files: &[DriverFile]| with_added(Some(own), &loader::entries(files)).unwrap();
    let library = |name: &str| Entry {
        name: name.to_owned(),
        path: format!("/opt/{name}"),
        flags: X86_64_FLAGS,
        os_version: 0,
        hwcap: 0,
    };
    let one = with_added(None, &[library("libone.so.1")]).unwrap();
    let other = with_added(None, &[library("libtwo.so.1")]).unwrap();
    let (old, mut new) = (driver(), driver());
    new[0].links.push("libmesosgpuprobe.so.2".to_owned());
    let turns: [(&[u8], &[DriverFile]); 6] = [
        (&one, &old),
        (&other, &old),
        (&one, &old),
        (b"ruined", &old),
        (&one, &new),
        (&one, &old),
    ];
    for (number, (own, files)) in turns.into_iter().enumerate() {
        for again in 0..2 {
            let (made, notes) = show(&format!("{number}-{again}"), own, files);
            assert_eq!(made, fresh(own, files), "turn {number}");
            let told = notes.iter().any(|note| note.contains("is replaced by one"));
            assert_eq!(told, own == b"ruined", "turn {number}: {notes:?}");
        }
    }
    for number in 0..40 {
        let own = with_added(None, &[library(&format!("lib{number}.so.1"))]).unwrap();
        assert_eq!(show(&format!("many{number}"), &own, &old).0, fresh(&own, &old));
    }
    assert_eq!(show("last", &one, &old).0, fresh(&one, &old));
}

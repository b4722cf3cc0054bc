// SPDX-License-Identifier: Apache-2.0
//! Images in which something has no safe place.

use super::Case;
use crate::support::own_mounts::{bind, in_own_mounts};
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn an_image_whose_dev_or_proc_is_elsewhere_is_refused() {
    for name in ["dev", "proc"] {
        let case = Case::new();
        let place = case.root().join(name);
        fs::remove_dir(&place).unwrap();
        fs::create_dir(case.root().join("other")).unwrap();
        symlink("/other", &place).unwrap();
        assert!(
            case.refusal().contains("it is a link, which leads to"),
            "{}",
            case.refusal()
        );
        fs::remove_file(&place).unwrap();
        fs::write(&place, "").unwrap();
        assert!(
            case.refusal().contains(&format!("{name:?} is a regular file")),
            "{}",
            case.refusal()
        );
        fs::remove_file(&place).unwrap();
        assert!(case.fit().is_ok(), "an image need not have it");
    }
}

/// The task's own files are in the sandbox when the launcher looks at the path, and a link may be among them.
#[test]
fn nothing_is_mounted_where_something_else_will_be() {
    for (link, covered) in [
        ("/mnt/mesos/sandbox/x", None),
        ("/mnt", None),
        ("/dev/x", None),
        ("/sys/x", None),
        ("/", None),
        ("/data/x", Some("/data")),
        ("/data/x", Some("/alias")),
    ] {
        let mut case = Case::new();
        case.covered.extend(covered.map(str::to_owned));
        let below = case.root().join(link.trim_start_matches('/'));
        fs::create_dir_all(below).unwrap();
        fs::create_dir_all(case.root().join("usr/local")).unwrap();
        symlink("data", case.root().join("alias")).unwrap();
        symlink(link, case.root().join("usr/local/nvidia")).unwrap();
        let why = case.refusal();
        assert!(
            why.contains("something else is mounted on"),
            "{link} {covered:?}: {why}"
        );
    }
    let mut case = Case::new();
    case.covered.push("/usr/local".to_owned());
    assert!(case.refusal().contains("\"/usr/local\""), "{}", case.refusal());
}

#[test]
fn mounts_that_would_hide_each_other_are_refused() {
    let case = Case::new();
    fs::create_dir_all(case.root().join("usr/lib/firmware/nvidia/580.159.04")).unwrap();
    fs::create_dir_all(case.root().join("usr/local")).unwrap();
    symlink("/lib/firmware", case.root().join("usr/local/nvidia")).unwrap();
    assert!(
        case.refusal().contains("one hides the other"),
        "{}",
        case.refusal()
    );
}

#[test]
fn a_shared_read_only_image_is_used_as_it_is_or_refused() {
    in_own_mounts(|_| {
        for has_folder in [false, true] {
            let case = Case::new();
            if has_folder {
                fs::create_dir_all(case.root().join("usr/local/nvidia")).unwrap();
                fs::create_dir_all(case.root().join("lib64")).unwrap();
                fs::write(case.root().join("lib64/ld-linux-x86-64.so.2"), "").unwrap();
            }
            bind(&case.root(), &case.root(), true).unwrap();
            match case.fit() {
                Ok(outfit) => {
                    assert!(has_folder);
                    assert!(
                        outfit.notes.iter().any(|note| note.contains("is read-only")),
                        "{:?}",
                        outfit.notes
                    );
                    assert_eq!(outfit.mounts[0].target, case.root().join("usr/local/nvidia"));
                }
                Err(why) => {
                    assert!(!has_folder, "{why}");
                    assert!(
                        why.contains("\"usr/local\"") && why.contains("read-only"),
                        "{why}"
                    );
                }
            }
            nix::mount::umount(&case.root()).unwrap();
        }
    });
}

#[test]
fn a_node_with_a_path_out_of_dev_is_refused() {
    let mut case = Case::new();
    for path in ["../etc/passwd", "/etc/passwd", ""] {
        case.nodes[0].path = path.to_owned();
        assert!(case.fit().is_err(), "{path:?}");
    }
    case.nodes[0].path = case.nodes[1].path.clone();
    assert!(
        case.refusal().contains("one hides the other"),
        "{}",
        case.refusal()
    );
}

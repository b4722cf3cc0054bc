// SPDX-License-Identifier: Apache-2.0
//! Files and folders of an image: read up to a limit, replaced whole.

use super::Case;
use mesos_gpu::system::image_root::compat_names;
use std::fs::{self, File};

#[test]
fn a_file_is_replaced_whole_and_not_written_through_its_other_names() {
    let case = Case::new();
    let other = case.outside().join("cache");
    fs::write(&other, "host's").unwrap();
    case.make("etc");
    fs::hard_link(&other, case.inside("etc/ld.so.cache")).unwrap();
    case.image.replace("etc/ld.so.cache", b"ours").unwrap();
    assert_eq!(fs::read_to_string(&other).unwrap(), "host's");
    assert_eq!(case.image.read("etc/ld.so.cache", 100).unwrap().unwrap(), b"ours");
    let left = fs::read_dir(case.inside("etc")).unwrap().count();
    assert_eq!(left, 1, "something temporary stayed");
}

#[test]
fn a_linked_file_is_replaced_where_it_is() {
    let case = Case::new();
    case.make("var/cache");
    fs::write(case.inside("var/cache/loader"), "old").unwrap();
    case.link("etc/ld.so.cache", "/var/cache/loader");
    case.image.replace("etc/ld.so.cache", b"new").unwrap();
    assert!(case.inside("etc/ld.so.cache").is_symlink());
    assert_eq!(
        fs::read_to_string(case.inside("var/cache/loader")).unwrap(),
        "new"
    );

    let victim = case.outside().join("victim");
    case.link("etc/dangling", &victim);
    let error = case.image.replace("etc/dangling", b"x").unwrap_err().to_string();
    assert!(error.contains("leads to nothing"), "{error}");
    case.assert_untouched();
    fs::create_dir(case.inside("etc/folder")).unwrap();
    assert!(case.image.replace("etc/folder", b"x").is_err());
    case.link("etc/to-folder", "folder");
    assert!(case.image.replace("etc/to-folder", b"x").is_err());
}

#[test]
fn files_and_folders_are_read_up_to_a_limit() {
    let case = Case::new();
    case.make("etc");
    File::create(case.inside("etc/huge"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    let error = case.image.read("etc/huge", 1000).unwrap_err().to_string();
    assert!(error.contains("larger than 1000 bytes"), "{error}");
    fs::write(case.inside("etc/exact"), [7; 1000]).unwrap();
    assert_eq!(case.image.read("etc/exact", 1000).unwrap().unwrap(), [7; 1000]);
    assert_eq!(case.image.read("etc/none", 1000).unwrap(), None);
    assert!(case.image.has("etc/exact").unwrap() && !case.image.has("etc/none").unwrap());
    for number in 0..5000 {
        File::create(case.inside(&format!("etc/{number}"))).unwrap();
    }
    let names = case.image.names("etc").unwrap();
    assert!((4000..=4096).contains(&names.len()), "{}", names.len());
}

#[test]
fn compat_libraries_are_known_by_name_alone() {
    let case = Case::new();
    assert!(compat_names(&case.image).is_empty());
    case.make("usr/local/cuda-12.8/compat");
    case.link("usr/local/cuda", "/usr/local/cuda-12.8");
    for name in [
        "libcuda.so.570.86.10",
        "libcuda.so.1",
        "README",
        "libcuda.so.570\n.1",
    ] {
        File::create(case.inside("usr/local/cuda-12.8/compat").join(name)).unwrap();
    }
    assert_eq!(
        compat_names(&case.image),
        ["libcuda.so.1", "libcuda.so.570.86.10"]
    );
    for number in 0..1000 {
        let name = format!("libx.so.{number}");
        File::create(case.inside("usr/local/cuda-12.8/compat").join(name)).unwrap();
    }
    assert_eq!(
        compat_names(&case.image).len(),
        64,
        "an image says how much is read"
    );
}

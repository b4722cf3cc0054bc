// SPDX-License-Identifier: Apache-2.0
//! The contract of `DevNodes`, held by a real directory with real nodes and by the fake alike.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mesos_gpu::domain::device::DeviceNumber;
use mesos_gpu::ports::dev_nodes::{DevNodes, NodeState};
use mesos_gpu::system::dev_nodes::DevDir;
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use std::fs;
use std::os::unix::fs::symlink;
use support::FakeDevNodes;

fn device(major: u32, minor: u32) -> Result<NodeState, String> {
    Ok(NodeState::Device(DeviceNumber { major, minor }))
}

/// What every side promises; `put` makes a node, `remove` takes it away.
fn contract(nodes: &dyn DevNodes, put: &dyn Fn(&str, u32, u32), remove: &dyn Fn(&str)) {
    assert_eq!(nodes.stat("nvidia0"), Ok(NodeState::Missing));
    let none: [&str; 0] = [];
    assert_eq!(nodes.list().unwrap(), none);
    put("nvidia0", 195, 0);
    put("null", 1, 3);
    put("nvidia-caps/nvidia-cap1", 241, 1);
    // Numbers past 8 bits, whose parts the kernel stores apart.
    put("nvidia-uvm", 511, 70_000);
    assert_eq!(nodes.stat("nvidia0"), device(195, 0));
    assert_eq!(nodes.stat("nvidia-caps/nvidia-cap1"), device(241, 1));
    assert_eq!(nodes.stat("nvidia-uvm"), device(511, 70_000));

    assert_eq!(
        nodes.stat("nvidia-caps"),
        Ok(NodeState::Other("a directory".into()))
    );
    // Folders once, however much is in them; nothing but NVIDIA's.
    assert_eq!(nodes.list().unwrap(), ["nvidia-caps", "nvidia-uvm", "nvidia0"]);

    remove("nvidia0");
    assert_eq!(nodes.list().unwrap(), ["nvidia-caps", "nvidia-uvm"]);
    assert_eq!(nodes.stat("nvidia0"), Ok(NodeState::Missing));
    put("nvidia0", 195, 5);
    assert_eq!(nodes.stat("nvidia0"), device(195, 5), "every look is fresh");

    for outside in ["", "/dev/null", "../null", "nvidia-caps/../nvidia0", ".."] {
        let error = nodes.stat(outside).unwrap_err();
        assert!(error.contains(&format!("{outside:?}")), "{error}");
    }
}

#[test]
fn the_fake_holds_the_contract() {
    let fake = FakeDevNodes::new();
    contract(
        &fake,
        &|path, major, minor| fake.put(path, major, minor),
        &|path| fake.remove(path),
    );
}

#[test]
#[allow(non_snake_case)]
fn ROOT_the_real_directory_holds_the_contract() {
    if !support::is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let node = |path: &str, major: u32, minor: u32| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        mknod(
            &path,
            SFlag::S_IFCHR,
            Mode::S_IRUSR,
            makedev(major.into(), minor.into()),
        )
    };
    if let Err(errno) = node("a-probe", 195, 0) {
        return support::skip(&format!("the right to make device nodes: {errno}"));
    }
    contract(
        &DevDir::new(dir.path().to_owned()),
        &|path, major, minor| node(path, major, minor).unwrap(),
        &|path| fs::remove_file(dir.path().join(path)).unwrap(),
    );

    symlink("nvidia0", dir.path().join("link")).unwrap();
    mknod(
        &dir.path().join("block"),
        SFlag::S_IFBLK,
        Mode::S_IRUSR,
        makedev(8, 1),
    )
    .unwrap();
    let nodes = DevDir::new(dir.path().to_owned());
    assert_eq!(nodes.stat("link"), device(195, 5));
    assert_eq!(nodes.stat("block"), Ok(NodeState::Other("a block device".into())));
}

#[test]
fn what_is_no_device_is_told_in_words() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("nvidia0")).unwrap();
    fs::write(dir.path().join("nvidia1"), "").unwrap();
    symlink("nowhere", dir.path().join("nvidia2")).unwrap();
    symlink("nvidia3", dir.path().join("nvidia3")).unwrap();
    let nodes = DevDir::new(dir.path().to_owned());
    assert_eq!(nodes.stat("nvidia0"), Ok(NodeState::Other("a directory".into())));
    assert_eq!(
        nodes.stat("nvidia1"),
        Ok(NodeState::Other("a regular file".into()))
    );
    assert_eq!(nodes.stat("nvidia2"), Ok(NodeState::Missing));
    let error = nodes.stat("nvidia3").unwrap_err();
    assert!(
        error.starts_with("cannot look at device node \"nvidia3\" in "),
        "{error}"
    );
}

#[test]
fn odd_entries_are_listed_too_and_a_directory_that_is_gone_is_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("nvidia0")).unwrap();
    fs::write(dir.path().join("nvidia-foo"), "").unwrap();
    symlink("nowhere", dir.path().join("nvidia2")).unwrap();
    let nodes = DevDir::new(dir.path().to_owned());
    assert_eq!(nodes.list().unwrap(), ["nvidia-foo", "nvidia0", "nvidia2"]);

    let gone = dir.path().join("gone");
    let error = DevDir::new(gone.clone()).list().unwrap_err();
    let told = format!("cannot list device directory {}: ", gone.display());
    assert!(error.starts_with(&told), "{error}");
}

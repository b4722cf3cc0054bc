// SPDX-License-Identifier: Apache-2.0
//! The contract of `DeviceCgroup`, held by the kernel's v1 controller and by the fake alike; and the proof that a line
//! in it is what lets a process open a device.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mesos_gpu::domain::device_rules::{Access, DeviceRule};
use mesos_gpu::ports::device_cgroup::DeviceCgroup;
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use std::fs;
use std::path::Path;
use std::process::Command;
use support::FakeDeviceCgroup;
use support::own_cgroup::OwnCgroup;

fn rule(line: &str) -> DeviceRule {
    line.parse().unwrap()
}

/// What every side promises, in cgroups below `base` that `create` makes.
fn contract(devices: &dyn DeviceCgroup, base: &str, create: &dyn Fn(&str)) {
    let lines = |cgroup: &str| -> Vec<String> {
        devices
            .list(cgroup)
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    let (outer, inner) = (format!("{base}/outer"), format!("{base}/outer/inner"));

    assert!(!devices.exists(&outer));
    for result in [
        devices.allow(&outer, rule("c 195:0 rw")),
        devices.deny(&outer, rule("c 195:0 rw")),
        devices.list(&outer).map(drop),
    ] {
        let error = result.unwrap_err();
        assert!(
            error.contains(&outer) && error.contains("no such cgroup"),
            "{error}"
        );
    }

    create(&outer);
    assert!(devices.exists(&outer));
    assert_eq!(lines(&outer), ["a *:* rwm"], "a new cgroup starts as its parent");

    // While everything is allowed, lines are exceptions from that, and the list does not show them.
    devices.deny(&outer, rule("c 195:9 rw")).unwrap();
    assert_eq!(lines(&outer), ["a *:* rwm"]);
    devices.allow(&outer, rule("c 195:9 rw")).unwrap();

    devices.deny(&outer, rule("a *:* rwm")).unwrap();
    assert_eq!(lines(&outer), Vec::<String>::new());
    devices.allow(&outer, rule("c 195:0 r")).unwrap();
    devices.allow(&outer, rule("c 195:0 w")).unwrap();
    devices.allow(&outer, rule("c 195:0 w")).unwrap();
    assert_eq!(lines(&outer), ["c 195:0 rw"], "accesses of one device are merged");
    devices.allow(&outer, rule("c 136:* rwm")).unwrap();
    devices.allow(&outer, rule("b *:* m")).unwrap();
    devices.allow(&outer, rule("c 195:1 rw")).unwrap();
    assert_eq!(
        lines(&outer),
        ["c 195:0 rw", "c 136:* rwm", "b *:* m", "c 195:1 rw"]
    );

    // Taking back reaches exactly the named numbers and accesses.
    devices.deny(&outer, rule("c 195:* rwm")).unwrap();
    devices.deny(&outer, rule("c 195:7 rwm")).unwrap();
    devices.deny(&outer, rule("b 195:0 rwm")).unwrap();
    devices.deny(&outer, rule("c 195:0 w")).unwrap();
    devices.deny(&outer, rule("c 136:3 rwm")).unwrap();
    assert_eq!(
        lines(&outer),
        ["c 195:0 r", "c 136:* rwm", "b *:* m", "c 195:1 rw"]
    );
    devices.deny(&outer, rule("c 195:0 rwm")).unwrap();
    devices.deny(&outer, rule("c 195:0 rwm")).unwrap();
    devices.deny(&outer, rule("b *:* m")).unwrap();
    assert_eq!(lines(&outer), ["c 136:* rwm", "c 195:1 rw"]);

    // A child never has more than its parent.
    create(&inner);
    assert_eq!(lines(&inner), ["c 136:* rwm", "c 195:1 rw"]);
    for more in ["c 195:0 rw", "c 195:1 rwm", "c 195:* r", "a *:* rwm"] {
        let error = devices.allow(&inner, rule(more)).unwrap_err();
        assert!(
            error.contains(&inner) && error.contains(more) && error.contains("not permitted"),
            "{error}"
        );
    }
    devices.allow(&inner, rule("c 136:3 rw")).unwrap();
    assert_eq!(lines(&inner), ["c 136:* rwm", "c 195:1 rw", "c 136:3 rw"]);
    devices.deny(&outer, rule("c 195:1 w")).unwrap();
    assert_eq!(
        lines(&inner),
        ["c 136:* rwm", "c 195:1 r", "c 136:3 rw"],
        "what a parent loses, its children lose"
    );
    devices.deny(&outer, rule("c 136:* rwm")).unwrap();
    assert_eq!(
        lines(&inner),
        ["c 195:1 r"],
        "also what only the lost rule covered"
    );
    devices.allow(&outer, rule("c 136:* rwm")).unwrap();
    assert_eq!(
        lines(&inner),
        ["c 195:1 r"],
        "what a parent gains, its children do not"
    );
    assert!(
        devices
            .deny(&outer, rule("a *:* rwm"))
            .unwrap_err()
            .contains("Invalid argument")
    );

    // The kernel would take an "a" for everything, whatever stands behind it.
    for wrong in ["a 195:0 rw", "a *:* r"] {
        assert!(devices.allow(&inner, rule(wrong)).is_err());
        assert!(devices.deny(&inner, rule(wrong)).is_err());
    }
    assert!(
        devices
            .allow(
                &inner,
                DeviceRule {
                    access: Access::default(),
                    ..rule("c 195:1 r")
                }
            )
            .is_err()
    );
    assert_eq!(lines(&inner), ["c 195:1 r"]);

    for outside in [
        "",
        "..",
        "../x",
        &format!("/{inner}"),
        &format!("{outer}/../outer"),
    ] {
        assert!(!devices.exists(outside), "{outside}");
        assert!(devices.allow(outside, rule("c 195:0 rw")).is_err(), "{outside}");
        assert!(devices.deny(outside, rule("c 195:0 rw")).is_err(), "{outside}");
        assert!(devices.list(outside).is_err(), "{outside}");
    }
}

#[test]
fn the_fake_holds_the_contract() {
    let fake = FakeDeviceCgroup::new();
    fake.create("base");
    contract(&fake, "base", &|cgroup| fake.create(cgroup));
}

#[test]
#[allow(non_snake_case)]
fn ROOT_CGROUPS_DEVICES_the_kernel_holds_the_contract() {
    let Some(own) = OwnCgroup::new("kernel") else {
        return;
    };
    contract(&own.hierarchy, &own.name, &|cgroup| {
        fs::create_dir(own.hierarchy.root().join(cgroup)).unwrap();
    });
}

#[test]
#[allow(non_snake_case)]
fn ROOT_CGROUPS_DEVICES_a_rule_is_what_lets_a_process_open_a_device() {
    let Some(own) = OwnCgroup::new("open") else { return };
    let dir = tempfile::tempdir().unwrap();
    // A minor number that no GPU has, so that the driver, if there is one, has nothing to open.
    let (node, other) = (dir.path().join("granted"), dir.path().join("other"));
    for (path, minor) in [(&node, 201), (&other, 202)] {
        if let Err(errno) = mknod(
            path,
            SFlag::S_IFCHR,
            Mode::S_IRUSR | Mode::S_IWUSR,
            makedev(195, minor),
        ) {
            return support::skip(&format!("the right to make device nodes: {errno}"));
        }
    }
    if Path::new("/proc/driver/nvidia/version").exists() {
        return support::skip("a machine without NVIDIA's driver, where an allowed open says ENXIO");
    }
    // The shell moves itself into the cgroup and then says why it cannot open the node.
    let open = |node: &Path| {
        let script = "echo $$ > \"$1/cgroup.procs\" || exit 99; exec 3<> \"$2\"";
        let opened = Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(own.dir())
            .arg(node)
            .env("LC_ALL", "C")
            .output();
        let opened = opened.unwrap();
        assert_ne!(
            opened.status.code(),
            Some(99),
            "the process did not get into its cgroup"
        );
        String::from_utf8_lossy(&opened.stderr)
            .trim()
            .rsplit(": ")
            .next()
            .unwrap()
            .to_owned()
    };
    let (enxio, eperm) = ("No such device or address", "Operation not permitted");
    if open(&node) == "Permission denied" {
        return support::skip("a temporary directory whose mount takes device nodes");
    }
    let devices: &dyn DeviceCgroup = &own.hierarchy;

    assert_eq!(open(&node), enxio, "nothing denies it yet");
    devices.deny(&own.name, rule("a *:* rwm")).unwrap();
    devices.allow(&own.name, rule("c 1:3 rw")).unwrap();
    assert_eq!(open(&node), eperm);
    devices.allow(&own.name, rule("c 195:201 rw")).unwrap();
    assert_eq!((open(&node).as_str(), open(&other).as_str()), (enxio, eperm));
    devices.allow(&own.name, rule("c 195:202 r")).unwrap();
    assert_eq!(open(&other), eperm, "it opens for writing too");
    devices.deny(&own.name, rule("c 195:201 rwm")).unwrap();
    assert_eq!(open(&node), eperm, "what is taken back cannot be opened");
}

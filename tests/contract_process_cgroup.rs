// SPDX-License-Identifier: Apache-2.0
//! The part of the contract of `DeviceCgroup` that tells whose a process is, held by the kernel and by the fake alike.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mesos_gpu::domain::container::ContainerId;
use mesos_gpu::ports::device_cgroup::DeviceCgroup;
use std::fs;
use std::process::{Child, Command, Stdio};
use support::FakeDeviceCgroup;
use support::own_cgroup::OwnCgroup;

/// A process that can be moved and ended.
trait Subject {
    fn pid(&self) -> u32;
    fn enter(&self, cgroup: &str);
    fn end(&mut self);
}

/// What every side promises of a process, in cgroups below `base` that `create` makes.
fn contract(devices: &dyn DeviceCgroup, base: &str, create: &dyn Fn(&str), subject: &mut dyn Subject) {
    let own = format!("{base}/a:b");
    let (nested, made) = (format!("{own}/mesos/c"), format!("{own}/made_by_itself"));
    create(&own);
    create(&format!("{own}/mesos"));
    create(&nested);
    create(&made);
    let (pid, processes) = (subject.pid(), devices.processes());
    for cgroup in [&own, &nested, &made, &own] {
        subject.enter(cgroup);
        assert_eq!(processes.cgroup_of(pid), Ok(Some(cgroup.clone())));
        assert_eq!(
            ContainerId::root_at(cgroup, base),
            Some(ContainerId::root_of("a:b")),
            "{cgroup}"
        );
    }
    subject.enter(base);
    let outside = processes.cgroup_of(pid).unwrap().unwrap();
    assert_eq!(ContainerId::root_at(&outside, base), None, "{outside}");
    subject.end();
    assert_eq!(
        processes.cgroup_of(pid),
        Ok(None),
        "a process that is gone is in none"
    );
}

struct Fake(FakeDeviceCgroup);

impl Subject for Fake {
    fn pid(&self) -> u32 {
        4711
    }

    fn enter(&self, cgroup: &str) {
        self.0.enter(cgroup, self.pid());
    }

    fn end(&mut self) {
        self.0.end(self.pid());
    }
}

#[test]
fn the_fake_holds_the_contract() {
    let fake = FakeDeviceCgroup::new();
    fake.create("base");
    contract(
        &fake,
        "base",
        &|cgroup| fake.create(cgroup),
        &mut Fake(fake.clone()),
    );
    fake.fail("cgroup_of", "no such luck");
    assert_eq!(
        fake.processes().cgroup_of(1).unwrap_err(),
        "cannot read the cgroup of process 1: no such luck"
    );
}

struct Sleeper<'a>(&'a OwnCgroup, Child);

impl Subject for Sleeper<'_> {
    fn pid(&self) -> u32 {
        self.1.id()
    }

    fn enter(&self, cgroup: &str) {
        let procs = self.0.hierarchy.root().join(cgroup).join("cgroup.procs");
        fs::write(procs, self.pid().to_string()).unwrap();
    }

    fn end(&mut self) {
        self.1.kill().unwrap();
        self.1.wait().unwrap();
    }
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        // Already ended where the test went well.
        let _ = self.1.kill();
        let _ = self.1.wait();
    }
}

#[test]
#[allow(non_snake_case)]
fn ROOT_CGROUPS_DEVICES_the_kernel_holds_the_contract() {
    let Some(own) = OwnCgroup::new("process") else {
        return;
    };
    let create = |cgroup: &str| fs::create_dir(own.hierarchy.root().join(cgroup)).unwrap();
    let sleeper = Command::new("sleep")
        .arg("600")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    contract(&own.hierarchy, &own.name, &create, &mut Sleeper(&own, sleeper));
}

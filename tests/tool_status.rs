// SPDX-License-Identifier: Apache-2.0
//! `mesos-gpu status` over a simulated driver, a checkpoint and the real kernel: what agrees is shown, what contradicts is
//! told by its rule.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]

mod support;
mod tool;

use fake_nvml::Machine;
use serde_json::{Value, json};
use std::fs;
use support::own_cgroup::OwnCgroup;
use support::simulated_nvml::process;
use tool::{World, checkpoint, checkpoint_with_guests, run, run_json, this_boot, tool, words};

struct Host {
    world: World,
    cgroup: OwnCgroup,
    machine: Machine,
}

impl Host {
    /// Two GPUs, whose minors are 1 and 0.
    fn new(test: &str) -> Option<Self> {
        let cgroup = OwnCgroup::new(test)?;
        let machine = Machine::with_gpus(2);
        let world = World::of(&machine);
        Some(Self {
            world,
            cgroup,
            machine,
        })
    }

    fn uuid(&self, nth: usize) -> &str {
        &self.machine.gpus[nth].uuid
    }

    /// A container that may open what these rules say.
    fn container(&self, name: &str, rules: &[&str]) {
        let folder = self.cgroup.dir().join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("devices.deny"), "a").unwrap();
        for rule in rules {
            fs::write(folder.join("devices.allow"), rule).unwrap();
        }
    }

    fn command(&self, more: &[&str]) -> std::process::Command {
        let mut command = tool();
        command.arg("status").args(words(&self.world.parameters()));
        command.arg(format!("cgroups_root={}", self.cgroup.name));
        command
            .arg(format!("--work-dir={}", self.world.text("work")))
            .args(more);
        command
    }

    /// The exit status, the lines, and the rules with their severities.
    fn status(&self, more: &[&str]) -> (i32, Value, Vec<String>) {
        let (status, found) = run_json(&mut self.command(more));
        let rule = |one: &Value| {
            format!(
                "{} {}",
                one["severity"].as_str().unwrap(),
                one["rule"].as_str().unwrap()
            )
        };
        let rules = found["findings"].as_array().unwrap().iter().map(rule).collect();
        (status, found["gpus"].clone(), rules)
    }
}

#[test]
fn ROOT_CGROUPS_what_checkpoint_and_kernel_agree_on_is_shown_and_nothing_is_told() {
    let Some(host) = Host::new("tool_agree") else {
        return;
    };
    host.container("c1", &["c 195:1 rw", "c *:* m"]);
    host.container("c2", &[]);
    checkpoint(&host.world, &this_boot(), &[("c1", &[host.uuid(0)])]);
    let (status, gpus, rules) = host.status(&[]);
    assert_eq!((status, rules), (0, vec![]));
    let want = json!({
        "index": 0, "minor": 1, "uuid": host.uuid(0), "holders": ["c1"], "guests": [], "kernel": ["c1"], "processes": []
    });
    assert_eq!(gpus[0], want);
    assert_eq!(
        (&gpus[1]["holders"], &gpus[1]["kernel"]),
        (&json!([]), &json!([]))
    );
    let (_, text, _) = run(&mut host.command(&[]));
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        lines[0],
        [
            "INDEX",
            "MINOR",
            "UUID",
            "HOLDER",
            "GUESTS",
            "KERNEL",
            "PROCESSES"
        ]
    );
    assert_eq!(lines[1], ["0", "1", host.uuid(0), "c1", "-", "c1", "-"]);
    assert!(text.ends_with("0 errors, 0 warnings, 0 notes\n"), "{text}");
}

#[test]
fn ROOT_CGROUPS_every_contradiction_is_told_by_its_rule() {
    let Some(host) = Host::new("tool_contradict") else {
        return;
    };
    host.container("c1", &["c 195:1 rw"]);
    host.container("c2", &[]);
    let boot = this_boot();
    checkpoint(&host.world, &boot, &[]);
    assert_eq!(host.status(&[]).2, ["warning granted-not-written"]);
    checkpoint(
        &host.world,
        &boot,
        &[("c1", &[host.uuid(0)]), ("c2", &[host.uuid(1)])],
    );
    assert_eq!(host.status(&[]).2, ["warning written-not-granted"]);
    checkpoint(
        &host.world,
        &boot,
        &[("c1", &[host.uuid(0)]), ("gone", &[host.uuid(1)])],
    );
    assert_eq!(host.status(&[]).2, ["warning holder-gone"]);
    checkpoint(&host.world, &boot, &[("c1", &[host.uuid(0), "GPU-lost"])]);
    let (status, gpus, rules) = host.status(&[]);
    assert_eq!((status, rules), (1, vec!["warning held-gpu-gone".to_owned()]));
    assert_eq!(
        (&gpus[2]["uuid"], &gpus[2]["index"]),
        (&json!("GPU-lost"), &Value::Null)
    );
    checkpoint(&host.world, "another", &[("c2", &[host.uuid(1)])]);
    assert_eq!(host.status(&[]).2, ["note checkpoint-of-earlier-boot"]);
    host.world.write("work/mesos-gpu/checkpoint.json", "{");
    let (status, gpus, rules) = host.status(&[]);
    assert_eq!((status, rules), (2, vec!["error checkpoint-unusable".to_owned()]));
    assert_eq!(
        (&gpus[0]["holders"], &gpus[0]["kernel"]),
        (&Value::Null, &json!(["c1"]))
    );
    fs::remove_file(host.world.path("work/mesos-gpu/checkpoint.json")).unwrap();
    assert_eq!(host.status(&[]).2, ["note no-checkpoint"]);
}

#[test]
fn ROOT_CGROUPS_two_holders_are_an_error_however_they_came_about() {
    let Some(host) = Host::new("tool_two") else { return };
    host.container("c1", &["c 195:1 rw"]);
    host.container("c2", &["c 195:1 rw"]);
    let boot = this_boot();
    checkpoint(&host.world, &boot, &[("c1", &[host.uuid(0)])]);
    let (status, gpus, rules) = host.status(&[]);
    assert_eq!((status, rules), (2, vec!["error two-holders".to_owned()]));
    assert_eq!(gpus[0]["kernel"], json!(["c1", "c2"]));
    assert_eq!(host.status(&["oversubscribe=on"]).2, ["error two-holders"]);
    let (gpu, both) = ([host.uuid(0)], ["c1", "c2"]);
    checkpoint(&host.world, &boot, &both.map(|name| (name, &gpu[..])));
    assert_eq!(host.status(&[]).2, ["error two-holders"]);
    // Without a checkpoint nobody is known to be a guest.
    checkpoint(&host.world, "another", &[]);
    assert_eq!(
        host.status(&[]).2,
        ["error two-holders", "note checkpoint-of-earlier-boot"]
    );
}

#[test]
fn ROOT_CGROUPS_guests_are_shown_with_whom_they_share() {
    let Some(host) = Host::new("tool_guests") else {
        return;
    };
    host.container("owner", &["c 195:1 rw"]);
    host.container("guest", &["c 195:1 rw", "c 195:0 rw"]);
    let (boot, both) = (this_boot(), [host.uuid(0), host.uuid(1)]);
    let (held, guests) = ([("owner", &both[..1])], [("guest", &both[..])]);
    checkpoint_with_guests(&host.world, &boot, &held, &guests);
    let (status, gpus, rules) = host.status(&[]);
    assert_eq!((status, rules), (0, vec!["note shared".to_owned(); 2]));
    assert_eq!(
        (&gpus[0]["holders"], &gpus[0]["guests"]),
        (&json!(["owner"]), &json!(["guest"]))
    );
    let (_, text, _) = run(&mut host.command(&[]));
    for line in [
        &format!("{} is held by owner, with the guest guest\n", host.uuid(0)),
        // The owner ended, and nobody wanted its GPU.
        &format!("{} is held by nobody, with the guest guest\n", host.uuid(1)),
    ] {
        assert!(text.contains(line), "{text}");
    }
    // A third one is no guest.
    host.container("third", &["c 195:1 rw"]);
    assert_eq!(
        host.status(&[]).2,
        ["error two-holders", "note shared", "note shared"]
    );
}

#[test]
fn ROOT_CGROUPS_a_guest_that_is_gone_or_denied_is_told_as_a_holder_is() {
    let Some(host) = Host::new("tool_lost_guest") else {
        return;
    };
    host.container("owner", &["c 195:1 rw"]);
    host.container("denied", &[]);
    let (boot, gpu) = (this_boot(), [host.uuid(0)]);
    let write = |guest, units: &[&str]| {
        checkpoint_with_guests(&host.world, &boot, &[("owner", &gpu)], &[(guest, units)]);
        host.status(&[]).2
    };
    assert_eq!(
        write("denied", &gpu),
        ["warning written-not-granted", "note shared"]
    );
    assert_eq!(write("gone", &gpu), ["warning holder-gone", "note shared"]);
    assert_eq!(write("denied", &["GPU-lost"]), ["warning held-gpu-gone"]);
}

#[test]
fn ROOT_CGROUPS_a_container_that_can_open_all_gpus_is_an_error() {
    let Some(host) = Host::new("tool_all") else { return };
    host.container("c1", &["c 195:* rw"]);
    checkpoint(&host.world, &this_boot(), &[]);
    let (status, _, rules) = host.status(&[]);
    assert_eq!((status, rules), (2, vec!["error all-gpus-open".to_owned()]));
}

#[test]
fn ROOT_CGROUPS_a_process_outside_of_the_holder_is_told() {
    let Some(mut host) = Host::new("tool_process") else {
        return;
    };
    host.container("c1", &["c 195:1 rw"]);
    checkpoint(&host.world, &this_boot(), &[("c1", &[host.uuid(0)])]);
    // This program computes on the container's GPU, and is in none.
    let pid = std::process::id();
    host.machine.gpus[0].processes.push(process(pid));
    host.world.simulation.update(&host.machine).unwrap();
    let (status, gpus, rules) = host.status(&[]);
    assert_eq!((status, rules), (1, vec!["warning foreign-process".to_owned()]));
    assert_eq!(gpus[0]["processes"], json!([{ "pid": pid, "container": null }]));
    // One of the container's own is not.
    let mut sleeper = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    fs::write(
        host.cgroup.dir().join("c1/cgroup.procs"),
        sleeper.id().to_string(),
    )
    .unwrap();
    host.machine.gpus[0].processes[0] = process(sleeper.id());
    host.world.simulation.update(&host.machine).unwrap();
    let (status, gpus, rules) = host.status(&[]);
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    assert_eq!((status, rules), (0, vec![]));
    assert_eq!(gpus[0]["processes"][0]["container"], "c1");
}

#[test]
fn a_kernel_that_cannot_be_asked_is_told_and_contradicts_nothing() {
    use mesos_gpu::domain::container::ContainerId;
    use mesos_gpu::domain::gpu::UnitId;
    use mesos_gpu::domain::record::Record;
    use mesos_gpu::tool::machine::holders::Written;
    use mesos_gpu::tool::status::{Witnesses, judge};
    let held = [(ContainerId::root_of("c1"), vec![UnitId::new("GPU-1")])].into();
    let unit = mesos_gpu::domain::gpu::Unit {
        id: UnitId::new("GPU-1"),
        kind: mesos_gpu::domain::gpu::UnitKind::Gpu,
        pci: "3b:00.0".parse().unwrap(),
        minor: 0,
        index: None,
        model: None,
        memory_bytes: None,
    };
    let witnesses = Witnesses {
        units: vec![unit],
        written: Written::Record(Record {
            held,
            ..Record::default()
        }),
        granted: Err("not mounted".to_owned()),
        processes: vec![],
    };
    let found = judge(&witnesses, "/checkpoint.json");
    let rules: Vec<_> = found.iter().map(|one| (one.rule, one.what.as_str())).collect();
    assert_eq!(rules, [("kernel-unknown", "not mounted")]);
}

// SPDX-License-Identifier: Apache-2.0
//! An executor whose tasks come and go, each in a container of its own, beside what the kernel grants to it. What each
//! task was told is read from its environment, so that "the task's GPUs" is not a guess.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::thread;

use fake_nvml::Machine;
use testbed::scheduler::{ExecutorSpec, Framework, FrameworkOptions, Offer, Task};
use testbed::{Agent, Testbed};

use super::{PATIENCE, SHORT, eventually, fresh_id, grants, probe};

/// What happens next.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// A task of this name starts, with so many GPUs.
    Start(&'static str, u32),
    /// These tasks end at once.
    End(&'static [&'static str]),
}

/// The rules of `devices.list` that are about NVIDIA's devices, and the others.
pub fn split(rules: &[String]) -> (BTreeSet<String>, BTreeSet<String>) {
    let of_nvidia = |rule: &String| rule.starts_with("c 195:") || rule.starts_with("c 511:");
    rules.iter().cloned().partition(of_nvidia)
}

/// The rules that open these GPUs, and the control nodes with them.
fn opening(minors: &BTreeSet<u32>) -> BTreeSet<String> {
    let control = ["c 195:255 rw", "c 511:0 rw", "c 511:1 rw"].map(str::to_owned);
    let gpus = minors.iter().map(|minor| format!("c 195:{minor} rw"));
    if minors.is_empty() {
        BTreeSet::new()
    } else {
        gpus.chain(control).collect()
    }
}

/// A task that runs: where, and the GPUs its environment names.
struct Running {
    container: Vec<String>,
    minors: BTreeSet<u32>,
}

/// One executor and its tasks.
pub struct Group<'a> {
    agent: &'a Agent,
    agent_id: String,
    machine: &'a Machine,
    framework: Framework,
    executor: ExecutorSpec,
    own_cgroups: bool,
    folder: PathBuf,
    running: BTreeMap<&'static str, Running>,
}

impl<'a> Group<'a> {
    pub fn new(
        bed: &Testbed,
        master: &str,
        agent: &'a Agent,
        machine: &'a Machine,
        own_cgroups: bool,
    ) -> Self {
        let folder = bed.folder().join(fresh_id("growth"));
        std::fs::create_dir(&folder).unwrap();
        Self {
            agent,
            agent_id: agent.id().unwrap(),
            machine,
            framework: Framework::subscribe(master, &FrameworkOptions::named("gpu-growth")).unwrap(),
            executor: ExecutorSpec::default_executor("grows"),
            own_cgroups,
            folder,
            running: BTreeMap::new(),
        }
    }

    /// An offer of the agent, and not of one that was there before it.
    fn offer(&self, gpus: u32) -> Offer {
        let wanted = [("gpus", gpus.into()), ("cpus", 0.2), ("mem", 64.0)];
        eventually("an offer of the agent", || {
            let offer = self.framework.offer_with(&wanted, PATIENCE).unwrap();
            (offer.agent_id() == self.agent_id).then_some(offer)
        })
    }

    fn start(&mut self, name: &'static str, gpus: u32) {
        let out = self.folder.join(name);
        let command = format!("{}; exec sleep 1000", probe::command(&out));
        let mut task = Task::new(name, &command).resources(&[("cpus", 0.1), ("mem", 32.0)]);
        if gpus > 0 {
            task = task.resources(&[("gpus", gpus.into())]);
        }
        if self.own_cgroups {
            task = task.share_cgroups(false);
        }
        let offer = self.offer(gpus);
        self.framework
            .launch_group(&offer, &self.executor, &[task])
            .unwrap();
        let update = self.framework.wait_state(name, "TASK_RUNNING", PATIENCE);
        assert!(update.is_ok(), "{update:?}\n{}", self.agent.log());
        eventually("the task to look at its GPUs", || out.exists().then_some(()));
        let running = Running {
            container: update.unwrap().container,
            minors: self.named(&probe::read(&out)),
        };
        assert_eq!(running.container.len(), 2, "a nested container");
        self.running.insert(name, running);
    }

    /// The GPUs that a task's environment names.
    fn named(&self, seen: &probe::Seen) -> BTreeSet<u32> {
        let list = seen
            .env
            .get("NVIDIA_VISIBLE_DEVICES")
            .map_or("void", String::as_str);
        let uuids: Vec<&str> = list.split(',').filter(|uuid| *uuid != "void").collect();
        let minor = |uuid: &str| {
            let gpu = self.machine.gpus.iter().find(|gpu| gpu.uuid == uuid);
            gpu.map(|gpu| gpu.minor)
        };
        let minors: BTreeSet<u32> = uuids.iter().filter_map(|uuid| minor(uuid)).collect();
        assert_eq!(minors.len(), uuids.len(), "{list}");
        minors
    }

    fn end(&mut self, names: &[&'static str]) {
        for name in names {
            self.framework.kill(name, &self.agent_id).unwrap();
        }
        for name in names {
            self.framework.wait_state(name, "TASK_KILLED", PATIENCE).unwrap();
            self.running.remove(name);
        }
    }

    pub fn take(&mut self, step: Step) {
        match step {
            Step::Start(name, gpus) => self.start(name, gpus),
            Step::End(names) => self.end(names),
        }
    }

    /// The container of the executor, in which the tasks' are nested.
    fn root(&self) -> &str {
        self.running.values().next().unwrap().container[0].as_str()
    }

    /// What the kernel lets the executor open.
    pub fn held(&self) -> BTreeSet<u32> {
        grants(self.agent).remove(self.root()).unwrap_or_default()
    }

    /// What the environments of the running tasks name together.
    pub fn used(&self) -> BTreeSet<u32> {
        self.running
            .values()
            .flat_map(|task| task.minors.clone())
            .collect()
    }

    /// Asserts that every running task has its own GPUs and that the kernel grants these, all of them and at once no
    /// other.
    pub fn assert_exact(&self, ordinary: &BTreeSet<String>) {
        let used = self.used();
        let each: usize = self.running.values().map(|task| task.minors.len()).sum();
        assert_eq!(used.len(), each, "no two tasks name the same GPU");
        let rules = eventually("the executor to have the GPUs of its tasks only", || {
            let held = self.held();
            assert!(
                held.is_superset(&used),
                "a running task lost a GPU: {held:?}, used {used:?}"
            );
            let rules = self.agent.device_rules().unwrap();
            (held == used && split(&rules[Path::new(self.root())]).0 == opening(&used)).then_some(rules)
        });
        assert_eq!(&split(&rules[Path::new(self.root())]).1, ordinary);
        if self.own_cgroups {
            for task in self.running.values() {
                let path = format!("{}/mesos/{}", task.container[0], task.container[1]);
                let (nvidia, others) = split(&rules[Path::new(&path)]);
                assert_eq!((nvidia, &others), (opening(&task.minors), ordinary), "{path}");
            }
        }
    }

    /// Waits until what the executor has does not change any more.
    pub fn settled(&self) -> usize {
        let mut last = self.held();
        loop {
            thread::sleep(SHORT);
            let now = self.held();
            if now == last {
                return now.len();
            }
            last = now;
        }
    }

    /// Ends the rest.
    pub fn finish(self) {
        self.framework.teardown().unwrap();
        eventually("the executor to go", || {
            let containers = self.agent.operator().containers().unwrap();
            containers.is_empty().then_some(())
        });
    }
}

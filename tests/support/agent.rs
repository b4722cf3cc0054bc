// SPDX-License-Identifier: Apache-2.0
//! An agent's books over fakes, and the isolator's verbs as one-line calls that give back what Mesos would be told.

use super::driver_proc::proc_gpu;
use super::{FakeDevNodes, FakeDeviceCgroup, FakeDriverProc, FakeNvml};
use mesos_gpu::agent::discovery::discover;
use mesos_gpu::agent::machine::Machine;
use mesos_gpu::agent::reply::Reply;
use mesos_gpu::agent::state::State;
use mesos_gpu::domain::container::ContainerId;
use mesos_gpu::error::Error;
use mesos_gpu::isolator;
use mesos_gpu::wire::{ContainerConfig, Resource};
use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::time::Duration;

/// The agent's cgroup root.
pub const ROOT: &str = "mesos";
/// What Mesos lets every container do.
pub const DEFAULT_RULES: [&str; 2] = ["c *:* m", "c 1:3 rwm"];

/// Books, and the fakes behind them.
pub struct FakeAgent {
    pub state: State,
    pub driver: FakeDriverProc,
    pub nodes: FakeDevNodes,
    pub cgroup: FakeDeviceCgroup,
}

impl FakeAgent {
    /// A machine with `count` GPUs whose minor numbers are 0 to `count - 1`.
    pub fn with_gpus(count: u8) -> Self {
        let driver = FakeDriverProc::with_gpus("580.159.04", (0..count).map(proc_gpu).collect());
        let nodes = FakeDevNodes::with_gpus(&(0..u32::from(count)).collect::<Vec<_>>());
        Self::of(driver, nodes, FakeDeviceCgroup::new())
    }

    /// An agent that starts on this machine.
    pub fn of(driver: FakeDriverProc, nodes: FakeDevNodes, cgroup: FakeDeviceCgroup) -> Self {
        let nvml = FakeNvml::with_gpus("580.159.04", Vec::new());
        let inventory = discover(&driver, &nvml, Duration::from_secs(5)).inventory;
        let machine = Machine {
            driver: Box::new(driver.clone()),
            nvml: Box::new(nvml),
            nodes: Box::new(nodes.clone()),
            cgroup: Ok(Box::new(cgroup.clone())),
        };
        if !cgroup_exists(&cgroup, ROOT) {
            cgroup.create(ROOT);
        }
        Self {
            state: State::new(machine, inventory, ROOT.to_owned()),
            driver,
            nodes,
            cgroup,
        }
    }

    /// The agent dies and starts again; its machine stays.
    pub fn restart(&self) -> Self {
        Self::of(self.driver.clone(), self.nodes.clone(), self.cgroup.clone())
    }

    /// Makes the container's devices cgroup, as Mesos's own isolator does before ours.
    pub fn make_cgroup(&self, name: &str) {
        self.cgroup
            .create_denying(&format!("{ROOT}/{name}"), &DEFAULT_RULES);
    }

    /// Launches a root container with this many GPUs and returns its environment.
    pub fn launch(&mut self, name: &str, gpus: f64) -> Result<BTreeMap<String, String>, Error> {
        self.make_cgroup(name);
        self.prepare(&id(name), &config(gpus))
            .map(Option::unwrap_or_default)
    }

    /// `prepare`; the environment, if the launch gets one.
    pub fn prepare(
        &mut self,
        container: &ContainerId,
        config: &ContainerConfig,
    ) -> Result<Option<BTreeMap<String, String>>, Error> {
        let launch = answered(|reply| isolator::prepare::prepare(&mut self.state, container, config, reply))?;
        let variables = launch.map(|launch| launch.environment.unwrap_or_default().variables);
        Ok(variables.map(|all| {
            all.into_iter()
                .map(|one| (one.name, one.value.unwrap_or_default()))
                .collect()
        }))
    }

    /// `update` to this total.
    pub fn update(&mut self, name: &str, gpus: f64) -> Result<(), Error> {
        let resources = resources(gpus);
        answered(|reply| isolator::update::update(&mut self.state, &id(name), &resources, reply))
    }

    /// `cleanup`, then the cgroup goes, as Mesos's own isolator does after ours.
    pub fn end(&mut self, name: &str) {
        self.cleanup(name).unwrap();
        self.cgroup.remove(&format!("{ROOT}/{name}"));
    }

    /// `cleanup` alone.
    pub fn cleanup(&mut self, name: &str) -> Result<(), Error> {
        answered(|reply| isolator::cleanup::cleanup(&mut self.state, &id(name), reply))
    }

    /// `recover`.
    pub fn recover(&mut self, live: &[&str], orphans: &[&str]) -> Result<(), Error> {
        let ids = |names: &[&str]| names.iter().map(|name| id(name)).collect();
        answered(|reply| isolator::recover::recover(&mut self.state, ids(live), ids(orphans), reply))
    }

    /// The NVIDIA devices that the kernel lets a container open, `major:minor`.
    pub fn open(&self, name: &str) -> Vec<String> {
        let lines = self.cgroup.lines(&format!("{ROOT}/{name}"));
        let nvidia = |line: &String| !DEFAULT_RULES.contains(&line.as_str());
        lines
            .into_iter()
            .filter(nvidia)
            .map(|line| line.split(' ').nth(1).unwrap_or_default().to_owned())
            .collect()
    }

    /// The GPUs among them, by minor number.
    pub fn open_gpus(&self, name: &str) -> Vec<u32> {
        let minors = |device: &String| {
            device
                .strip_prefix("195:")?
                .parse::<u32>()
                .ok()
                .filter(|minor| *minor < 128)
        };
        self.open(name).iter().filter_map(minors).collect()
    }

    /// How many GPUs nobody holds.
    pub fn free(&self) -> usize {
        self.state
            .inventory
            .units()
            .iter()
            .filter(|unit| !self.state.ledger.is_held(&unit.id))
            .count()
    }
}

fn cgroup_exists(cgroup: &FakeDeviceCgroup, name: &str) -> bool {
    mesos_gpu::ports::device_cgroup::DeviceCgroup::exists(cgroup, name)
}

/// A container by its values, `root.child`.
pub fn id(name: &str) -> ContainerId {
    ContainerId::from_path(name.split('.').map(str::to_owned).collect()).unwrap()
}

/// Resources as Mesos tells them: no `gpus` entry for none.
pub fn resources(gpus: f64) -> Vec<Resource> {
    let mut resources = vec![Resource::scalar("cpus", 0.1)];
    if gpus != 0.0 {
        resources.push(Resource::scalar("gpus", gpus));
    }
    resources
}

/// A container's configuration with so many GPUs.
pub fn config(gpus: f64) -> ContainerConfig {
    ContainerConfig {
        resources: resources(gpus),
        ..ContainerConfig::default()
    }
}

/// Calls a verb and returns its answer, which must be there when it returns.
fn answered<T: Send + 'static>(verb: impl FnOnce(&Reply<T>)) -> Result<T, Error> {
    let (tell, told) = channel();
    verb(&Reply::new(move |answer| tell.send(answer).unwrap()));
    told.try_recv().expect("the verb answers at once")
}

// SPDX-License-Identifier: Apache-2.0
//! An agent's books over fakes, and the isolator's verbs as one-line calls that give back what Mesos would be told.

pub use super::containers::{config, id, resources};
use super::driver_proc::proc_gpu;
use super::images::image_settings;
use super::machine::FakeMachine;
use mesos_gpu::agent::discovery::discover;
use mesos_gpu::agent::machine::Machine;
use mesos_gpu::agent::mailbox::{Inbox, mailbox};
use mesos_gpu::agent::reply::Reply;
use mesos_gpu::agent::settings::{Patience, Settings};
use mesos_gpu::agent::state::State;
use mesos_gpu::config::Mode;
use mesos_gpu::domain::container::ContainerId;
use mesos_gpu::domain::gpu::UnitId;
use mesos_gpu::domain::ledger::Phase;
use mesos_gpu::domain::record::Advertised;
use mesos_gpu::error::Error;
use mesos_gpu::isolator;
use mesos_gpu::isolator::prepare::Launch;
use mesos_gpu::isolator::recover::Live;
use mesos_gpu::wire::{ContainerConfig, Resource};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A launch's environment.
pub type Variables = BTreeMap<String, String>;
/// How long the agent waits for GPUs.
pub const PATIENCE: Duration = Duration::from_secs(3600);

/// The agent's cgroup root.
pub const ROOT: &str = "mesos";
/// What Mesos lets every container do.
pub const DEFAULT_RULES: [&str; 2] = ["c *:* m", "c 1:3 rwm"];

/// Books, and the fakes behind them.
pub struct FakeAgent {
    pub state: State,
    pub machine: FakeMachine,
    inbox: Inbox,
}

impl std::ops::Deref for FakeAgent {
    type Target = FakeMachine;

    fn deref(&self) -> &FakeMachine {
        &self.machine
    }
}

impl FakeAgent {
    /// An agent on a new machine with so many GPUs.
    pub fn with_gpus(count: u8) -> Self {
        Self::on(FakeMachine::with_gpus(count), Mode::Exclusive)
    }

    /// An agent that starts on this machine, advertises what is there, and is not looked after by timers.
    pub fn on(machine: FakeMachine, mode: Mode) -> Self {
        let inventory = discover(&machine.driver, &machine.nvml, Duration::from_secs(5)).inventory;
        let units = inventory.units().iter().map(|unit| unit.id.clone()).collect();
        Self::advertising(machine, mode, units)
    }

    /// An agent that advertised these units before.
    pub fn advertising(machine: FakeMachine, mode: Mode, units: Vec<UnitId>) -> Self {
        let mut inventory = discover(&machine.driver, &machine.nvml, Duration::from_secs(5)).inventory;
        inventory.retain(&units);
        let ports = Machine {
            driver: Box::new(machine.driver.clone()),
            nvml: Box::new(machine.nvml.clone()),
            nodes: Box::new(machine.nodes.clone()),
            cgroup: Ok(Box::new(machine.cgroup.clone())),
            modules: Arc::new(machine.modules.clone()),
            images: Box::new(machine.images.clone()),
            metrics: Some(Box::new(machine.metrics.clone())),
            jobs: Some(Box::new(machine.jobs.clone())),
            checkpoint: Box::new(machine.checkpoint.clone()),
        };
        let patience = Patience {
            release_wait: PATIENCE,
            release_limit: PATIENCE,
            health_interval: PATIENCE,
            check_processes: true,
            control_nodes_for_all: false,
        };
        let (mailbox, inbox) = mailbox();
        let advertised = Advertised {
            selection: "all".to_owned(),
            units,
        };
        let settings = Settings {
            cgroups_root: ROOT.to_owned(),
            patience,
            mode,
            images: image_settings(),
        };
        let state = State::new(ports, inventory, advertised, settings, mailbox);
        Self {
            state,
            machine,
            inbox,
        }
    }

    /// The agent dies and starts again; its machine stays, and so does what it advertised.
    pub fn restart(&self) -> Self {
        Self::advertising(
            self.machine.clone(),
            self.state.mode,
            self.state.advertised.units.clone(),
        )
    }

    /// Runs what was posted to the agent thread meanwhile.
    pub fn settle(&mut self) {
        loop {
            self.machine.nvml.wait_idle();
            if self.inbox.drain(&mut self.state) == 0 {
                return;
            }
        }
    }

    /// Time passes: what was put off for less than that runs.
    pub fn pass(&mut self, time: Duration) {
        self.state.run_due(Instant::now() + time);
        self.settle();
    }

    /// Waits for an answer that comes from another thread.
    pub fn wait_for<T>(&mut self, told: &Receiver<Result<T, Error>>) -> Result<T, Error> {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            self.settle();
            match told.try_recv() {
                Ok(answer) => return answer,
                Err(_) if Instant::now() < until => std::thread::sleep(Duration::from_millis(1)),
                Err(error) => panic!("no answer: {error}"),
            }
        }
    }

    /// The books without the fakes, for an agent thread.
    pub fn into_parts(self) -> (State, Inbox, FakeMachine) {
        (self.state, self.inbox, self.machine)
    }

    /// What may be done with the GPU of this number.
    pub fn phase(&self, gpu: u8) -> Phase {
        self.state.ledger.phase(&proc_gpu(gpu).uuid)
    }

    /// Calls a verb and returns where its answer comes.
    pub(super) fn ask<T: Send + 'static>(
        &mut self,
        verb: impl FnOnce(&mut State, Reply<T>),
    ) -> Receiver<Result<T, Error>> {
        let (tell, told) = channel();
        let reply = Reply::new(move |answer| {
            // Who asked may not care any more.
            let _ = tell.send(answer);
        });
        self.job(|state| verb(state, reply));
        told
    }

    /// Runs a job as the agent thread does, and what it posts. A panic in it is the agent's end, which the story tells of.
    pub fn job(&mut self, job: impl FnOnce(&mut State)) {
        let mut end = Ok(());
        let run = |state: &mut State| end = catch_unwind(AssertUnwindSafe(|| job(state)));
        self.state.guarded("a job", run).unwrap();
        end.unwrap_or_else(|panic| resume_unwind(panic));
        self.settle();
    }

    /// Makes the container's devices cgroup, as Mesos's own isolator does before ours.
    pub fn make_cgroup(&self, name: &str) {
        self.cgroup
            .create_denying(&format!("{ROOT}/{name}"), &DEFAULT_RULES);
    }

    /// Launches a root container with this many GPUs and returns its environment.
    pub fn launch(&mut self, name: &str, gpus: f64) -> Result<Variables, Error> {
        self.make_cgroup(name);
        self.prepare(&id(name), &config(gpus))
            .map(Option::unwrap_or_default)
    }

    /// `prepare`; the environment, if the launch gets one.
    pub fn prepare(
        &mut self,
        container: &ContainerId,
        config: &ContainerConfig,
    ) -> Result<Option<Variables>, Error> {
        answer(&self.prepare_later(container, config)).map(environment)
    }

    /// `prepare` that may be answered later.
    pub fn prepare_later(
        &mut self,
        container: &ContainerId,
        config: &ContainerConfig,
    ) -> Receiver<Result<Launch, Error>> {
        self.ask(|state, reply| isolator::prepare::prepare(state, container, config.clone(), reply))
    }

    /// `update` to this total.
    pub fn update(&mut self, name: &str, gpus: f64) -> Result<(), Error> {
        answer(&self.update_later(name, gpus))
    }

    /// `update` that may be answered later.
    pub fn update_later(&mut self, name: &str, gpus: f64) -> Receiver<Result<(), Error>> {
        self.ask(|state, reply| isolator::update::update(state, &id(name), resources(gpus), reply))
    }

    /// `cleanup`, then the cgroup goes, as Mesos's own isolator does after ours.
    pub fn end(&mut self, name: &str) {
        self.cleanup(name).unwrap();
        self.cgroup.remove(&id(name).cgroup(ROOT));
    }

    /// `cleanup` alone.
    pub fn cleanup(&mut self, name: &str) -> Result<(), Error> {
        answer(&self.ask(|state, reply| isolator::cleanup::cleanup(state, &id(name), &reply)))
    }

    /// `recover`.
    pub fn recover(&mut self, live: &[&str], orphans: &[&str]) -> Result<(), Error> {
        let ids = |names: &[&str]| -> Vec<ContainerId> { names.iter().map(|name| id(name)).collect() };
        let live: Vec<Live> = ids(live)
            .into_iter()
            .map(|id| Live {
                id,
                executor: None,
                pid: None,
            })
            .collect();
        let orphans = ids(orphans);
        answer(&self.ask(|state, reply| isolator::recover::recover(state, &live, &orphans, &reply)))
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

    /// How many GPUs are free.
    pub fn free(&self) -> usize {
        self.state
            .inventory
            .units()
            .iter()
            .filter(|unit| self.state.ledger.phase(&unit.id) == Phase::Free)
            .count()
    }
}

/// An answer that must be there.
pub fn answer<T>(told: &Receiver<Result<T, Error>>) -> Result<T, Error> {
    told.try_recv().expect("the verb has answered")
}

/// The environment of a launch.
pub fn environment(launch: Launch) -> Option<Variables> {
    let variables = launch?.environment.unwrap_or_default().variables;
    Some(
        variables
            .into_iter()
            .map(|one| (one.name, one.value.unwrap_or_default()))
            .collect(),
    )
}

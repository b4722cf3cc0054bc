// SPDX-License-Identifier: Apache-2.0
//! A master with one agent and a framework that starts task groups on it.

use std::time::Duration;

use crate::images::agents::Setting;
use crate::images::launch::tail;
use crate::variant::Variant;
use testbed::scheduler::{ExecutorSpec, Framework, FrameworkOptions, Offer, Task};
use testbed::{Agent, Error, Master, Testbed};

const PATIENCE: Duration = Duration::from_secs(60);
/// What each task has beside its GPU.
const SMALL: [(&str, f64); 2] = [("cpus", 0.1), ("mem", 32.0)];

/// The cluster.
pub struct Cluster {
    variant: Variant,
    agent: Agent,
    master: Master,
    _bed: Testbed,
}

impl Cluster {
    /// Starts it.
    pub fn start(setting: &Setting, variant: Variant) -> Result<Self, Error> {
        let bed = Testbed::new()?;
        // Neither is what is measured, and both would be waited for.
        let mut master = bed.master().flag("allocation_interval", "50ms").start()?;
        master.wait_ready(PATIENCE)?;
        let agent = setting.agent(variant, &bed);
        let mut agent = agent.flag("registration_backoff_factor", "10ms").start()?;
        agent.wait_registered(PATIENCE)?;
        Ok(Self {
            variant,
            agent,
            master,
            _bed: bed,
        })
    }

    /// A framework with an executor that is not there yet.
    pub fn group(&self) -> Result<Group<'_>, Error> {
        let framework = Framework::subscribe(self.master.address(), &FrameworkOptions::named("bench"));
        Ok(Group {
            framework: framework.map_err(|e| failed(&self.agent, "subscribe a framework", &e))?,
            executor: ExecutorSpec::default_executor("grows"),
            cluster: self,
        })
    }
}

/// An executor and its tasks.
pub struct Group<'a> {
    framework: Framework,
    executor: ExecutorSpec,
    cluster: &'a Cluster,
}

impl Group<'_> {
    /// An offer that is enough for a task.
    pub fn offer(&self) -> Result<Offer, Error> {
        let mut wanted = vec![("cpus", 0.2), ("mem", 64.0)];
        wanted.extend(self.gpu());
        self.framework
            .offer_with(&wanted, PATIENCE)
            .map_err(|e| self.failed("get an offer", &e))
    }

    /// Starts a task on it and waits until it runs.
    pub fn run(&self, offer: &Offer, number: usize) -> Result<(), Error> {
        let name = format!("task-{number}");
        let mut task = Task::new(&name, "exec sleep 1000000").resources(&SMALL);
        if let Some(gpu) = self.gpu() {
            task = task.resources(&[gpu]);
        }
        let started = self.framework.launch_group(offer, &self.executor, &[task]);
        started.map_err(|e| self.failed("start a task", &e))?;
        let state = self.framework.wait_state(&name, "TASK_RUNNING", PATIENCE);
        state.map(drop).map_err(|e| self.failed("run a task", &e))
    }

    fn gpu(&self) -> Option<(&'static str, f64)> {
        (self.cluster.variant != Variant::None).then_some(("gpus", 1.0))
    }

    fn failed(&self, tried: &str, why: &dyn std::fmt::Display) -> Error {
        failed(&self.cluster.agent, tried, why)
    }
}

fn failed(agent: &Agent, tried: &str, why: &dyn std::fmt::Display) -> Error {
    Error::new(tried, format!("{why}\n{}", tail(agent)))
}

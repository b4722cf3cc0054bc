// SPDX-License-Identifier: Apache-2.0
//! A mixed load for an agent that may die at any moment: containers, containers inside them, and an executor that grows and
//! shrinks.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use std::thread::{self, JoinHandle};
use std::time::Duration;

use testbed::Agent;
use testbed::operator::{LaunchContainer, Operator};
use testbed::scheduler::{ExecutorSpec, Framework, FrameworkOptions, Task};

use super::random::Random;
use super::{Cluster, end, eventually, fresh_id};

const SMALL: [(&str, f64); 2] = [("cpus", 0.1), ("mem", 32.0)];
/// Of so many containers, and of so many tasks, one ends before another begins.
const MANY: usize = 4;
/// Within this after the first step of the load the agent is killed.
const MOMENTS: u64 = 400;

/// A step with a container.
#[derive(Clone, Copy)]
enum Kind {
    Root,
    Kid,
    End,
}

/// What goes on while the agent dies. All decisions are the generator's, none depends on how an earlier step went: a step
/// on what is not there (any more) is refused, which is part of the load.
pub struct Load {
    random: Random,
    operator: Operator,
    agent_id: String,
    framework: Framework,
    executor: ExecutorSpec,
    /// The standalone containers that were not told to end.
    roots: Vec<String>,
    /// The tasks that were not told to end.
    tasks: Vec<String>,
}

impl Load {
    pub fn new(cluster: &Cluster, random: Random) -> Self {
        let options = FrameworkOptions {
            checkpoint: true,
            ..FrameworkOptions::named("gpu-kill9")
        };
        let program = cluster.agent.folder().join("launcher/mesos-executor");
        let command = format!("exec {} --stay", program.display());
        Self {
            random,
            operator: cluster.agent.operator(),
            agent_id: cluster.agent.id().unwrap(),
            framework: Framework::subscribe(cluster.master.address(), &options).unwrap(),
            executor: ExecutorSpec::custom("stays", &command).resources(&SMALL),
            roots: Vec::new(),
            tasks: Vec::new(),
        }
    }

    /// When the agent dies after the first step.
    pub fn moment(&mut self) -> Duration {
        self.random.moment(MOMENTS)
    }

    /// Begins a few steps at once.
    pub fn steps(&mut self) -> Vec<JoinHandle<()>> {
        self.task();
        let count = 2 + self.random.below(4);
        (0..count).map(|_| self.step()).collect()
    }

    /// One step with a container, a little later.
    fn step(&mut self) -> JoinHandle<()> {
        let operator = self.operator.clone();
        let (kind, later) = (self.random.index(4), self.random.moment(MOMENTS / 2));
        let gpus = self.random.gpus();
        let own_cgroups = self.random.below(2) == 0;
        let kind = match self.roots.len() {
            0 => Kind::Root,
            MANY.. => Kind::End,
            _ => [Kind::Root, Kind::Kid, Kind::Kid, Kind::End][kind],
        };
        if matches!(kind, Kind::Root) {
            self.roots.push(fresh_id("r"));
        }
        let at = match kind {
            Kind::Root => self.roots.len() - 1,
            Kind::Kid | Kind::End => self.random.index(self.roots.len()),
        };
        let root = match kind {
            Kind::Root | Kind::Kid => self.roots[at].clone(),
            Kind::End => self.roots.remove(at),
        };
        let kid = fresh_id("k");
        thread::spawn(move || {
            thread::sleep(later);
            // The agent may die before it answers, and may refuse.
            let _ = match kind {
                Kind::Root => operator.launch_container(&container(&[&root], gpus)),
                Kind::Kid => {
                    operator.launch_container(&container(&[&root, &kid], gpus).share_cgroups(!own_cgroups))
                }
                Kind::End => operator.kill_container(&[&root], None),
            };
        })
    }

    /// One more task for the executor, or one less.
    fn task(&mut self) {
        let (ends, gpus) = (self.random.below(2) == 0, self.random.gpus());
        if ends && !self.tasks.is_empty() || self.tasks.len() >= MANY {
            let at = self.random.index(self.tasks.len());
            let ended = self.tasks.remove(at);
            return self.framework.kill(&ended, &self.agent_id).unwrap();
        }
        let id = fresh_id("t");
        self.tasks.push(id.clone());
        let mut task = Task::new(&id, "sleep 1000")
            .resources(&SMALL)
            .executor(&self.executor);
        if gpus > 0.0 {
            task = task.resources(&[("gpus", gpus)]);
        }
        // None comes while the master's book says that all are taken.
        let wanted = [("gpus", gpus), ("cpus", 0.2), ("mem", 64.0)];
        if let Ok(offer) = self.framework.offer_with(&wanted, Duration::from_millis(500)) {
            self.framework.launch(&offer, &[task]).unwrap();
        }
    }

    /// Ends everything.
    pub fn finish(self, agent: &Agent) {
        self.framework.teardown().unwrap();
        for container in agent.operator().containers().unwrap() {
            // Those of executors end with the framework, and nested ones with their root.
            if container.executor_id.is_none() && container.id.len() == 1 {
                end(agent, &container.id[0]);
            }
        }
        eventually("every container to go", || {
            agent.operator().containers().unwrap().is_empty().then_some(())
        });
    }
}

fn container(id: &[&str], gpus: f64) -> LaunchContainer {
    let launch = LaunchContainer::new(id, "exec sleep 1000").resources(&SMALL);
    if gpus > 0.0 {
        launch.resources(&[("cpus", 0.1), ("mem", 32.0), ("gpus", gpus)])
    } else {
        launch
    }
}

// SPDX-License-Identifier: Apache-2.0
//! An agent whose GPUs are sampled by a clock of its own, and what it publishes.

use crate::support::agent::{FakeAgent, ROOT, answer, config, id};
use crate::support::driver_proc::proc_gpu;
use crate::support::exposition;
use crate::support::machine::FakeMachine;
use crate::support::nvml::Answer;
use mesos_gpu::agent::sampling::{self, Readings};
use mesos_gpu::config::Mode;
use mesos_gpu::domain::estimate::{GpuSample, Sample};
use mesos_gpu::wire::ContainerConfig;
use mesos_gpu::wire::container::ExecutorInfo;
use mesos_gpu::wire::task::{ExecutorID, FrameworkID};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often it is sampled.
pub const INTERVAL: Duration = Duration::from_secs(5);

/// An agent with metrics, and with no oversubscription.
pub struct Story {
    pub agent: FakeAgent,
    pub seconds: Arc<AtomicU64>,
}

impl Deref for Story {
    type Target = FakeAgent;

    fn deref(&self) -> &FakeAgent {
        &self.agent
    }
}

impl DerefMut for Story {
    fn deref_mut(&mut self) -> &mut FakeAgent {
        &mut self.agent
    }
}

impl Story {
    pub fn with_gpus(count: u8) -> Self {
        Self::on(FakeMachine::with_gpus(count))
    }

    pub fn on(machine: FakeMachine) -> Self {
        let mut agent = FakeAgent::on(machine, Mode::Exclusive);
        let seconds = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&seconds);
        let clock = Box::new(move || Duration::from_secs(clock.load(Ordering::SeqCst)));
        agent.state.readings = Readings::on(INTERVAL, clock);
        agent.recover(&[], &[]).unwrap();
        Self { agent, seconds }
    }

    /// NVML tells this from now on.
    pub fn tell(&self, gpus: Vec<GpuSample>) {
        self.nvml.usual_sample(Answer::Now(Ok(Sample { gpus })));
    }

    /// So many samples, five seconds apart.
    pub fn samples(&mut self, count: u32) {
        for _ in 0..count {
            if self.nvml.sampled() == 0 {
                sampling::watch(&mut self.agent.state);
                self.settle();
            } else {
                self.seconds.fetch_add(INTERVAL.as_secs(), Ordering::SeqCst);
                self.pass(INTERVAL);
            }
        }
    }

    /// What changed is published.
    pub fn published(&mut self) -> String {
        self.pass(Duration::from_millis(200));
        self.metrics.last()
    }

    /// The value of the one line with these labels, as it is published now.
    pub fn value(&mut self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        exposition::value(&self.published(), name, labels)
    }

    /// A process of a container.
    pub fn enter(&self, name: &str, pid: u32) {
        self.cgroup.enter(&id(name).cgroup(ROOT), pid);
    }

    /// Launches a container for an executor.
    pub fn launch_for(&mut self, name: &str, executor: &str, gpus: f64) {
        self.make_cgroup(name);
        let config = ContainerConfig {
            executor_info: Some(ExecutorInfo {
                executor_id: ExecutorID {
                    value: executor.to_owned(),
                },
                framework_id: Some(FrameworkID {
                    value: "fw-1".to_owned(),
                }),
                ..ExecutorInfo::default()
            }),
            ..config(gpus)
        };
        answer(&self.prepare_later(&id(name), &config)).unwrap();
    }
}

pub fn uuid(gpu: u8) -> String {
    proc_gpu(gpu).uuid.to_string()
}

// SPDX-License-Identifier: Apache-2.0
//! An agent that is looked at by a clock of its own, and what it logs.

use crate::support::agent::{FakeAgent, ROOT, id};
use crate::support::driver_proc::proc_gpu;
use crate::support::machine::FakeMachine;
use crate::support::nvml::{Answer, gpu_sample};
use mesos_gpu::agent::sampling::{self, Estimation};
use mesos_gpu::config::Mode;
use mesos_gpu::domain::container::ContainerId;
use mesos_gpu::domain::estimate::{Eviction, GpuSample, Sample, Thresholds};
use mesos_gpu::domain::gpu::UnitId;
use mesos_gpu::wire::Resource;
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A look's interval. Not longer: what is asked meanwhile is given up after as long as that.
pub const SOON: Duration = Duration::from_secs(5);

/// An agent whose GPUs are looked at every five seconds of a clock that the story moves.
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
    /// With so many GPUs, each held by a container `c<n>`.
    pub fn held(count: u8) -> Self {
        let mut story = Self::on(FakeMachine::with_gpus(count));
        for n in 0..count {
            story.launch(&format!("c{n}"), 1.0).unwrap();
        }
        story
    }

    /// The same, and each has just become idle.
    pub fn idle(count: u8) -> Self {
        let mut story = Self::held(count);
        story.tell(quiet(count));
        story.looks(13);
        assert_eq!(story.offered().len(), usize::from(count));
        story
    }

    pub fn on(machine: FakeMachine) -> Self {
        Self::of(FakeAgent::on(machine, Mode::Exclusive))
    }

    /// Of an agent that is there, for example one that started again.
    pub fn of(mut agent: FakeAgent) -> Self {
        let seconds = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&seconds);
        let clock = Box::new(move || Duration::from_secs(clock.load(Ordering::SeqCst)));
        agent.state.estimate = Estimation::on(Thresholds::default(), clock);
        Self { agent, seconds }
    }

    /// NVML tells this from now on.
    pub fn tell(&self, gpus: Vec<GpuSample>) {
        self.nvml.usual_sample(Answer::Now(Ok(Sample { gpus })));
    }

    /// So many looks, five seconds apart.
    pub fn looks(&mut self, count: u32) {
        for _ in 0..count {
            if self.nvml.sampled() == 0 {
                sampling::watch(&mut self.agent.state);
                self.settle();
            } else {
                self.seconds.fetch_add(5, Ordering::SeqCst);
                self.pass(SOON);
            }
        }
    }

    /// A container and its one process as a guest of this GPU.
    pub fn guest(&mut self, name: &str, gpu: u8, pid: u32) {
        self.make_cgroup(name);
        self.cgroup.enter(&id(name).cgroup(ROOT), pid);
        self.state.guests.add(&id(name), &[uuid(gpu)]);
    }

    pub fn offered(&self) -> Vec<UnitId> {
        sampling::offerable(&self.state, 0)
    }

    pub fn resources(&self) -> Vec<Resource> {
        sampling::oversubscribable(&self.state, 0).unwrap()
    }

    pub fn evicted(&self) -> Vec<(UnitId, Vec<ContainerId>, Eviction)> {
        sampling::must_go(&self.state)
            .into_iter()
            .map(|must_go| (must_go.gpu, must_go.guests, must_go.why))
            .collect()
    }
}

pub fn uuid(n: u8) -> UnitId {
    proc_gpu(n).uuid
}

/// Nothing is done on any of them.
pub fn quiet(count: u8) -> Vec<GpuSample> {
    (0..count).map(|n| gpu_sample(&proc_gpu(n), 0, 0, &[])).collect()
}

thread_local! {
    /// What this thread logged at level info and above.
    static LOGGED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

struct Listener;

impl log::Log for Listener {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        LOGGED.with_borrow_mut(|logged| logged.push(record.args().to_string()));
    }

    fn flush(&self) {}
}

/// What is logged meanwhile; an agent of a story runs on the test's own thread.
pub fn logged<T>(work: impl FnOnce() -> T) -> (T, Vec<String>) {
    // The second test to come finds it set.
    let _ = log::set_logger(&Listener);
    log::set_max_level(log::LevelFilter::Info);
    LOGGED.take();
    (work(), LOGGED.take())
}

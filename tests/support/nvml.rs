// SPDX-License-Identifier: Apache-2.0
//! NVML without NVML: answers at once, late, never in time, or with a failure, as a story needs it.

use mesos_gpu::domain::estimate::{GpuSample, MemoryUse, Percent, Power, ProcessUse, Sample, Temperature};
use mesos_gpu::ports::driver_proc::ProcGpu;
use mesos_gpu::ports::nvml::{Done, Nvml, NvmlFailure, NvmlGpu, Product, Survey};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How a question is answered.
#[derive(Debug, Clone)]
pub enum Answer<T = Survey> {
    /// With this, at once.
    Now(Result<T, NvmlFailure>),
    /// With what [`FakeNvml::release`] (or [`FakeNvml::release_samples`]) says, when it says so.
    Late,
    /// Not at all: a port that breaks its promise.
    Never,
    /// As NVML does that hangs in this call: with a time-out first, then, until [`FakeNvml::lift`], that it is stuck.
    Hang(String),
}

/// NVML. Clones share it.
#[derive(Clone)]
pub struct FakeNvml {
    state: Arc<Mutex<State>>,
    /// Answers that are on their way.
    under_way: Arc<AtomicUsize>,
}

struct State {
    script: VecDeque<Answer>,
    usual: Answer,
    held: Vec<Done<Survey>>,
    usual_sample: Answer<Sample>,
    held_samples: Vec<Done<Sample>>,
    sampled: usize,
    stuck: Option<(String, Instant)>,
    limit: Duration,
    asked: usize,
}

impl FakeNvml {
    /// Answers with this, unless told otherwise, and with empty samples.
    pub fn new(usual: Answer) -> Self {
        let limit = Duration::from_millis(50);
        let (script, held) = (VecDeque::new(), Vec::new());
        Self {
            state: Arc::new(Mutex::new(State {
                script,
                usual,
                held,
                usual_sample: Answer::Now(Ok(Sample::default())),
                held_samples: Vec::new(),
                sampled: 0,
                stuck: None,
                limit,
                asked: 0,
            })),
            under_way: Arc::default(),
        }
    }

    /// Answers with these GPUs.
    pub fn with_gpus(version: &str, gpus: Vec<NvmlGpu>) -> Self {
        Self::new(Answer::Now(Ok(survey(version, gpus))))
    }

    /// The next question that no earlier call claims is answered so.
    pub fn next(&self, answer: Answer) {
        self.state.lock().unwrap().script.push_back(answer);
    }

    /// From now on every question that no script claims is answered so.
    pub fn usual(&self, answer: Answer) {
        self.state.lock().unwrap().usual = answer;
    }

    /// From now on every question for a sample is answered so.
    pub fn usual_sample(&self, answer: Answer<Sample>) {
        self.state.lock().unwrap().usual_sample = answer;
    }

    /// Answers every question for a sample that waits for its late answer.
    pub fn release_samples(&self, result: Result<Sample, NvmlFailure>) {
        let held = std::mem::take(&mut self.state.lock().unwrap().held_samples);
        for done in held {
            self.reply(done, result.clone(), Duration::ZERO);
        }
    }

    /// How many questions for a sample came.
    pub fn sampled(&self) -> usize {
        self.state.lock().unwrap().sampled
    }

    /// Answers every question that waits for its late answer.
    pub fn release(&self, result: Result<Survey, NvmlFailure>) {
        let held = std::mem::take(&mut self.state.lock().unwrap().held);
        for done in held {
            self.reply(done, result.clone(), Duration::ZERO);
        }
    }

    /// The hung call returns.
    pub fn lift(&self) {
        self.state.lock().unwrap().stuck = None;
    }

    /// How long a hang takes to be noticed.
    pub fn limit(&self, limit: Duration) {
        self.state.lock().unwrap().limit = limit;
    }

    /// How many questions came.
    pub fn asked(&self) -> usize {
        self.state.lock().unwrap().asked
    }

    /// How many wait for a late answer.
    pub fn held(&self) -> usize {
        self.state.lock().unwrap().held.len()
    }
}

impl FakeNvml {
    /// Waits until every answer that is not held back was given.
    pub fn wait_idle(&self) {
        while self.under_way.load(Ordering::SeqCst) > 0 {
            thread::sleep(Duration::from_micros(50));
        }
    }

    /// Answers from a thread of its own, as the port promises.
    fn reply<T: Send + 'static>(&self, done: Done<T>, result: Result<T, NvmlFailure>, after: Duration) {
        let under_way = Arc::clone(&self.under_way);
        under_way.fetch_add(1, Ordering::SeqCst);
        thread::spawn(move || {
            thread::sleep(after);
            done(result);
            under_way.fetch_sub(1, Ordering::SeqCst);
        });
    }

    fn serve<T: Send + 'static>(
        &self,
        state: &mut State,
        done: Done<T>,
        answer: impl FnOnce(&mut State) -> Answer<T>,
        held: fn(&mut State) -> &mut Vec<Done<T>>,
    ) {
        if let Some((call, since)) = state.stuck.clone() {
            // One that is asked before the time-out is over is told after it.
            let first = state.limit.saturating_sub(since.elapsed());
            return self.reply(
                done,
                Err(NvmlFailure::Stuck {
                    call,
                    since: since.elapsed() + first,
                }),
                first,
            );
        }
        match answer(state) {
            Answer::Now(result) => self.reply(done, result, Duration::ZERO),
            Answer::Late => held(state).push(done),
            // Leaked rather than dropped: a dropped receiver could be noticed by its owner.
            Answer::Never => std::mem::forget(done),
            Answer::Hang(call) => {
                state.stuck = Some((call.clone(), Instant::now()));
                let limit = state.limit;
                self.reply(done, Err(NvmlFailure::Timeout { call, limit }), limit);
            }
        }
    }
}

impl Nvml for FakeNvml {
    fn survey(&self, done: Done<Survey>) {
        let state = &mut *self.state.lock().unwrap();
        state.asked += 1;
        let answer = |state: &mut State| state.script.pop_front().unwrap_or_else(|| state.usual.clone());
        self.serve(state, done, answer, |state| &mut state.held);
    }

    fn sample(&self, done: Done<Sample>) {
        let state = &mut *self.state.lock().unwrap();
        state.sampled += 1;
        let answer = |state: &mut State| state.usual_sample.clone();
        self.serve(state, done, answer, |state| &mut state.held_samples);
    }
}

/// A survey without problems.
pub fn survey(version: &str, gpus: Vec<NvmlGpu>) -> Survey {
    Survey {
        driver_version: Some(version.to_owned()),
        cuda_version: Some((13, 0)),
        gpus,
        problems: Vec::new(),
    }
}

/// The GPU that `/proc` tells, as NVML tells it: with its index, 141 GiB of memory, what kind of product
/// it is, no process and MIG off.
pub fn nvml_gpu(index: u32, gpu: &ProcGpu) -> NvmlGpu {
    NvmlGpu {
        index,
        uuid: gpu.uuid.clone(),
        pci: gpu.pci,
        minor: gpu.minor,
        name: gpu.model.clone(),
        memory_bytes: Some(141 << 30),
        product: Product {
            brand: Some("nvidia".to_owned()),
            compute_capability: Some((9, 0)),
        },
        processes: Some(Vec::new()),
        mig: None,
    }
}

/// How much the GPU that `/proc` tells is used: so much of the time, and so many MiB of 141 GiB, by these processes, of which
/// each computes so much and holds so many MiB. It draws and is as warm as an idle H200.
pub fn gpu_sample(gpu: &ProcGpu, utilization: u32, used: u64, processes: &[(u32, u32, u64)]) -> GpuSample {
    let of = |(pid, utilization, memory): &(u32, u32, u64)| ProcessUse {
        pid: *pid,
        utilization: Percent::told(*utilization),
        memory: Some(memory << 20),
    };
    GpuSample {
        uuid: gpu.uuid.clone(),
        utilization: Percent::told(utilization),
        memory: MemoryUse::told(used << 20, 141 << 30),
        processes: Some(processes.iter().map(of).collect()),
        power: Power::told(76_540),
        temperature: Temperature::told(31),
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The real thread for NVML over a simulated driver, and how to ask it: what the tests of `Nvml` have in common.

use fake_nvml::{Machine, Process, Simulation, built_library, install_library};
use mesos_gpu::domain::estimate::Sample;
use mesos_gpu::ports::nvml::{Done, Nvml, NvmlFailure, Survey};
use mesos_gpu::system::nvml::NvmlThread;
use std::cell::OnceCell;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for any call that does not hang, on a busy machine too.
pub const LIMIT: Duration = Duration::from_millis(1500);
pub const NEVER: Duration = Duration::from_secs(60);

/// Asks for a survey, and checks what holds for every question: it does not block, and is answered once, on another thread.
pub fn ask(nvml: &dyn Nvml) -> Result<Survey, NvmlFailure> {
    answer(|done| nvml.survey(done))
}

/// Asks for a sample, and checks the same.
pub fn ask_for_a_sample(nvml: &dyn Nvml) -> Result<Sample, NvmlFailure> {
    answer(|done| nvml.sample(done))
}

fn answer<T: Send + 'static>(ask: impl FnOnce(Done<T>)) -> Result<T, NvmlFailure> {
    let (to, answers) = mpsc::channel();
    let asking = Instant::now();
    ask(Box::new(move |result| {
        to.send((result, thread::current().id()))
            .unwrap_or_else(|_| panic!("nobody waits"));
    }));
    assert!(asking.elapsed() < LIMIT, "asking took {:?}", asking.elapsed());
    let (result, on) = answers.recv_timeout(NEVER).expect("there is an answer");
    assert_ne!(on, thread::current().id(), "the answer came on the asking thread");
    assert!(answers.recv().is_err(), "there is one answer");
    result
}

/// Asks until the call that hung is back.
pub fn ask_until_served(nvml: &dyn Nvml) -> Result<Survey, NvmlFailure> {
    let begin = Instant::now();
    loop {
        match ask(nvml) {
            Err(NvmlFailure::Stuck { .. }) if begin.elapsed() < NEVER => {
                thread::sleep(Duration::from_millis(10))
            }
            answer => return answer,
        }
    }
}

/// A process on a GPU that is not cut.
pub fn process(pid: u32) -> Process {
    Process {
        pid,
        used_memory: Some(1 << 30),
        sm_util: 0,
        mem_util: 0,
        gpu_instance: None,
        compute_instance: None,
    }
}

/// A simulated driver in a folder of its own. Nothing is in it before the first machine is set.
pub struct Driver {
    /// Its folder.
    pub folder: tempfile::TempDir,
    simulation: OnceCell<Simulation>,
}

impl Driver {
    /// An empty folder.
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            simulation: OnceCell::new(),
        }
    }

    /// With this machine.
    pub fn of(machine: &Machine) -> Self {
        let driver = Self::new();
        driver.set(machine);
        driver
    }

    /// From now on it is this machine.
    pub fn set(&self, machine: &Machine) {
        let lay_out = || Simulation::lay_out(self.folder.path(), machine).unwrap();
        self.simulation.get_or_init(lay_out).update(machine).unwrap();
    }

    /// Starts NVML on its library, which need not be there yet.
    pub fn start(&self) -> NvmlThread {
        NvmlThread::start(Some(self.folder.path().join("lib/libnvidia-ml.so.1")), LIMIT)
    }

    /// Starts on the same library without these functions.
    pub fn start_without(&self, functions: &[&str]) -> NvmlThread {
        install_library(
            &built_library().unwrap(),
            &self.folder.path().join("lib"),
            functions,
        )
        .unwrap();
        self.start()
    }
}

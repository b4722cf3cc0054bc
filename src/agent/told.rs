// SPDX-License-Identifier: Apache-2.0
//! What the driver's tree says, read at most once in a job of the agent thread, and no more of it than the job asks for: the
//! tree is as many files as the machine has GPUs, and a launch waits for each. What it says can change while the agent runs,
//! so the next job reads it again.

use crate::agent::state::State;
use crate::domain::gpu::Unit;
use crate::ports::driver_proc::{ProcGpu, ProcReport};
use std::cell::{OnceCell, RefCell};

/// What this job has read.
#[derive(Debug, Default)]
pub struct Told {
    all: OnceCell<ProcReport>,
    gpus: RefCell<Vec<ProcGpu>>,
}

impl State {
    /// All that the tree says.
    pub fn driver(&self) -> &ProcReport {
        self.told.all.get_or_init(|| self.machine.driver.read())
    }

    /// The loaded driver's version; none when the tree does not tell.
    pub fn driver_version(&self) -> Option<String> {
        match self.told.all.get() {
            Some(all) => all.driver_version.clone(),
            None => self.machine.driver.version(),
        }
    }

    /// What the tree says of a unit's GPU; none where the GPU is not listed. While that has the address and the number it was
    /// found with, no other GPU's entry is read; else all are, because two can be one another now.
    pub fn gpu_now(&self, unit: &Unit) -> Option<ProcGpu> {
        let is_it = |gpu: &&ProcGpu| &gpu.uuid == unit.gpu_id();
        if self.told.all.get().is_none() {
            let known = self.told.gpus.borrow().iter().find(is_it).cloned();
            if known.is_some() {
                return known;
            }
            let as_found = |gpu: &ProcGpu| is_it(&gpu) && gpu.minor == unit.minor;
            if let Some(gpu) = self.machine.driver.gpu(unit.pci).filter(as_found) {
                self.told.gpus.borrow_mut().push(gpu.clone());
                return Some(gpu);
            }
        }
        self.driver().gpus.iter().find(is_it).cloned()
    }
}

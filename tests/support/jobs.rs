// SPDX-License-Identifier: Apache-2.0
//! The jobs of GPUs without a folder: what was published last, and how often.

use mesos_gpu::domain::jobs::Jobs as ByIndex;
use mesos_gpu::ports::jobs::Jobs;
use std::sync::{Arc, Mutex};

/// Keeps what is published. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct FakeJobs {
    published: Arc<Mutex<Vec<ByIndex>>>,
}

impl FakeJobs {
    /// What was published last; nothing before that.
    pub fn last(&self) -> ByIndex {
        self.published.lock().unwrap().last().cloned().unwrap_or_default()
    }

    /// How often something was published.
    pub fn count(&self) -> usize {
        self.published.lock().unwrap().len()
    }
}

impl Jobs for FakeJobs {
    fn publish(&self, jobs: &ByIndex) -> Result<(), String> {
        self.published.lock().unwrap().push(jobs.clone());
        Ok(())
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Metrics without a file: what was published, and how often.

use mesos_gpu::ports::metrics::Metrics;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Keeps what is published. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct FakeMetrics {
    published: Arc<Mutex<Vec<String>>>,
    broken: Arc<AtomicBool>,
}

impl FakeMetrics {
    /// What was published last; empty before that.
    pub fn last(&self) -> String {
        self.published.lock().unwrap().last().cloned().unwrap_or_default()
    }

    /// From now on it panics.
    pub fn break_down(&self) {
        self.broken.store(true, Ordering::SeqCst);
    }

    /// How often something was published.
    pub fn count(&self) -> usize {
        self.published.lock().unwrap().len()
    }
}

impl Metrics for FakeMetrics {
    fn publish(&self, text: &str) -> Result<(), String> {
        assert!(!self.broken.load(Ordering::SeqCst), "told to panic");
        self.published.lock().unwrap().push(text.to_owned());
        Ok(())
    }
}

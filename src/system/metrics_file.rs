// SPDX-License-Identifier: Apache-2.0
//! The numbers as a file for a textfile collector.

use super::replaced_file::replace;
use crate::ports::metrics::Metrics;
use std::path::PathBuf;

/// A file, or nowhere.
#[derive(Debug, Clone)]
pub struct MetricsFile {
    path: Option<PathBuf>,
}

impl MetricsFile {
    /// Publishes to the file at `path`, whose folder must be there; without one, nowhere.
    pub fn new(path: Option<PathBuf>) -> Self {
        Self { path }
    }
}

impl Metrics for MetricsFile {
    fn publish(&self, text: &str) -> Result<(), String> {
        let Some(path) = &self.path else { return Ok(()) };
        replace(path, text)
            .map_err(|error| format!("cannot write the metrics to {}: {error}", path.display()))
    }
}

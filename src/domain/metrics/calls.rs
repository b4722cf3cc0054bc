// SPDX-License-Identifier: Apache-2.0
//! What is counted of one of the module's calls.

use crate::error::Kind;
use std::time::Duration;

/// The upper bounds of the latencies' buckets, and how they are written. Few, around what a launch may take of the module's
/// time (1 ms) and around what a wait for a GPU takes.
pub const BOUNDS: [(Duration, &str); 8] = [
    (Duration::from_micros(100), "0.0001"),
    (Duration::from_micros(250), "0.00025"),
    (Duration::from_millis(1), "0.001"),
    (Duration::from_millis(5), "0.005"),
    (Duration::from_millis(25), "0.025"),
    (Duration::from_millis(250), "0.25"),
    (Duration::from_millis(2500), "2.5"),
    (Duration::from_secs(30), "30"),
];

/// The reasons of failures, in the order of [`CallNumbers::failures`].
pub const REASONS: [&str; 4] = ["request", "configuration", "machine", "defect"];

/// How long answers took.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LatencySum {
    /// How many fell between each bound and the one before; the last are above all bounds.
    pub between: [u64; BOUNDS.len() + 1],
    /// All together.
    pub sum: Duration,
}

impl LatencySum {
    /// Adds one.
    pub fn add(&mut self, took: Duration) {
        let at = BOUNDS.iter().position(|(bound, _)| took <= *bound);
        if let Some(count) = self.between.get_mut(at.unwrap_or(BOUNDS.len())) {
            *count += 1;
        }
        self.sum += took;
    }
}

/// What is counted of a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallNumbers {
    /// How often it came.
    pub calls: u64,
    /// How often it failed, by [`REASONS`].
    pub failures: [u64; REASONS.len()],
    /// How long its answers took; none for a call that stays unanswered as long as all is well.
    pub latency: Option<LatencySum>,
}

impl CallNumbers {
    /// Notes a failure.
    pub fn failed(&mut self, kind: Kind) {
        let at = match kind {
            Kind::Request => 0,
            Kind::Configuration => 1,
            Kind::Machine => 2,
            Kind::Defect => 3,
        };
        if let Some(count) = self.failures.get_mut(at) {
            *count += 1;
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! What the agent thread has to do later. Waiting is a pending job here, never a sleep.

use crate::agent::mailbox::Job;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Instant;

/// Jobs by the time at which they are due; of the same time, in the order in which they came.
#[derive(Default)]
pub struct Timers {
    jobs: BTreeMap<(Instant, u64), Job>,
    next: u64,
}

impl Timers {
    /// Adds a job.
    pub fn add(&mut self, at: Instant, job: Job) {
        self.jobs.insert((at, self.next), job);
        self.next += 1;
    }

    /// When the next one is due.
    pub fn next_due(&self) -> Option<Instant> {
        self.jobs.keys().next().map(|(at, _)| *at)
    }

    /// Takes out the next one that is due by `now`.
    pub fn take_due(&mut self, now: Instant) -> Option<Job> {
        let first = self.jobs.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}

impl fmt::Debug for Timers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Timers({})", self.jobs.len())
    }
}

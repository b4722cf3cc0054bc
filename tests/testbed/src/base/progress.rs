// SPDX-License-Identifier: Apache-2.0
//! Lines on standard error while something takes long, so that nobody takes a download for a hang.

use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(5);

pub(super) struct Progress {
    what: &'static str,
    started: Instant,
    next: Duration,
}

impl Progress {
    pub(super) fn start(what: &'static str) -> Self {
        eprintln!("testbed: {what} …");
        Self {
            what,
            started: Instant::now(),
            next: EVERY,
        }
    }

    /// `detail` is asked for only when a line is due.
    pub(super) fn tick(&mut self, detail: impl FnOnce() -> String) {
        let elapsed = self.started.elapsed();
        if elapsed >= self.next {
            self.next = elapsed + EVERY;
            eprintln!("testbed: {}: {}, {} s", self.what, detail(), elapsed.as_secs());
        }
    }

    pub(super) fn done(self) {
        eprintln!(
            "testbed: {}: done in {:.1} s",
            self.what,
            self.started.elapsed().as_secs_f32()
        );
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The estimate of one agent with what it needs around it: a clock, who is asked, and what was decided last. Off unless it is
//! switched on, and then nothing is idle.

use super::attribution::{Attribution, Owners};
use crate::domain::estimate::{Books, Doubt, Estimator, Look, MustGo, Sample, Thresholds, Verdict};
use crate::domain::gpu::UnitId;
use std::fmt;
use std::time::Duration;

/// The time since some start; it never goes backwards.
pub type Clock = Box<dyn Fn() -> Duration + Send>;

/// What the last look came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// The held GPUs that could take a guest.
    pub offerable: Vec<UnitId>,
    /// The GPUs whose guests must go, and why.
    pub must_go: Vec<MustGo>,
}

/// The estimate of one agent.
#[derive(Default)]
pub struct Estimation {
    running: Option<Running>,
    decision: Decision,
}

struct Running {
    estimator: Estimator,
    clock: Clock,
    /// Since when NVML has been asked.
    asked: Option<Duration>,
    attribution: Attribution,
}

impl Estimation {
    /// No estimate: nothing is sampled, nothing is idle.
    pub fn off() -> Self {
        Self::default()
    }

    /// An estimate by these thresholds.
    pub fn on(thresholds: Thresholds, clock: Clock) -> Self {
        Self {
            running: Some(Running {
                estimator: Estimator::new(thresholds),
                clock,
                asked: None,
                attribution: Attribution::default(),
            }),
            decision: Decision::default(),
        }
    }

    /// How often to look; none while it is off.
    pub fn interval(&self) -> Option<Duration> {
        let running = self.running.as_ref()?;
        Some(running.estimator.thresholds().interval)
    }

    /// What the last look came to.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// What is to be thought of a GPU since the last look.
    pub fn verdict(&self, gpu: &UnitId) -> Verdict {
        self.running
            .as_ref()
            .map_or(Verdict::Unknown(Doubt::NotLooked), |running| {
                running.estimator.verdict(gpu)
            })
    }

    /// The GPUs that can take one guest more each now, by these books.
    pub fn offerable(&self, books: &Books, promised: usize) -> Vec<UnitId> {
        let running = self.running.as_ref();
        running.map_or_else(Vec::new, |running| {
            running.estimator.offerable((running.clock)(), books, promised)
        })
    }

    /// The GPUs with guests that must go, by these books.
    pub fn must_go(&self, books: &Books) -> Vec<MustGo> {
        let running = self.running.as_ref();
        running.map_or_else(Vec::new, |running| running.estimator.must_go(books))
    }

    /// Notes that guests of a GPU had to go.
    pub fn corrected(&mut self, gpu: &UnitId) {
        if let Some(running) = &mut self.running {
            let now = (running.clock)();
            running.estimator.corrected(gpu, now);
        }
    }

    /// Notes a question to NVML: when it is asked, or none while an earlier one has no answer.
    pub(super) fn ask(&mut self) -> Option<Duration> {
        let running = self.running.as_mut()?;
        if running.asked.is_some() {
            return None;
        }
        running.asked = Some((running.clock)());
        running.asked
    }

    /// Notes the answer to it; in words, when it came too late to say anything of now.
    pub(super) fn answered(&mut self, asked: Duration) -> Result<(), String> {
        let Some(running) = &mut self.running else {
            return Ok(());
        };
        running.asked = None;
        let took = (running.clock)().saturating_sub(asked);
        if took > running.estimator.thresholds().longest_gap() {
            return Err(format!("NVML took {} s for its answer", took.as_secs()));
        }
        Ok(())
    }

    /// Takes a look: what NVML told and whose the processes are, or in words why it told nothing. Guests that must go from
    /// now on are returned.
    pub fn look(&mut self, told: Result<(&Sample, Owners), String>, books: &Books) -> Vec<MustGo> {
        let Some(running) = &mut self.running else {
            return Vec::new();
        };
        let sample = told.map(|(sample, owners)| {
            running.attribution.take(owners);
            sample
        });
        let at = (running.clock)();
        let new = running.estimator.look(&Look {
            at,
            sample,
            books,
            whose: &|pid| running.attribution.whose(pid),
        });
        self.decision = Decision {
            offerable: running.estimator.offerable(at, books, 0),
            must_go: running.estimator.must_go(books),
        };
        new
    }
}

impl fmt::Debug for Estimation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Estimation")
            .field("decision", &self.decision)
            .finish_non_exhaustive()
    }
}

// SPDX-License-Identifier: Apache-2.0
//! What NVML told last of each GPU, for the metrics. What it told is kept for as long as nothing can have been missed; after
//! that only its age is known, and nobody can take an old figure for a new one.

use super::attribution::{Owners, Used};
use super::estimation::Clock;
use crate::domain::container::ContainerId;
use crate::domain::estimate::{GpuSample, Sample};
use crate::domain::gpu::UnitId;
use crate::domain::metrics::NvmlNumbers;
use crate::ports::nvml::NvmlFailure;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// One sample may be lost or late, as with the estimate.
const FRESH: u32 = 3;

/// What was told of a GPU.
#[derive(Debug, Clone)]
pub struct Reading {
    /// When NVML was asked.
    at: Duration,
    /// The sample.
    pub sample: GpuSample,
    /// What each container does on it; one that is not listed does nothing. None when that is not known.
    uses: Option<BTreeMap<ContainerId, Used>>,
}

impl Reading {
    /// What a container does on the GPU; none when that is not known.
    pub fn used_by(&self, container: &ContainerId) -> Option<Used> {
        let uses = self.uses.as_ref()?;
        Some(uses.get(container).copied().unwrap_or_else(Used::nothing))
    }
}

/// The readings of one agent. Off unless they are switched on: then NVML is not asked for them.
#[derive(Default)]
pub struct Readings {
    running: Option<Running>,
}

struct Running {
    interval: Duration,
    clock: Clock,
    /// Whether NVML has been asked and has not answered.
    asked: bool,
    last: BTreeMap<UnitId, Reading>,
    numbers: NvmlNumbers,
}

impl Readings {
    /// No readings.
    pub fn off() -> Self {
        Self::default()
    }

    /// Readings at this interval.
    pub fn on(interval: Duration, clock: Clock) -> Self {
        Self {
            running: Some(Running {
                interval,
                clock,
                asked: false,
                last: BTreeMap::new(),
                numbers: NvmlNumbers::default(),
            }),
        }
    }

    /// How often NVML is asked; none while they are off.
    pub fn interval(&self) -> Option<Duration> {
        self.running.as_ref().map(|running| running.interval)
    }

    /// Notes a question to NVML: when it is asked, or none while an earlier one has no answer.
    pub(super) fn ask(&mut self) -> Option<Duration> {
        let running = self.running.as_mut()?;
        if std::mem::replace(&mut running.asked, true) {
            return None;
        }
        Some((running.clock)())
    }

    /// Takes the answer to the question that was asked then. A GPU that it does not name is older from then on.
    pub(super) fn answered(&mut self, at: Duration, answer: &Result<(Sample, Owners), NvmlFailure>) {
        let Some(running) = &mut self.running else { return };
        running.asked = false;
        running.numbers.up = Some(answer.is_ok());
        let (sample, owners) = match answer {
            Ok(told) => (&told.0, &told.1),
            Err(failure) => return running.numbers.failures[reason(failure)] += 1,
        };
        for gpu in sample.gpus.iter().filter(|gpu| sample.of(&gpu.uuid).is_some()) {
            let reading = Reading {
                at,
                sample: gpu.clone(),
                uses: owners.uses(gpu),
            };
            running.last.insert(gpu.uuid.clone(), reading);
        }
    }

    /// How long ago NVML was asked for what it told last of a GPU, and that, while it says something of now. None when it
    /// told nothing of it yet.
    pub fn of(&self, gpu: &UnitId) -> Option<(Duration, Option<&Reading>)> {
        let running = self.running.as_ref()?;
        let reading = running.last.get(gpu)?;
        let age = (running.clock)().saturating_sub(reading.at);
        Some((age, (age <= running.interval * FRESH).then_some(reading)))
    }

    /// How NVML answered; none while they are off.
    pub fn numbers(&self) -> Option<NvmlNumbers> {
        self.running.as_ref().map(|running| running.numbers.clone())
    }
}

/// The place of a reason among [`NVML_REASONS`](crate::domain::metrics::NVML_REASONS).
fn reason(failure: &NvmlFailure) -> usize {
    match failure {
        NvmlFailure::Library { .. } => 0,
        NvmlFailure::Call { .. } => 1,
        NvmlFailure::VersionMismatch { .. } => 2,
        NvmlFailure::Timeout { .. } => 3,
        NvmlFailure::Stuck { .. } => 4,
    }
}

impl fmt::Debug for Readings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readings")
            .field("interval", &self.interval())
            .finish_non_exhaustive()
    }
}

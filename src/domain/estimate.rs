// SPDX-License-Identifier: Apache-2.0
//! Which GPUs their containers leave idle, so that a guest can use them meanwhile, and which of them their guests must leave.
//!
//! Whoever offers an idle GPU a second time takes a risk for its owner, so everything that is not known here counts against
//! it: a figure that is missing, a process of nobody, a look that did not come, a container that has just begun. A GPU
//! becomes idle after a whole window of quiet samples, and is so no more at the first other one.
//!
//! The estimate has no clock: every look brings its time, as the duration since some start.

mod activity;
pub mod driver_clock;
mod holding;
pub mod sample;
mod series;
mod thresholds;
mod verdict;

pub use activity::{Cause, Doubt, WhoseProcess};
pub use holding::{Books, Holding, books};
pub use sample::{GpuSample, MemoryUse, Percent, Power, ProcessUse, Sample, Temperature};
pub use thresholds::{MemoryLimit, Thresholds};
pub use verdict::{Busy, Eviction, Verdict};

use crate::domain::container::ContainerId;
use crate::domain::gpu::UnitId;
use activity::Activity;
use series::Series;
use std::collections::BTreeMap;
use std::time::Duration;

/// One look at all GPUs.
pub struct Look<'a> {
    /// When.
    pub at: Duration,
    /// What the driver told; otherwise why it told nothing.
    pub sample: Result<&'a Sample, String>,
    /// Who has which GPU.
    pub books: &'a Books,
    /// What a process belongs to. It is asked for processes on GPUs with guests only.
    pub whose: WhoseProcess<'a>,
}

/// A GPU whose guests must go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MustGo {
    /// The GPU.
    pub gpu: UnitId,
    /// Its guests.
    pub guests: Vec<ContainerId>,
    /// Why.
    pub why: Eviction,
}

/// All GPUs over time.
#[derive(Debug, Clone)]
pub struct Estimator {
    thresholds: Thresholds,
    series: BTreeMap<UnitId, Series>,
}

impl Estimator {
    /// Nothing is known yet, so nothing is idle.
    pub fn new(thresholds: Thresholds) -> Self {
        Self {
            thresholds,
            series: BTreeMap::new(),
        }
    }

    /// What counts as idle.
    pub fn thresholds(&self) -> &Thresholds {
        &self.thresholds
    }

    /// Takes one look. What is returned is new: guests that must go from now on.
    pub fn look(&mut self, look: &Look<'_>) -> Vec<MustGo> {
        self.series.retain(|gpu, _| look.books.contains_key(gpu));
        let mut new = Vec::new();
        for (gpu, holding) in look.books {
            let series = self
                .series
                .entry(gpu.clone())
                .or_insert_with(|| Series::new(holding, look.at));
            let told = look.sample.as_ref().map(|sample| sample.of(gpu));
            let activity = match &told {
                Err(why) => Activity::Unknown(Doubt::NoSample((*why).clone())),
                Ok(None) => Activity::Unknown(Doubt::NotListed),
                Ok(Some(told)) => {
                    let guests = series.guests_around(holding);
                    activity::of_owner(told, holding, &guests, look.whose, &self.thresholds)
                }
            };
            let memory = told.ok().flatten().and_then(|told| told.memory);
            if series.look(look.at, holding, activity, memory, &self.thresholds)
                && let Some(why) = series.evicting()
            {
                new.push(MustGo {
                    gpu: gpu.clone(),
                    guests: holding.guests.clone(),
                    why: why.clone(),
                });
            }
        }
        new
    }

    /// What is to be thought of a GPU since the last look.
    pub fn verdict(&self, gpu: &UnitId) -> Verdict {
        self.series
            .get(gpu)
            .map_or(Verdict::Unknown(Doubt::NotLooked), |series| {
                series.verdict().clone()
            })
    }

    /// The GPUs with guests that must go, until these are gone.
    pub fn must_go(&self, books: &Books) -> Vec<MustGo> {
        let standing = self.series.iter().filter_map(|(gpu, series)| {
            let guests = books.get(gpu)?.guests.clone();
            let why = series.evicting()?.clone();
            (!guests.is_empty()).then(|| MustGo {
                gpu: gpu.clone(),
                guests,
                why,
            })
        });
        standing.collect()
    }

    /// Notes that the guests of a GPU had to go for another reason than the estimate's own, for example for a container
    /// that needed it.
    pub fn corrected(&mut self, gpu: &UnitId, at: Duration) {
        if let Some(series) = self.series.get_mut(gpu) {
            series.correct(at);
        }
    }

    /// The GPUs that can take one guest more each, at this time and by these books: held, idle, whole, and within what may be
    /// shared; the one that has been idle longest first. `promised` is how many launches under way were promised one and are
    /// not in the books yet: they will take the first ones.
    pub fn offerable(&self, at: Duration, books: &Books, promised: usize) -> Vec<UnitId> {
        let is_held = |holding: &&Holding| holding.placeable && !holding.holders.is_empty();
        let held = u64::try_from(books.values().filter(is_held).count()).unwrap_or(u64::MAX);
        let most = usize::try_from(self.thresholds.share.of(held)).unwrap_or(usize::MAX);
        let shared = books
            .values()
            .filter(|holding| !holding.guests.is_empty())
            .count();
        let mut more = most.saturating_sub(shared);

        let mut idle: Vec<(Duration, &UnitId, &Holding)> = books
            .iter()
            .filter(|(_, holding)| holding.placeable && holding.owner().is_some())
            .filter(|(_, holding)| holding.guests.len() < self.thresholds.guests_per_gpu)
            .filter_map(|(gpu, holding)| {
                let series = self.series.get(gpu)?;
                let since = series.idle_since(at, holding, &self.thresholds)?;
                Some((since, gpu, holding))
            })
            .collect();
        idle.sort_by_key(|(since, gpu, _)| (*since, *gpu));
        let may = idle.into_iter().filter(|(_, _, holding)| {
            let has_guest = !holding.guests.is_empty();
            let may = has_guest || more > 0;
            more -= usize::from(may && !has_guest);
            may
        });
        may.skip(promised).map(|(_, gpu, _)| gpu.clone()).collect()
    }
}

#[cfg(test)]
mod tests;

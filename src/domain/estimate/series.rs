// SPDX-License-Identifier: Apache-2.0
//! One GPU over time. It becomes idle slowly and stops being idle at once: what a guest loses by a wrong "idle" is its work,
//! and what the owner loses is its GPU.

use crate::domain::container::ContainerId;
use crate::domain::estimate::activity::{Activity, Doubt};
use crate::domain::estimate::holding::Holding;
use crate::domain::estimate::sample::MemoryUse;
use crate::domain::estimate::thresholds::Thresholds;
use crate::domain::estimate::verdict::{Busy, Eviction, Verdict};
use std::time::Duration;

/// One GPU over time.
#[derive(Debug, Clone)]
pub(super) struct Series {
    /// Whose it was at the last look.
    holders: Vec<ContainerId>,
    /// Who was on it at the last look.
    guests: Vec<ContainerId>,
    /// Since when every sample was quiet, without a gap.
    quiet_since: Option<Duration>,
    /// Since when no sample said anything.
    unknown_since: Option<Duration>,
    /// When it was looked at.
    looked: Duration,
    became_idle: Option<Duration>,
    corrected: Option<Duration>,
    evicting: Option<Eviction>,
    verdict: Verdict,
}

impl Series {
    pub fn new(holding: &Holding, at: Duration) -> Self {
        Self {
            holders: holding.holders.clone(),
            guests: Vec::new(),
            quiet_since: None,
            unknown_since: None,
            looked: at,
            became_idle: None,
            corrected: None,
            evicting: None,
            verdict: Verdict::Unknown(Doubt::NotLooked),
        }
    }

    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// Why its guests must go; it stays so until they are gone.
    pub fn evicting(&self) -> Option<&Eviction> {
        self.evicting.as_ref()
    }

    /// Since when it has been idle, where what is known still holds at that time for these holders.
    pub fn idle_since(&self, at: Duration, holding: &Holding, thresholds: &Thresholds) -> Option<Duration> {
        let fresh = at
            .checked_sub(self.looked)
            .is_some_and(|age| age <= thresholds.longest_gap());
        let same = self.holders == holding.holders;
        (self.verdict == Verdict::Idle && fresh && same)
            .then_some(self.became_idle)
            .flatten()
    }

    /// The guests that were on it since the sample before, as far as the books tell.
    pub fn guests_around(&self, holding: &Holding) -> Vec<ContainerId> {
        let mut guests = holding.guests.clone();
        guests.extend(
            self.guests
                .iter()
                .filter(|guest| !holding.guests.contains(guest))
                .cloned(),
        );
        guests
    }

    /// Notes that guests had to go, whoever said so.
    pub fn correct(&mut self, at: Duration) {
        self.corrected = Some(at);
        self.quiet_since = None;
        self.verdict = Verdict::Busy(Busy::Paused);
    }

    /// Takes the next look. True when its guests must go from now on.
    pub fn look(
        &mut self,
        at: Duration,
        holding: &Holding,
        activity: Activity,
        memory: Option<MemoryUse>,
        thresholds: &Thresholds,
    ) -> bool {
        // What is known to be in use is so whoever holds it and whatever the time.
        let activity = match (at.checked_sub(self.looked), activity) {
            (_, active @ Activity::Active(_)) => active,
            (None, _) => Activity::Unknown(Doubt::Clock),
            (Some(_), _) if holding.holders.len() > 1 => Activity::Unknown(Doubt::SeveralHolders),
            (Some(_), activity) => activity,
        };
        if at.saturating_sub(self.looked) > thresholds.longest_gap() {
            self.quiet_since = None;
        }
        self.looked = at;
        let new_owner = self.holders != holding.holders;
        if new_owner {
            self.holders.clone_from(&holding.holders);
            self.quiet_since = None;
        }
        self.guests.clone_from(&holding.guests);

        self.count(at, &activity);
        let had_to_go = self.evicting.is_some();
        self.evict(at, holding, &activity, memory, new_owner, thresholds);
        self.verdict = self.judge(at, activity, thresholds);
        !had_to_go && self.evicting.is_some()
    }

    fn count(&mut self, at: Duration, activity: &Activity) {
        match activity {
            Activity::Quiet => {
                self.unknown_since = None;
                self.quiet_since.get_or_insert(at);
            }
            Activity::Active(_) => (self.quiet_since, self.unknown_since) = (None, None),
            Activity::Unknown(_) => {
                self.quiet_since = None;
                // Time that went backwards begins anew.
                self.unknown_since = Some(self.unknown_since.map_or(at, |since| since.min(at)));
            }
        }
    }

    fn evict(
        &mut self,
        at: Duration,
        holding: &Holding,
        activity: &Activity,
        memory: Option<MemoryUse>,
        new_owner: bool,
        thresholds: &Thresholds,
    ) {
        if holding.guests.is_empty() {
            self.evicting = None;
            return;
        }
        if self.evicting.is_some() || holding.holders.is_empty() {
            return;
        }
        let unseen = |since: Duration| at.saturating_sub(since) >= thresholds.window;
        let short = |memory: &MemoryUse| memory.free() < thresholds.reserve(memory.total());
        self.evicting = match activity {
            Activity::Active(cause) => Some(Eviction::OwnerActive(cause.clone())),
            _ if new_owner => Some(Eviction::OwnerNew),
            _ => match (memory.filter(short), activity) {
                (Some(memory), _) => Some(Eviction::MemoryShort(memory)),
                (None, Activity::Unknown(doubt)) if self.unknown_since.is_some_and(unseen) => {
                    Some(Eviction::OwnerUnseen(doubt.clone()))
                }
                _ => None,
            },
        };
        if self.evicting.is_some() {
            self.corrected = Some(at);
        }
    }

    fn judge(&mut self, at: Duration, activity: Activity, thresholds: &Thresholds) -> Verdict {
        let was_idle = self.verdict == Verdict::Idle;
        match activity {
            Activity::Active(cause) => return Verdict::Busy(Busy::Active(cause)),
            Activity::Unknown(doubt) => return Verdict::Unknown(doubt),
            Activity::Quiet if self.evicting.is_some() => return Verdict::Busy(Busy::Leaving),
            Activity::Quiet => {}
        }
        let quiet = self
            .quiet_since
            .map_or(Duration::ZERO, |since| at.saturating_sub(since));
        if quiet < thresholds.window {
            return Verdict::Busy(Busy::Settling(quiet));
        }
        if was_idle {
            return Verdict::Idle;
        }
        // A machine whose time went backwards waits the whole pause again.
        let rested = |since: Duration| at.saturating_sub(since) >= thresholds.pause;
        if self.became_idle.is_none_or(rested) && self.corrected.is_none_or(rested) {
            self.became_idle = Some(at);
            return Verdict::Idle;
        }
        Verdict::Busy(Busy::Paused)
    }
}

#[cfg(test)]
#[path = "series_tests.rs"]
mod tests;

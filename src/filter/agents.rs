// SPDX-License-Identifier: Apache-2.0
//! The agents that the master told of: how many GPUs they have, who has them, and whose turn it is.

use super::frameworks::{Framework, Holder, Key};
use crate::domain::allocation_policy::count::Count;
use crate::domain::allocation_policy::piece::{Amounts, ONE};
use crate::domain::allocation_policy::turn::{Moment, Turn};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Past so many, those that are over are looked for.
const MANY: usize = 64;

/// What a framework said last of an agent, in one role.
#[derive(Debug, Clone, Copy)]
pub struct Declined {
    /// How much it did not want.
    pub amounts: Amounts,
    /// For how long.
    pub until: Moment,
    /// Its revivals then: with the next it takes this back.
    pub revivals: u32,
}

/// An agent.
#[derive(Debug, Default)]
pub struct Agent {
    /// Its host.
    pub hostname: String,
    /// The GPUs it has.
    pub total: Count,
    /// Who has GPUs of it, offered and in use.
    held: HashMap<Holder, Count>,
    /// What tasks use. Told in any case, since that is seldom; what is offered is only counted where it has to be.
    pub used: Count,
    /// Whether all that is held is known: it was counted from the agent's first moment, or once all were free.
    pub counted: bool,
    /// Whose turn it is.
    pub turn: Turn,
    /// Set where it was offered to a framework of which nothing has to be withheld, which is not looked at any closer.
    pub offered: Arc<AtomicBool>,
    declined: HashMap<Holder, Declined>,
    /// Until when a framework does not want the agent at all, and its revivals then.
    refused: HashMap<Key, (Moment, u32)>,
    /// The turn, and to whom what is reserved was shown in it.
    shown: (u32, HashSet<Holder>),
}

impl Agent {
    /// An agent of which nothing is held yet; `counted` where what it holds will be told.
    pub fn new(hostname: &str, counted: bool) -> Self {
        Self {
            hostname: hostname.to_owned(),
            counted,
            ..Self::default()
        }
    }

    /// How many whole unreserved GPUs are free. As long as not all is counted, what was on offer when counting began is taken
    /// for free, until it is used or comes back.
    pub fn free(&self) -> u64 {
        let held: u64 = self.held.values().map(|count| count.shared).sum();
        let taken = if self.counted {
            held
        } else {
            held.max(self.used.shared)
        };
        self.total.shared.saturating_sub(taken) / ONE
    }

    /// What it was offered to without being looked at counts as offered.
    pub fn settle(&mut self) {
        if self.offered.swap(false, Ordering::Relaxed) {
            self.turn.served();
        }
    }

    /// Books GPUs for someone.
    pub fn hold(&mut self, holder: Holder, count: Count) {
        if count.sum() > 0 {
            self.held.entry(holder).or_default().add(count);
        }
    }

    /// Takes GPUs from someone, as far as it has some, and says how many.
    pub fn release(&mut self, holder: Holder, count: Count) -> u64 {
        let Some(held) = self.held.get_mut(&holder) else {
            return 0;
        };
        let taken = held.take(count);
        if held.sum() == 0 {
            self.held.remove(&holder);
        }
        taken
    }

    /// Takes all GPUs from someone.
    pub fn release_holder(&mut self, holder: Holder) {
        self.held.remove(&holder);
    }

    /// Takes all GPUs from everyone, and says who had how many.
    pub fn release_all(&mut self) -> Vec<(Holder, u64)> {
        let all = self.held.drain();
        all.map(|(holder, count)| (holder, count.sum())).collect()
    }

    /// Forgets a framework.
    pub fn forget(&mut self, key: Key, framework: &Framework) {
        self.refused.remove(&key);
        for role in &framework.roles {
            self.held.remove(&role.holder);
            self.declined.remove(&role.holder);
            self.shown.1.remove(&role.holder);
        }
    }

    /// Someone does not want what was offered for some time.
    pub fn decline(&mut self, holder: Holder, declined: Declined, now: Moment) {
        if self.declined.len() >= MANY {
            self.declined.retain(|_, one| one.until > now);
        }
        self.declined.insert(holder, declined);
    }

    /// How much longer someone does not want even this.
    pub fn declines(
        &self,
        holder: Holder,
        framework: &Framework,
        amounts: &Amounts,
        now: Moment,
    ) -> Option<Moment> {
        let declined = self.declined.get(&holder)?;
        let counts = declined.revivals == framework.revivals && declined.amounts.covers(amounts);
        let left = declined.until.checked_sub(now).filter(|left| !left.is_zero());
        left.filter(|_| counts)
    }

    /// A framework does not want the agent for some time.
    pub fn refuse(&mut self, key: Key, until: Moment, revivals: u32, now: Moment) {
        if self.refused.len() >= MANY {
            self.refused.retain(|_, (until, _)| *until > now);
        }
        self.refused.insert(key, (until, revivals));
    }

    /// Whether a framework does not want the agent at present.
    pub fn is_refused(&self, key: Key, framework: &Framework, now: Moment) -> bool {
        let refused = self.refused.get(&key);
        refused.is_some_and(|(until, revivals)| *until > now && *revivals == framework.revivals)
    }

    /// Whether what is reserved was not shown to someone in this turn yet; now it is.
    pub fn shows(&mut self, holder: Holder) -> bool {
        if self.shown.0 != self.turn.number() {
            self.shown = (self.turn.number(), HashSet::new());
        }
        self.shown.1.insert(holder)
    }
}

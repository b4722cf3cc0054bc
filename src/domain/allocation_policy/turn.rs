// SPDX-License-Identifier: Apache-2.0
//! Whose turn it is on an agent with free GPUs.
//!
//! The inner allocator gives all that an agent has free to one framework in each cycle, to the one with the lower share. A
//! framework without GPUs that has little and declines at once would get every agent with GPUs in every cycle, and what is
//! withheld of it comes back too late for that cycle. So while someone waits for the GPUs the others have turns: after
//! each loan to one of them the agent must have been offered with its GPUs before the next loan. Who comes out of turn is
//! given nothing, and refused for a while, so that the next cycle is another's.

use std::time::Duration;

/// A point in time, counted from the filter's own beginning.
pub type Moment = Duration;

/// The longest time for which nobody is kept waiting after a turn was not taken.
const LONGEST_RECESS: Duration = Duration::from_secs(600);

/// What times are reckoned by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// From one cycle of the inner allocator to the next.
    pub interval: Duration,
    /// The operator's `refuse_time`.
    pub refuse: Duration,
    /// How many may come out of turn: one for each role of each framework that is not given GPUs.
    pub others: u32,
}

impl Pace {
    /// In this time each of the others can have come once and one cycle remains. It is as long as those who came are
    /// refused at the least, so the first cannot come again before someone who waits had a cycle.
    pub fn round(&self) -> Duration {
        let cycles = self.others.saturating_add(2);
        self.refuse.max(self.interval.saturating_mul(cycles))
    }

    /// Two of the others come at least so far apart, once all have been refused.
    fn apart(&self) -> Duration {
        self.refuse.max(self.interval.saturating_mul(3))
    }
}

/// The turns on one agent.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// Whether the GPUs were offered since the last loan.
    served: bool,
    /// Since when the others are kept waiting.
    kept_since: Option<Moment>,
    /// Until then nobody is kept waiting: nobody took the last turn.
    recess_until: Moment,
    recess: Duration,
    /// When the last of those who were refused may come again.
    last_slot: Moment,
    /// Which loan this is.
    number: u32,
    /// What was known of those who wait when the recess began.
    epoch: u64,
}

impl Turn {
    /// The free GPUs were offered to someone who may have them.
    pub fn served(&mut self) {
        self.served = true;
        self.kept_since = None;
        self.recess_until = Moment::ZERO;
        self.recess = Duration::ZERO;
    }

    /// Whether something may be lent although someone waits for the GPUs; if so, it is. `epoch` is another whenever
    /// someone waits who did not before.
    pub fn lends(&mut self, now: Moment, pace: Pace, epoch: u64) -> bool {
        if self.epoch != epoch {
            self.epoch = epoch;
            self.recess_until = Moment::ZERO;
            self.recess = Duration::ZERO;
        }
        if now < self.recess_until {
            return true;
        }
        if self.served {
            self.served = false;
            self.kept_since = None;
            self.number = self.number.wrapping_add(1);
            return true;
        }
        let since = *self.kept_since.get_or_insert(now);
        if now.saturating_sub(since) < pace.round() {
            return false;
        }
        // Who waits was not offered the agent in all this time: its quota, its constraints or its own filters keep it away.
        // Twice as long each time, so that the agent is idle for a small part only.
        self.recess = (self.recess * 2).clamp(pace.round(), LONGEST_RECESS.max(pace.round()));
        self.recess_until = now + self.recess;
        self.kept_since = None;
        self.number = self.number.wrapping_add(1);
        true
    }

    /// How long someone who is given nothing is refused: until its slot. Slots are apart from each other, so that those who
    /// were refused do not come back in a row, and not farther off than a slot for each.
    pub fn refusal(&mut self, now: Moment, pace: Pace) -> Duration {
        let farthest = now + pace.round().max(pace.apart() * pace.others.saturating_add(1));
        let slot = (self.last_slot + pace.apart())
            .max(now + pace.round())
            .min(farthest);
        self.last_slot = slot;
        slot - now
    }

    /// The number of the present turn: another one after each loan.
    pub fn number(&self) -> u32 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn pace(others: u32) -> Pace {
        Pace {
            interval: secs(1),
            refuse: secs(5),
            others,
        }
    }

    #[test]
    fn after_each_loan_the_gpus_must_have_been_offered() {
        let mut turn = Turn::default();
        assert!(
            !turn.lends(secs(0), pace(1), 0),
            "nobody was offered the GPUs yet"
        );
        turn.served();
        assert!(turn.lends(secs(1), pace(1), 0));
        assert!(!turn.lends(secs(2), pace(1), 0));
        turn.served();
        turn.served();
        assert!(turn.lends(secs(3), pace(1), 0));
        assert!(
            !turn.lends(secs(4), pace(1), 0),
            "two offers of GPUs are one turn"
        );
    }

    #[test]
    fn a_turn_that_nobody_takes_ends_and_the_next_comes_later_each_time() {
        let mut turn = Turn::default();
        let mut lent = Vec::new();
        for second in 0..3600 {
            if turn.lends(secs(second), pace(1), 0) {
                lent.push(second);
            }
        }
        assert_eq!(lent[0], 5);
        let kept: Vec<u64> = lent
            .windows(2)
            .map(|two| two[1] - two[0])
            .filter(|gap| *gap > 1)
            .collect();
        assert!(
            kept.iter().all(|gap| *gap == 6),
            "each turn lasts no longer: {kept:?}"
        );
        assert!((5..14).contains(&kept.len()), "recesses grow: {kept:?}");
        assert!(lent.len() > 3500, "{}", lent.len());
    }

    #[test]
    fn who_begins_to_wait_ends_a_recess() {
        let mut turn = Turn::default();
        assert!(!turn.lends(secs(0), pace(1), 0));
        assert!(turn.lends(secs(5), pace(1), 0));
        assert!(turn.lends(secs(6), pace(1), 0), "a recess");
        assert!(!turn.lends(secs(7), pace(1), 1));
        assert!(!turn.lends(secs(8), pace(1), 1));
    }

    #[test]
    fn those_who_are_refused_come_back_one_by_one_and_not_before_all_were_refused() {
        let mut turn = Turn::default();
        let back: Vec<u64> = (0..20)
            .map(|second| second + turn.refusal(secs(second), pace(20)).as_secs())
            .collect();
        assert_eq!(back[0], 22, "a cycle is left after the twentieth");
        assert!(back.windows(2).all(|two| two[1] - two[0] == 5), "{back:?}");
        // Twenty who left are not waited for.
        assert_eq!(turn.refusal(secs(20), pace(1)), secs(10));
        assert_eq!(Turn::default().refusal(secs(0), pace(1)), secs(5));
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The driver's samples of processes, which carry time stamps and are asked for by the last one seen. The driver answers
//! "none" to a time that is yet to come (seen on an H200 with driver 580), so after the machine's clock was set back it
//! would call every process idle for as long as that; here such an answer is no answer.

use crate::domain::estimate::sample::Percent;
use std::collections::BTreeMap;

/// One sample as the driver gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawSample {
    /// The process.
    pub pid: u32,
    /// Microseconds since 1970.
    pub time_stamp: u64,
    /// Percent of the time in which it computed.
    pub utilization: u32,
}

/// The time stamps of one GPU.
#[derive(Debug, Clone, Default)]
pub struct DriverClock {
    last_seen: Option<u64>,
}

impl DriverClock {
    /// The time stamp after which the driver is asked; none for all that it remembers.
    pub fn last_seen(&self) -> Option<u64> {
        self.last_seen
    }

    /// Takes the driver's answer (an empty one where it says that there is none), and the machine's clock before the
    /// question, in microseconds since 1970. How much each process computed; none where the answer cannot be trusted.
    pub fn read(&mut self, now: u64, samples: &[RawSample]) -> Option<BTreeMap<u32, Percent>> {
        let before = self.last_seen;
        if before.is_some_and(|before| now < before) {
            self.last_seen = None;
            return None;
        }
        // The driver leaves room that it has nothing for at zero.
        let told = || samples.iter().filter(|sample| **sample != EMPTY);
        let newest = told().map(|sample| sample.time_stamp).max();
        if told().any(|sample| !is_plausible(sample, before)) {
            self.last_seen = None;
            return None;
        }
        self.last_seen = newest.or(before);
        let mut read = BTreeMap::new();
        for sample in told() {
            let utilization = Percent::told(sample.utilization)?;
            let known = read.entry(sample.pid).or_insert(utilization);
            *known = (*known).max(utilization);
        }
        Some(read)
    }
}

const EMPTY: RawSample = RawSample {
    pid: 0,
    time_stamp: 0,
    utilization: 0,
};

fn is_plausible(sample: &RawSample, before: Option<u64>) -> bool {
    !matches!(sample.pid, 0 | u32::MAX)
        && !matches!(sample.time_stamp, 0 | u64::MAX)
        && before.is_none_or(|before| sample.time_stamp >= before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(pid: u32, time_stamp: u64, utilization: u32) -> RawSample {
        RawSample {
            pid,
            time_stamp,
            utilization,
        }
    }

    fn read(clock: &mut DriverClock, now: u64, samples: &[RawSample]) -> Option<Vec<(u32, u32)>> {
        let read = clock.read(now, samples)?;
        Some(read.into_iter().map(|(pid, share)| (pid, share.get())).collect())
    }

    #[test]
    fn each_answer_goes_on_from_the_newest_time_stamp_of_the_one_before() {
        let mut clock = DriverClock::default();
        assert_eq!(clock.last_seen(), None);
        let both = [raw(1, 90, 5), raw(2, 95, 0), raw(1, 80, 7), EMPTY];
        assert_eq!(read(&mut clock, 100, &both), Some(vec![(1, 7), (2, 0)]));
        assert_eq!(clock.last_seen(), Some(95));
        assert_eq!(read(&mut clock, 200, &[]), Some(vec![]));
        assert_eq!(clock.last_seen(), Some(95), "nothing new was seen");
        assert_eq!(read(&mut clock, 300, &[raw(2, 290, 9)]), Some(vec![(2, 9)]));
    }

    #[test]
    fn time_stamps_going_backwards_are_no_answer_and_the_next_one_starts_anew() {
        let mut clock = DriverClock::default();
        assert!(read(&mut clock, 1000, &[raw(1, 990, 0)]).is_some());
        assert_eq!(read(&mut clock, 1100, &[raw(1, 500, 0)]), None);
        assert_eq!(clock.last_seen(), None);
        assert_eq!(read(&mut clock, 1200, &[raw(1, 600, 0)]), Some(vec![(1, 0)]));
    }

    #[test]
    fn a_machines_clock_that_was_set_back_makes_nobody_idle() {
        let mut clock = DriverClock::default();
        assert!(read(&mut clock, 1000, &[raw(1, 990, 80)]).is_some());
        // The driver, asked for samples after 990 at 500, has none.
        assert_eq!(read(&mut clock, 500, &[]), None);
        assert_eq!(read(&mut clock, 600, &[raw(1, 590, 80)]), Some(vec![(1, 80)]));
    }

    #[test]
    fn sentinels_and_shares_above_100_are_no_answer() {
        for wrong in [
            raw(1, 990, 101),
            raw(1, 990, u32::MAX),
            raw(u32::MAX, 990, 0),
            raw(0, 990, 3),
            raw(1, u64::MAX, 0),
            raw(1, 0, 0),
            raw(u32::MAX, u64::MAX, u32::MAX),
        ] {
            let mut clock = DriverClock::default();
            assert_eq!(
                read(&mut clock, 1000, &[raw(2, 990, 0), wrong]),
                None,
                "{wrong:?}"
            );
            assert_eq!(
                read(&mut clock, 1100, &[raw(2, 1090, 0)]),
                Some(vec![(2, 0)]),
                "it goes on after {wrong:?}"
            );
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! One GPU over time, second by second.

#[path = "series_tests/evictions.rs"]
mod evictions;

use super::*;
use crate::domain::estimate::activity::Cause;

const GIB: u64 = 1 << 30;

/// A GPU that is looked at every five seconds.
struct Story {
    series: Series,
    holding: Holding,
    at: u64,
    memory: Option<MemoryUse>,
}

fn id(name: &str) -> ContainerId {
    ContainerId::root_of(name)
}

fn active() -> Activity {
    Activity::Active(Cause::Computes(50))
}

fn unknown() -> Activity {
    Activity::Unknown(Doubt::NotListed)
}

impl Story {
    fn new() -> Self {
        let holding = Holding {
            holders: vec![id("owner")],
            guests: Vec::new(),
            placeable: true,
        };
        Self {
            series: Series::new(&holding, Duration::ZERO),
            holding,
            at: 0,
            memory: MemoryUse::told(0, 100 * GIB),
        }
    }

    /// After 60 quiet seconds.
    fn idle() -> Self {
        let mut story = Self::new();
        story.quiet(12);
        assert_eq!(story.verdict(), Verdict::Idle);
        story
    }

    fn look(&mut self, activity: Activity) -> bool {
        let at = Duration::from_secs(self.at);
        let new = self
            .series
            .look(at, &self.holding, activity, self.memory, &Thresholds::default());
        self.at += 5;
        new
    }

    /// So many quiet looks, and one to begin with.
    fn quiet(&mut self, looks: u64) {
        for _ in 0..=looks {
            self.look(Activity::Quiet);
        }
    }

    fn verdict(&self) -> Verdict {
        self.series.verdict().clone()
    }

    fn is_idle(&self) -> bool {
        self.verdict() == Verdict::Idle
    }
}

#[test]
fn becoming_idle_takes_the_whole_window() {
    let mut story = Story::new();
    for second in (0..60).step_by(5) {
        story.look(Activity::Quiet);
        let settling = Verdict::Busy(Busy::Settling(Duration::from_secs(second)));
        assert_eq!(story.verdict(), settling);
    }
    story.look(Activity::Quiet);
    assert!(story.is_idle());
}

#[test]
fn one_active_or_unknown_look_ends_it_at_once_and_the_window_begins_anew() {
    for (look, want) in [
        (active(), Verdict::Busy(Busy::Active(Cause::Computes(50)))),
        (unknown(), Verdict::Unknown(Doubt::NotListed)),
    ] {
        let mut story = Story::idle();
        story.at = 1000;
        story.quiet(12);
        story.look(look.clone());
        assert_eq!(story.verdict(), want);
        story.quiet(11);
        assert!(!story.is_idle(), "{look:?}");
    }
}

#[test]
fn a_gap_between_looks_begins_the_window_anew() {
    let mut story = Story::new();
    story.quiet(11);
    // Two lost looks are none: three intervals.
    story.at += 10;
    story.look(Activity::Quiet);
    assert!(story.is_idle());
    let mut story = Story::new();
    story.quiet(11);
    story.at += 11;
    story.quiet(11);
    assert!(!story.is_idle());
    story.look(Activity::Quiet);
    assert!(story.is_idle());
}

#[test]
fn an_idle_gpu_that_was_not_looked_at_for_too_long_is_not_known_to_be_idle() {
    let story = Story::idle();
    let since = |second| {
        story.series.idle_since(
            Duration::from_secs(second),
            &story.holding,
            &Thresholds::default(),
        )
    };
    assert_eq!(since(75), Some(Duration::from_secs(60)));
    assert_eq!(since(76), None);
    assert_eq!(since(59), None, "before the last look");
}

#[test]
fn a_changed_holder_begins_the_window_anew() {
    let mut story = Story::idle();
    story.holding.holders = vec![id("other")];
    assert_eq!(
        story
            .series
            .idle_since(Duration::from_secs(61), &story.holding, &Thresholds::default()),
        None,
        "also before the next look"
    );
    story.quiet(11);
    assert!(!story.is_idle());
}

#[test]
fn several_holders_are_unknown_and_never_idle() {
    let mut story = Story::idle();
    story.holding.holders = vec![id("a"), id("b")];
    story.quiet(100);
    assert_eq!(story.verdict(), Verdict::Unknown(Doubt::SeveralHolders));
}

#[test]
fn time_going_backwards_is_unknown() {
    let mut story = Story::idle();
    story.at = 30;
    story.look(Activity::Quiet);
    assert_eq!(story.verdict(), Verdict::Unknown(Doubt::Clock));
    story.quiet(11);
    assert!(!story.is_idle());
}

#[test]
fn it_does_not_flap_changes_to_idle_are_a_pause_apart() {
    let (mut story, mut became) = (Story::new(), Vec::new());
    // Busy for one look in fourteen, for two hours.
    for look in 0..1440 {
        let was = story.is_idle();
        let at = story.at;
        story.look(if look % 14 == 13 {
            active()
        } else {
            Activity::Quiet
        });
        if story.is_idle() && !was {
            became.push(at);
        }
    }
    assert!(became.len() > 5, "{became:?}");
    assert!(
        became.windows(2).all(|pair| pair[1] - pair[0] >= 300),
        "{became:?}"
    );
}

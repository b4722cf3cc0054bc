// SPDX-License-Identifier: Apache-2.0
//! When guests must go, and what comes after.

use super::*;

#[test]
fn the_guests_of_an_owner_that_becomes_active_must_go_at_once_until_they_are_gone() {
    let mut story = Story::idle();
    story.holding.guests = vec![id("guest")];
    assert!(!story.look(Activity::Quiet));
    assert!(story.is_idle(), "a guest changes nothing");
    assert!(story.look(active()));
    assert_eq!(
        story.series.evicting(),
        Some(&Eviction::OwnerActive(Cause::Computes(50)))
    );
    assert!(!story.look(active()), "it is said once");
    assert!(!story.look(Activity::Quiet));
    assert!(
        story.series.evicting().is_some(),
        "it stands although the owner is quiet"
    );
    assert_eq!(story.verdict(), Verdict::Busy(Busy::Leaving));
    story.holding.guests.clear();
    story.look(Activity::Quiet);
    assert_eq!(story.series.evicting(), None);
}

#[test]
fn there_is_a_pause_after_a_correction_whoever_made_it() {
    let mut story = Story::idle();
    story.at = 1000;
    story.quiet(12);
    story.holding.guests = vec![id("guest")];
    let corrected = story.at;
    story.look(active());
    story.holding.guests.clear();
    while !story.is_idle() {
        story.look(Activity::Quiet);
    }
    assert_eq!(story.at - 5, corrected + 300);

    story.at += 5000;
    story.quiet(12);
    let corrected = story.at;
    story.series.correct(Duration::from_secs(corrected));
    assert_eq!(story.verdict(), Verdict::Busy(Busy::Paused));
    while !story.is_idle() {
        story.look(Activity::Quiet);
    }
    assert_eq!(story.at - 5, corrected + 300);
}

#[test]
fn an_unknown_look_keeps_new_guests_out_and_old_ones_must_go_after_a_window_of_them() {
    let mut story = Story::idle();
    story.holding.guests = vec![id("guest")];
    for _ in 0..12 {
        assert!(!story.look(unknown()));
        assert!(!story.is_idle());
    }
    assert!(story.look(unknown()));
    let unseen = Eviction::OwnerUnseen(Doubt::NotListed);
    assert_eq!(story.series.evicting(), Some(&unseen));

    // One look between is enough to begin anew.
    let mut story = Story::idle();
    story.holding.guests = vec![id("guest")];
    for look in 0..100 {
        assert!(!story.look(if look % 12 == 11 {
            Activity::Quiet
        } else {
            unknown()
        }));
    }
}

#[test]
fn guests_must_go_when_memory_runs_short_and_only_where_guests_are() {
    let mut story = Story::idle();
    story.memory = MemoryUse::told(96 * GIB, 100 * GIB);
    assert!(!story.look(Activity::Quiet), "no guest, no shortage");
    story.holding.guests = vec![id("guest")];
    story.memory = MemoryUse::told(95 * GIB, 100 * GIB);
    assert!(!story.look(Activity::Quiet));
    story.memory = MemoryUse::told(95 * GIB + 1, 100 * GIB);
    assert!(story.look(Activity::Quiet));
    assert!(matches!(story.series.evicting(), Some(Eviction::MemoryShort(_))));
}

#[test]
fn a_new_owner_sends_the_guests_away_and_a_gpu_without_one_keeps_them() {
    let mut story = Story::idle();
    story.holding.guests = vec![id("guest")];
    story.holding.holders.clear();
    assert!(!story.look(active()), "nobody is there to be disturbed");
    story.holding.holders = vec![id("new")];
    assert!(story.look(Activity::Quiet));
    assert_eq!(story.series.evicting(), Some(&Eviction::OwnerNew));
}

#[test]
fn a_guest_that_was_there_before_the_agent_stays_while_the_owner_is_quiet() {
    let mut story = Story::new();
    story.holding.guests = vec![id("guest")];
    for _ in 0..3 {
        assert!(!story.look(Activity::Quiet));
    }
    assert!(story.look(active()));
}

#[test]
fn a_guest_that_left_since_the_last_look_still_counts_as_one_in_this_sample() {
    let mut story = Story::idle();
    story.holding.guests = vec![id("a")];
    story.look(Activity::Quiet);
    story.holding.guests = vec![id("b")];
    assert_eq!(story.series.guests_around(&story.holding), [id("b"), id("a")]);
    story.look(Activity::Quiet);
    assert_eq!(story.series.guests_around(&story.holding), [id("b")]);
}

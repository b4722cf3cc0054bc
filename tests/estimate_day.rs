// SPDX-License-Identifier: Apache-2.0
//! A day of eight GPUs in seconds of wall time: owners that burst, idle, hold memory and are replaced, a driver with
//! hiccups, and guests that take what is offered. What is gained and what it costs is printed; a wrong placement is a
//! failure.
//!
//! The estimate sees only what NVML would tell every five seconds; what it did is judged second by second by what the owners
//! really did.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "estimate_day/day.rs"]
mod day;
#[path = "estimate_day/owner.rs"]
mod owner;
#[path = "estimate_day/random.rs"]
mod random;

use day::{Day, Figures};
use mesos_gpu::domain::estimate::Thresholds;
use std::time::{Duration, Instant};

fn print(name: &str, figures: &Figures) {
    println!(
        "{name:<24} idle {:6.1} GPU-hours, regained {:6.1} ({:2.0} %), placements {:4}, wrong {}, evictions {:4} (owner {}, \
         memory {}, unseen {}), longest shared run {:2} s, owners shared {:5} s in all, work lost {:5.1} GPU-hours",
        hours(figures.idle),
        hours(figures.regained),
        100.0 * share(figures.regained, figures.idle),
        figures.placements,
        figures.wrong.len(),
        figures.evictions(),
        figures.owner_active,
        figures.memory_short,
        figures.unseen,
        figures.longest_shared,
        figures.shared,
        hours(figures.lost),
    );
}

fn hours(seconds: u64) -> f64 {
    share(seconds, 3600)
}

fn share(part: u64, whole: u64) -> f64 {
    f64::from(u32::try_from(part).unwrap()) / f64::from(u32::try_from(whole).unwrap())
}

#[test]
fn a_day_of_load_regains_idle_hours_and_never_places_a_guest_wrongly() {
    let begin = Instant::now();
    for seed in [1, 2, 3] {
        let figures = Day::new(seed, Thresholds::default()).play();
        print(&format!("defaults, day {seed}"), &figures);
        assert_eq!(figures.wrong, Vec::<String>::new());
        assert!(figures.idle > 20 * 3600, "the owners left nothing idle");
        let regained = share(figures.regained, figures.idle);
        assert!((0.6..1.0).contains(&regained), "{regained}");
        // A sample may be five seconds away, and a guest takes two to die.
        assert!(figures.longest_shared <= 7, "{} s", figures.longest_shared);
        assert!(figures.owner_active > 0 && figures.memory_short > 0 && figures.unseen > 0);
        assert!(figures.evictions() <= 400, "{}", figures.evictions());
        assert!(figures.lost < figures.regained);
    }
    println!("three days took {:.1} s", begin.elapsed().as_secs_f64());
}

#[test]
fn a_longer_window_evicts_less_and_regains_less_and_no_pause_evicts_more() {
    let with = |change: fn(&mut Thresholds)| {
        let mut thresholds = Thresholds::default();
        change(&mut thresholds);
        Day::new(1, thresholds).play()
    };
    let usual = with(|_| ());
    let patient = with(|t| t.window = Duration::from_secs(600));
    let restless = with(|t| t.pause = Duration::ZERO);
    for (name, figures) in [
        ("window 60 s, pause 5 min", &usual),
        ("window 10 min", &patient),
        ("no pause", &restless),
    ] {
        print(name, figures);
        assert_eq!(figures.wrong, Vec::<String>::new(), "{name}");
    }
    assert!(patient.evictions() < usual.evictions() && patient.regained < usual.regained);
    assert!(restless.evictions() > usual.evictions());
}

// SPDX-License-Identifier: Apache-2.0
//! Whatever the driver tells and whoever holds what: what is offered was idle for the whole window, by an oracle that
//! remembers every look and knows nothing of how the estimate works.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "estimate_property/generated.rs"]
mod generated;

use generated::{Step, Told, steps, thresholds};
use mesos_gpu::domain::container::ContainerId;
use mesos_gpu::domain::estimate::{
    Books, Estimator, GpuSample, Holding, Look, MemoryUse, Percent, ProcessUse, Sample, Thresholds,
};
use mesos_gpu::domain::gpu::UnitId;
use mesos_gpu::wire::Resource;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const GPUS: usize = 3;
const LIMIT: u64 = 1 << 30;
const INTERVAL: u64 = 5;

fn container(n: usize) -> ContainerId {
    ContainerId::root_of(&format!("c{n}"))
}

/// Process 1x belongs to container x for x below 6, and others to nobody.
fn whose(pid: u32) -> Option<ContainerId> {
    (pid < 16).then(|| container(usize::try_from(pid).unwrap() - 10))
}

fn gpu(n: usize) -> UnitId {
    UnitId::new(&format!("GPU-{n}"))
}

fn books(step: &Step) -> Books {
    let holding = |told: &Told| Holding {
        holders: told.holders.iter().copied().map(container).collect(),
        guests: told.guests.iter().copied().map(container).collect(),
        placeable: told.placeable,
    };
    (0..GPUS).map(gpu).zip(step.gpus.iter().map(holding)).collect()
}

fn sample(step: &Step) -> Sample {
    let of = |(n, told): (usize, &Told)| GpuSample {
        uuid: gpu(n),
        utilization: Percent::told(told.utilization),
        memory: MemoryUse::told(told.used, 100 * LIMIT),
        power: None,
        temperature: None,
        processes: told.processes.as_ref().map(|processes| {
            let of = |(pid, share, memory): &(u32, u32, Option<u64>)| ProcessUse {
                pid: *pid,
                utilization: Percent::told(*share),
                memory: *memory,
            };
            processes.iter().map(of).collect()
        }),
    };
    let listed = step.gpus.iter().enumerate().filter(|(_, told)| told.listed);
    Sample {
        gpus: listed.map(of).collect(),
    }
}

/// Whether a GPU's owner was quiet for certain, in the plainest words.
fn is_quiet(told: &Told, answers: bool, guests: &[usize]) -> bool {
    let Some(processes) = told.processes.as_ref().filter(|_| answers && told.listed) else {
        return false;
    };
    let is_guests = |pid: u32| {
        let of = |n: &&usize| whose(pid) == Some(container(**n));
        guests.iter().find(of).is_some_and(|n| !told.holders.contains(n))
    };
    let own: Vec<_> = processes.iter().filter(|(pid, _, _)| !is_guests(*pid)).collect();
    let shares: u64 = own.iter().map(|(_, share, _)| u64::from(*share)).sum();
    let memory: u128 = own
        .iter()
        .map(|(_, _, memory)| u128::from(memory.unwrap_or(u64::MAX)))
        .sum();
    let alone = told.utilization <= 5 && told.used <= LIMIT;
    shares <= 5
        && memory <= LIMIT.into()
        && told.utilization <= 100
        && told.used <= 100 * LIMIT
        && (alone || !guests.is_empty())
}

struct Seen {
    at: u64,
    quiet: bool,
    holders: Vec<usize>,
}

/// Plays the steps and checks every offer; how many GPUs were offered altogether.
fn play(thresholds: Thresholds, steps: &[Step]) -> usize {
    let mut estimator = Estimator::new(thresholds);
    let mut history: BTreeMap<UnitId, Vec<Seen>> = BTreeMap::new();
    let (mut now, mut before): (u64, Vec<Vec<usize>>) = (1000, vec![Vec::new(); GPUS]);
    let mut offers = 0;
    for (nth, step) in steps.iter().enumerate() {
        now = now.saturating_add_signed(step.passes);
        let (books_now, told) = (books(step), sample(step));
        let told = if step.answers {
            Ok(&told)
        } else {
            Err("silence".to_owned())
        };
        estimator.look(&Look {
            at: Duration::from_secs(now),
            sample: told,
            books: &books_now,
            whose: &whose,
        });
        for (n, told) in step.gpus.iter().enumerate() {
            let around = [told.guests.clone(), before[n].clone()].concat();
            history.entry(gpu(n)).or_default().push(Seen {
                at: now,
                quiet: is_quiet(told, step.answers, &around),
                holders: told.holders.clone(),
            });
            before[n].clone_from(&told.guests);
        }
        // Asked by the books of that moment, or by those of the next, which no look has seen.
        let next = steps.get(nth + 1).map_or_else(|| books_now.clone(), books);
        for books in [books_now, next] {
            let at = now + step.later;
            let offered = estimator.offerable(Duration::from_secs(at), &books, step.promised);
            check(&thresholds, &history, &books, at, step.promised, &offered);
            for must_go in estimator.must_go(&books) {
                assert!(!offered.contains(&must_go.gpu) && !must_go.guests.is_empty());
            }
            assert_is_safe(Resource::revocable_gpus(offered.len()), offered.len());
            offers += offered.len();
        }
    }
    offers
}

fn check(
    thresholds: &Thresholds,
    history: &BTreeMap<UnitId, Vec<Seen>>,
    books: &Books,
    at: u64,
    promised: usize,
    offered: &[UnitId],
) {
    assert_eq!(offered.iter().collect::<BTreeSet<_>>().len(), offered.len());
    for uuid in offered {
        let holding = &books[uuid];
        assert!(holding.placeable && holding.guests.len() < thresholds.guests_per_gpu);
        let [owner] = holding.holders.as_slice() else {
            panic!("{uuid} is held by {:?}", holding.holders)
        };
        let looks = &history[uuid];
        let last = looks.last().unwrap();
        assert!(
            last.at <= at && at - last.at <= 3 * INTERVAL,
            "{uuid} was not looked at"
        );
        let mut since = last.at;
        for look in looks.iter().rev() {
            assert!(look.quiet, "{uuid} was not quiet at {}", look.at);
            assert!(
                look.at <= since && since - look.at <= 3 * INTERVAL,
                "a gap before {since}"
            );
            let [holder] = look.holders.as_slice() else {
                panic!("{uuid} was held by {:?}", look.holders)
            };
            assert_eq!(&container(*holder), owner, "{uuid} changed hands");
            since = look.at;
            if last.at - since >= thresholds.window.as_secs() {
                break;
            }
        }
        assert!(
            last.at - since >= thresholds.window.as_secs(),
            "{uuid} was quiet for {} s only",
            last.at - since
        );
    }
    // All of them, and what was promised, can be placed within what may be shared.
    let of = |wanted: fn(&Holding) -> bool| books.values().filter(|holding| wanted(holding)).count();
    let held = of(|holding| holding.placeable && !holding.holders.is_empty());
    let shared = of(|holding| !holding.guests.is_empty());
    let fresh = offered
        .iter()
        .filter(|uuid| books[*uuid].guests.is_empty())
        .count();
    let most = held * usize::try_from(thresholds.share.get()).unwrap() / 100;
    assert!(
        fresh == 0 || shared + fresh <= most,
        "{fresh} more beside {shared} of {most}"
    );
    assert!(offered.is_empty() || offered.len() + promised <= GPUS);
}

fn assert_is_safe(gpus: Option<Resource>, count: usize) {
    let Some(gpus) = gpus else {
        return assert_eq!(count, 0);
    };
    assert!(gpus.revocable.is_some() && gpus.allocation_info.is_none());
    assert!(gpus.role.is_none() && gpus.reservations.is_empty() && gpus.name == "gpus");
    let value = gpus.scalar.unwrap().value;
    assert!(value.fract() == 0.0 && value >= 1.0 && value == f64::from(u32::try_from(count).unwrap()));
}

#[test]
fn whatever_is_told_and_whoever_holds_what_only_what_was_idle_for_the_window_is_offered() {
    let offers = Cell::new(0);
    let mut runner = TestRunner::new(Config {
        cases: 400,
        failure_persistence: None,
        ..Config::default()
    });
    let result = runner.run(&(thresholds(), steps()), |(thresholds, steps)| {
        offers.set(offers.get() + play(thresholds, &steps));
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    // A test that never sees an offer shows nothing.
    assert!(offers.get() > 200, "only {} GPUs were offered", offers.get());
    println!("{} offers of a GPU were checked", offers.get());
}

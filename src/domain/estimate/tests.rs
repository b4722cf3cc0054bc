// SPDX-License-Identifier: Apache-2.0
//! Several GPUs: what of them is offered, and whose guests must go.

use super::*;

const GIB: u64 = 1 << 30;

fn uuid(n: usize) -> UnitId {
    UnitId::new(&format!("GPU-{n}"))
}

fn id(name: &str) -> ContainerId {
    ContainerId::root_of(name)
}

/// `count` GPUs, each held by a container of its own.
fn held(count: usize) -> Books {
    let holding = |n| Holding {
        holders: vec![id(&format!("c{n}"))],
        guests: Vec::new(),
        placeable: true,
    };
    (0..count).map(|n| (uuid(n), holding(n))).collect()
}

fn quiet(gpu: &UnitId) -> GpuSample {
    GpuSample {
        uuid: gpu.clone(),
        utilization: Percent::told(0),
        memory: MemoryUse::told(0, 100 * GIB),
        processes: Some(Vec::new()),
        power: None,
        temperature: None,
    }
}

/// Looks every five seconds up to the time, with this of each GPU.
fn look_until(
    estimator: &mut Estimator,
    books: &Books,
    from: u64,
    to: u64,
    sample: &dyn Fn(&UnitId) -> GpuSample,
) -> Vec<MustGo> {
    let mut new = Vec::new();
    for second in (from..=to).step_by(5) {
        let sample = Sample {
            gpus: books.keys().map(sample).collect(),
        };
        new.extend(estimator.look(&Look {
            at: Duration::from_secs(second),
            sample: Ok(&sample),
            books,
            whose: &|_| None,
        }));
    }
    new
}

fn idle(count: usize, change: impl FnOnce(&mut Thresholds)) -> (Estimator, Books) {
    let mut thresholds = Thresholds::default();
    change(&mut thresholds);
    let (mut estimator, books) = (Estimator::new(thresholds), held(count));
    look_until(&mut estimator, &books, 0, 60, &quiet);
    (estimator, books)
}

fn offered(estimator: &Estimator, books: &Books, promised: usize) -> Vec<UnitId> {
    estimator.offerable(Duration::from_secs(60), books, promised)
}

#[test]
fn what_is_idle_and_held_is_offered_less_what_launches_under_way_were_promised() {
    let (estimator, books) = idle(3, |_| ());
    assert_eq!(offered(&estimator, &books, 0), [uuid(0), uuid(1), uuid(2)]);
    assert_eq!(offered(&estimator, &books, 2), [uuid(2)]);
    assert_eq!(offered(&estimator, &books, 9), []);
}

#[test]
fn before_the_first_look_nothing_is_offered() {
    let estimator = Estimator::new(Thresholds::default());
    assert_eq!(estimator.offerable(Duration::ZERO, &held(2), 0), []);
    assert_eq!(estimator.verdict(&uuid(0)), Verdict::Unknown(Doubt::NotLooked));
}

#[test]
fn what_is_free_sick_cut_or_has_a_guest_is_not_offered() {
    let (estimator, mut books) = idle(5, |_| ());
    let gpu = |books: &mut Books, n, change: fn(&mut Holding)| change(books.get_mut(&uuid(n)).unwrap());
    gpu(&mut books, 0, |held| held.holders.clear());
    gpu(&mut books, 1, |held| held.placeable = false);
    gpu(&mut books, 2, |held| held.guests.push(id("guest")));
    gpu(&mut books, 3, |held| held.holders.push(id("other")));
    assert_eq!(offered(&estimator, &books, 0), [uuid(4)]);
    // One that was free becomes no idle one by being taken.
    let (mut estimator, mut books) = (Estimator::new(Thresholds::default()), held(1));
    gpu(&mut books, 0, |held| held.holders.clear());
    look_until(&mut estimator, &books, 0, 60, &quiet);
    gpu(&mut books, 0, |held| held.holders.push(id("new")));
    assert_eq!(offered(&estimator, &books, 0), []);
}

#[test]
fn a_mig_instance_has_no_utilisation_and_is_never_offered() {
    let (mut estimator, mut books) = (Estimator::new(Thresholds::default()), held(2));
    books.get_mut(&uuid(0)).unwrap().placeable = false;
    // The instance is not listed, and its GPU does not support the counters.
    let told = |gpu: &UnitId| GpuSample {
        utilization: None,
        processes: None,
        uuid: UnitId::new(&format!("{gpu}-parent")),
        ..quiet(gpu)
    };
    look_until(&mut estimator, &books, 0, 600, &told);
    assert_eq!(estimator.offerable(Duration::from_secs(600), &books, 0), []);
    assert_eq!(estimator.verdict(&uuid(1)), Verdict::Unknown(Doubt::NotListed));
}

#[test]
fn no_more_gpus_are_shared_than_the_share_of_those_held() {
    for (share, shared, want) in [
        (100, 0, 4),
        (100, 1, 3),
        (75, 0, 3),
        (75, 1, 2),
        (74, 0, 2),
        (25, 1, 0),
        (24, 0, 0),
        (0, 0, 0),
    ] {
        let (estimator, mut books) = idle(4, |t| t.share = Percent::told(share).unwrap());
        for n in 0..shared {
            books.get_mut(&uuid(n)).unwrap().guests.push(id("guest"));
        }
        let offered = offered(&estimator, &books, 0);
        assert_eq!(offered.len(), want, "{share} % with {shared} shared");
    }
}

#[test]
fn with_several_guests_a_gpu_each_is_offered_once_at_a_time() {
    let (estimator, mut books) = idle(2, |t| {
        (t.guests_per_gpu, t.share) = (2, Percent::told(50).unwrap())
    });
    assert_eq!(offered(&estimator, &books, 0), [uuid(0)]);
    books.get_mut(&uuid(1)).unwrap().guests.push(id("a"));
    assert_eq!(
        offered(&estimator, &books, 0),
        [uuid(1)],
        "one more on the one that is shared"
    );
    books.get_mut(&uuid(1)).unwrap().guests.push(id("b"));
    assert_eq!(offered(&estimator, &books, 0), []);
}

#[test]
fn the_one_that_has_been_idle_longest_is_offered_first() {
    let (mut estimator, books) = (Estimator::new(Thresholds::default()), held(2));
    let busy_zero = |gpu: &UnitId| GpuSample {
        utilization: Percent::told(u32::from(gpu == &uuid(0)) * 50),
        ..quiet(gpu)
    };
    look_until(&mut estimator, &books, 0, 60, &busy_zero);
    look_until(&mut estimator, &books, 65, 200, &quiet);
    let offered = estimator.offerable(Duration::from_secs(200), &books, 0);
    assert_eq!(offered, [uuid(1), uuid(0)]);
}

#[test]
fn a_hung_driver_ends_every_offer_at_once() {
    let (mut estimator, books) = idle(2, |_| ());
    let why = "nvmlDeviceGetUUID did not return".to_owned();
    estimator.look(&Look {
        at: Duration::from_secs(65),
        sample: Err(why.clone()),
        books: &books,
        whose: &|_| None,
    });
    assert_eq!(estimator.offerable(Duration::from_secs(65), &books, 0), []);
    assert_eq!(
        estimator.verdict(&uuid(0)),
        Verdict::Unknown(Doubt::NoSample(why))
    );
}

#[test]
fn only_the_guests_on_the_gpu_whose_owner_wakes_up_must_go_and_nothing_is_offered_there() {
    let (mut estimator, mut books) = idle(2, |_| ());
    for (n, guest) in [(0, "a"), (1, "b")] {
        books.get_mut(&uuid(n)).unwrap().guests.push(id(guest));
    }
    let wakes_up = |gpu: &UnitId| GpuSample {
        utilization: Percent::told(100),
        processes: Some(vec![ProcessUse {
            pid: 7,
            utilization: Percent::told(if gpu == &uuid(1) { 50 } else { 1 }),
            memory: Some(0),
        }]),
        ..quiet(gpu)
    };
    let new = look_until(&mut estimator, &books, 65, 70, &wakes_up);
    let want = MustGo {
        gpu: uuid(1),
        guests: vec![id("b")],
        why: Eviction::OwnerActive(Cause::Computes(50)),
    };
    assert_eq!((new, estimator.must_go(&books)), (vec![want.clone()], vec![want]));
    books.get_mut(&uuid(1)).unwrap().guests.clear();
    assert_eq!(estimator.must_go(&books), [], "they are gone");
    look_until(&mut estimator, &books, 75, 340, &quiet);
    assert_eq!(estimator.offerable(Duration::from_secs(340), &books, 0), []);
    assert_eq!(estimator.verdict(&uuid(1)), Verdict::Busy(Busy::Paused));
}

#[test]
fn a_correction_that_somebody_else_made_pauses_that_gpu() {
    let (mut estimator, books) = idle(2, |_| ());
    estimator.corrected(&uuid(0), Duration::from_secs(60));
    estimator.corrected(&UnitId::new("GPU-unknown"), Duration::from_secs(60));
    assert_eq!(offered(&estimator, &books, 0), [uuid(1)]);
}

#[test]
fn a_gpu_that_left_the_books_is_forgotten() {
    let (mut estimator, books) = idle(1, |_| ());
    look_until(&mut estimator, &Books::new(), 65, 65, &quiet);
    look_until(&mut estimator, &books, 70, 70, &quiet);
    assert_eq!(estimator.offerable(Duration::from_secs(70), &books, 0), []);
}

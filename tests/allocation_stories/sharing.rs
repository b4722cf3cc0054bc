// SPDX-License-Identifier: Apache-2.0
//! Under `share` everyone gets on: GPUs to those who can use them, the rest to all, and nobody waits for ever.

use super::bag::{Bag, bag};
use super::model::{Cluster, Does, Offer};
use std::time::Duration;

const NOT_AT_ALL: Duration = Duration::ZERO;
const HOUR: Duration = Duration::from_secs(3600);
const SHARE: (&str, &str) = ("policy", "share");

/// The most cycles between two offers of GPUs to anyone, and between two offers without to those who may have none.
fn longest_waits(offers: &[Vec<Offer>], to_gpus: impl Fn(&Offer) -> bool) -> (usize, usize) {
    let (mut waits, mut since) = ([0, 0], [0, 0]);
    for cycle in offers {
        for (at, is) in [(0, true), (1, false)] {
            since[at] += 1;
            if cycle.iter().any(|offer| to_gpus(offer) == is) {
                since[at] = 0;
            }
            waits[at] = waits[at].max(since[at]);
        }
    }
    (waits[0] + 1, waits[1] + 1)
}

/// All GPUs of a machine with four.
fn all_gpus(offer: &Offer) -> bool {
    offer.what.gpus() == 4000
}

#[test]
fn a_declining_framework_without_gpus_leaves_them_to_another_within_three_cycles() {
    for refuse in [NOT_AT_ALL, Duration::from_secs(5)] {
        let mut cluster = Cluster::new(&[SHARE]);
        cluster.agent("busy", bag(4, 16, 64_000));
        cluster.agent("m", bag(4, 16, 64_000));
        // It uses GPUs elsewhere, so it has the larger share and always comes last.
        cluster.framework("gpu", "r", true, Does::TakeGpus(4, HOUR));
        cluster.cycle();
        assert_eq!(cluster.used.len(), 2);
        cluster.finish_on("gpu", "m");
        cluster.frameworks[0].does = Does::Decline(NOT_AT_ALL);
        cluster.revive("gpu");
        cluster.framework("cpu", "r", false, Does::Decline(refuse));
        let offers: Vec<Vec<Offer>> = (0..300).map(|_| cluster.cycle()).collect();
        let on_m: Vec<Vec<Offer>> = offers
            .into_iter()
            .map(|cycle| cycle.into_iter().filter(|one| one.agent == "m").collect())
            .collect();
        let (gpu, cpu) = longest_waits(&on_m, all_gpus);
        assert!(gpu <= 3, "{refuse:?}: the GPUs were offered every {gpu} cycles");
        assert!(cpu <= 8, "{refuse:?}: the rest was offered every {cpu} cycles");
        for offer in on_m.iter().flatten().filter(|one| one.framework == "cpu") {
            assert_eq!(
                (offer.what.gpus(), offer.what.cpus(), offer.what.mem()),
                (0, 12_000, 59_904_000)
            );
        }
    }
}

#[test]
fn twenty_declining_frameworks_let_the_gpus_through_within_three_cycles_once_each_was_refused() {
    let mut cluster = Cluster::new(&[SHARE]);
    cluster.agent("m", bag(4, 32, 64_000));
    for nth in 0..20 {
        cluster.framework(&format!("cpu-{nth:02}"), "a", false, Does::Decline(NOT_AT_ALL));
    }
    cluster.agent("busy", bag(1, 4, 1000));
    cluster.framework("gpu", "z", true, Does::Decline(NOT_AT_ALL));
    cluster.use_on("gpu", "busy", &bag(1, 4, 1000));
    let first: Vec<Vec<Offer>> = (0..25).map(|_| cluster.cycle()).collect();
    assert!(
        first.iter().flatten().any(all_gpus),
        "each came once, and then it was the GPUs' turn"
    );
    let before = cluster.give_backs;
    let offers: Vec<Vec<Offer>> = (0..1000).map(|_| cluster.cycle()).collect();
    let (gpu, cpu) = longest_waits(&offers, all_gpus);
    assert!(gpu <= 3, "the GPUs were offered every {gpu} cycles");
    assert!(cpu <= 8, "the rest was offered every {cpu} cycles");
    let served: std::collections::BTreeSet<&str> = offers
        .iter()
        .flatten()
        .map(|offer| offer.framework.as_str())
        .collect();
    assert_eq!(served.len(), 21, "everyone had a turn: {served:?}");
    let rate = (cluster.give_backs - before) as f64 / 1000.0;
    assert!(rate < 0.5, "{rate} give-backs in each cycle");
}

#[test]
fn a_gpu_framework_that_declines_for_an_hour_does_not_hide_the_machine() {
    let mut cluster = Cluster::new(&[SHARE]);
    cluster.agent("m", bag(4, 16, 64_000));
    cluster.framework("gpu", "r", true, Does::Decline(HOUR));
    cluster.framework("cpu", "r", false, Does::Decline(NOT_AT_ALL));
    let mut offers: Vec<Vec<Offer>> = (0..5).map(|_| cluster.cycle()).collect();
    assert!(offers.iter().flatten().any(all_gpus));
    offers = (0..600).map(|_| cluster.cycle()).collect();
    let lent = offers
        .iter()
        .flatten()
        .filter(|one| one.framework == "cpu")
        .count();
    assert_eq!(lent, 600, "nobody waits, so it is lent in every cycle");
    // What it declined it takes back.
    cluster.revive("gpu");
    let after: Vec<Vec<Offer>> = (0..4).map(|_| cluster.cycle()).collect();
    assert!(after.iter().flatten().any(all_gpus));
}

#[test]
fn a_gpu_framework_that_mesos_offers_nothing_hides_the_machine_for_a_small_part_of_the_time() {
    let mut cluster = Cluster::new(&[SHARE]);
    cluster.agent("m", bag(4, 16, 64_000));
    // Its role may have nothing, which the filter is not told.
    cluster.quotas.insert("poor".to_owned(), Bag::default());
    cluster.framework("gpu", "poor", true, Does::TakeAll);
    cluster.framework("cpu", "r", false, Does::Decline(NOT_AT_ALL));
    let offers: Vec<Vec<Offer>> = (0..3600).map(|_| cluster.cycle()).collect();
    let lent = offers.iter().filter(|cycle| !cycle.is_empty()).count();
    assert!(lent > 3400, "{lent}");
    let (_, cpu) = longest_waits(&offers, all_gpus);
    assert!(cpu <= 7, "hidden for {cpu} cycles");
}

#[test]
fn cpu_tasks_never_take_what_the_free_gpus_need_and_get_it_when_these_are_in_use() {
    let mut cluster = Cluster::new(&[SHARE, ("cpus_per_gpu", "2"), ("mem_per_gpu", "1000")]);
    cluster.agent("m", bag(4, 16, 64_000));
    for nth in 0..3 {
        cluster.framework(&format!("cpu-{nth}"), "r", false, Does::TakeAll);
    }
    for _ in 0..60 {
        cluster.cycle();
        let free = &cluster.agents[0].free;
        assert!(free.covers(&bag(4, 8, 4000)), "the headroom was taken: {free:?}");
    }
    assert_eq!(cluster.agents[0].free, bag(4, 8, 4000), "the rest is in use");
    // GPUs come into use with less than the headroom.
    cluster.framework("gpu", "g", true, Does::TakeGpus(4, HOUR));
    for _ in 0..3 {
        cluster.cycle();
    }
    assert_eq!(cluster.used[&("gpu".to_owned(), "m".to_owned())].gpus(), 4000);
    let seconds = (0..30).take_while(|_| {
        cluster.cycle();
        !cluster.agents[0].free.is_empty()
    });
    assert!(seconds.count() <= 6, "the headroom was not released in time");
}

#[test]
fn a_quota_that_hides_gpus_does_not_give_away_what_they_need() {
    let mut cluster = Cluster::new(&[SHARE, ("cpus_per_gpu", "1"), ("mem_per_gpu", "1000")]);
    cluster.filter.quota_changed("r");
    cluster.agent("m", bag(4, 16, 64_000));
    cluster.quotas.insert("r".to_owned(), bag(0, 1000, 1_000_000));
    cluster.framework("cpu", "r", false, Does::TakeAll);
    for _ in 0..20 {
        cluster.cycle();
    }
    assert_eq!(cluster.agents[0].free, bag(4, 4, 4000));
}

#[test]
fn what_is_reserved_is_always_offered_and_cannot_be_used_to_keep_the_rest() {
    let mut cluster = Cluster::new(&[SHARE]);
    cluster.agent("m", bag(4, 16, 64_000).and(Some("r"), 0, 2000, 2_000_000));
    cluster.agent("busy", bag(4, 16, 64_000));
    cluster.framework("gpu", "g", true, Does::Decline(NOT_AT_ALL));
    cluster.use_on("gpu", "busy", &bag(4, 16, 64_000));
    cluster.framework("cpu", "r", false, Does::Decline(NOT_AT_ALL));
    let offers: Vec<Vec<Offer>> = (0..200).map(|_| cluster.cycle()).collect();
    let (gpu, cpu) = longest_waits(&offers, all_gpus);
    assert!(gpu <= 3, "the GPUs were offered every {gpu} cycles");
    assert!(cpu <= 8, "what is reserved was offered every {cpu} cycles");
    for offer in offers.iter().flatten().filter(|one| one.framework == "cpu") {
        assert!(offer.what.cpus() >= 2000, "{offer:?}");
    }
}

#[test]
fn an_agent_without_gpus_and_a_framework_with_the_capability_cost_no_verdict() {
    let mut cluster = Cluster::new(&[SHARE]);
    cluster.agent("gpus", bag(4, 16, 64_000));
    cluster.agent("none", bag(0, 16, 64_000));
    cluster.framework("gpu", "r", true, Does::Decline(NOT_AT_ALL));
    cluster.framework("cpu", "r", false, Does::Decline(NOT_AT_ALL));
    for (framework, agent, want) in [
        ("gpu", "gpus", false),
        ("gpu", "none", false),
        ("cpu", "none", false),
        ("cpu", "gpus", true),
        ("cpu", "unknown", false),
        ("unknown", "gpus", false),
    ] {
        assert_eq!(cluster.concerns(framework, agent), want, "{framework} {agent}");
    }
    assert!(!cluster.filter.looks_at("unknown"));
}

#[test]
fn with_no_gpu_framework_the_rest_is_lent_in_every_cycle_and_declines_are_kept() {
    let mut cluster = Cluster::new(&[SHARE]);
    cluster.agent("m", bag(4, 16, 64_000));
    cluster.framework("cpu", "r", false, Does::Decline(Duration::from_secs(10)));
    let offers: Vec<Vec<Offer>> = (0..100).map(|_| cluster.cycle()).collect();
    let lent = offers.iter().flatten().count();
    // Mesos alone would not know that the part it declined is all that it can be offered.
    assert!((9..=10).contains(&lent), "{lent}");
    assert!(cluster.give_backs <= 20, "{}", cluster.give_backs);
}

#[test]
fn gpus_in_use_that_agent_and_framework_both_tell_need_no_headroom_and_free_ones_do() {
    let mut cluster = Cluster::new(&[SHARE, ("cpus_per_gpu", "1"), ("mem_per_gpu", "1000")]);
    cluster.filter.quota_changed("r");
    cluster.quotas.insert("r".to_owned(), bag(0, 1000, 1_000_000));
    cluster
        .used
        .insert(("gpu".to_owned(), "m".to_owned()), bag(1, 1, 1000));
    cluster.agent("m", bag(4, 16, 64_000));
    cluster.framework("gpu", "g", true, Does::Decline(HOUR));
    cluster.framework("cpu", "r", false, Does::TakeAll);
    for _ in 0..20 {
        cluster.cycle();
    }
    assert_eq!(cluster.agents[0].free, bag(3, 3, 3000));
}

#[test]
fn who_wants_no_offers_is_not_waited_for() {
    let mut cluster = Cluster::new(&[SHARE]);
    cluster.agent("m", bag(4, 16, 64_000));
    cluster.framework("gpu", "r", true, Does::TakeAll);
    cluster.filter.suppressed("gpu", &[]);
    cluster.frameworks[0].active = false;
    cluster.framework("cpu", "r", false, Does::Decline(NOT_AT_ALL));
    let lent: usize = (0..50).map(|_| cluster.cycle().len()).sum();
    assert_eq!(lent, 50);
}

#[test]
fn who_comes_while_nobody_is_waited_for_is_waited_for_at_once() {
    let mut cluster = Cluster::new(&[SHARE]);
    cluster.agent("m", bag(4, 16, 64_000));
    cluster.agent("busy", bag(1, 4, 1000));
    cluster.quotas.insert("poor".to_owned(), Bag::default());
    cluster.framework("gpu", "poor", true, Does::TakeAll);
    cluster.framework("cpu", "r", false, Does::Decline(NOT_AT_ALL));
    let mut recess = 0;
    while recess < 30 {
        recess = if cluster.cycle().iter().any(|one| one.agent == "m") {
            recess + 1
        } else {
            0
        };
    }
    cluster.framework("rich", "z", true, Does::Decline(NOT_AT_ALL));
    cluster.use_on("rich", "busy", &bag(1, 4, 1000));
    let offers: Vec<Vec<Offer>> = (0..4).map(|_| cluster.cycle()).collect();
    assert!(offers.iter().flatten().any(all_gpus), "{offers:?}");
}

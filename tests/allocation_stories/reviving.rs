// SPDX-License-Identifier: Apache-2.0
//! A revival takes back what its framework was refused. Who revives all the time must not keep the GPUs from others by
//! that, and who revives now and then must not notice.

use super::bag::bag;
use super::model::{Cluster, Does, Offer};
use std::collections::BTreeMap;
use std::time::Duration;

const NOT_AT_ALL: Duration = Duration::ZERO;
const HOUR: Duration = Duration::from_secs(3600);
const SHARE: (&str, &str) = ("policy", "share");

/// Those who revive before each cycle; as in the master, a revival that waits is one with those that come until then.
#[derive(Default)]
struct Revivers {
    ids: Vec<String>,
    due: BTreeMap<String, Duration>,
    passed: usize,
}

impl Revivers {
    fn cycle(&mut self, cluster: &mut Cluster) -> Vec<Offer> {
        for id in &self.ids {
            let now = cluster.now();
            let due = self
                .due
                .entry(id.clone())
                .or_insert_with(|| now + cluster.filter.revival_waits(id));
            if *due <= now {
                self.due.remove(id);
                self.passed += 1;
                cluster.revive(id);
            }
        }
        cluster.cycle()
    }
}

/// A machine whose GPUs a framework waits for that has the larger share, so that it always comes last.
fn waited_for() -> Cluster {
    let mut cluster = Cluster::new(&[SHARE]);
    cluster.agent("busy", bag(4, 16, 64_000));
    cluster.framework("gpu", "z", true, Does::Decline(NOT_AT_ALL));
    cluster.use_on("gpu", "busy", &bag(4, 16, 64_000));
    cluster.agent("m", bag(4, 16, 64_000));
    cluster
}

fn longest_wait(offers: &[Vec<Offer>], is: impl Fn(&Offer) -> bool) -> usize {
    let none = offers.split(|cycle| cycle.iter().any(&is));
    none.map(<[_]>::len).max().unwrap() + 1
}

#[test]
fn a_framework_that_declines_and_revives_in_every_cycle_leaves_the_gpus_to_another_within_three_cycles() {
    for refuse in [NOT_AT_ALL, Duration::from_secs(5), HOUR] {
        let mut cluster = waited_for();
        cluster.framework("cpu", "a", false, Does::Decline(refuse));
        let mut revivers = Revivers {
            ids: vec!["cpu".to_owned()],
            ..Revivers::default()
        };
        let offers: Vec<Vec<Offer>> = (0..300).map(|_| revivers.cycle(&mut cluster)).collect();
        let gpu = longest_wait(&offers, |offer| offer.what.gpus() == 4000);
        let cpu = longest_wait(&offers, |offer| offer.framework == "cpu");
        assert!(gpu <= 3, "{refuse:?}: the GPUs were offered every {gpu} cycles");
        assert!(cpu <= 12, "{refuse:?}: the rest was offered every {cpu} cycles");
        assert!(revivers.passed >= 40, "{} revivals passed", revivers.passed);
    }
}

#[test]
fn twenty_that_do_so_leave_them_a_cycle_in_each_round() {
    let mut cluster = waited_for();
    let mut revivers = Revivers::default();
    for nth in 0..20 {
        let id = format!("cpu-{nth:02}");
        cluster.framework(&id, "a", false, Does::Decline(NOT_AT_ALL));
        revivers.ids.push(id);
    }
    let offers: Vec<Vec<Offer>> = (0..1000).map(|_| revivers.cycle(&mut cluster)).collect();
    let gpu = longest_wait(&offers, |offer| offer.what.gpus() == 4000);
    assert!(gpu <= 22, "the GPUs were offered every {gpu} cycles");
    for id in &revivers.ids {
        assert!(
            offers.iter().flatten().any(|offer| offer.framework == *id),
            "{id} was lent nothing"
        );
    }
}

#[test]
fn who_revives_now_and_then_or_while_nobody_waits_for_gpus_is_not_delayed() {
    let mut cluster = waited_for();
    cluster.framework("cpu", "a", false, Does::Decline(NOT_AT_ALL));
    for _ in 0..100 {
        for _ in 0..8 {
            cluster.cycle();
        }
        assert_eq!(cluster.filter.revival_waits("cpu"), NOT_AT_ALL);
        cluster.revive("cpu");
    }
    cluster.remove_framework("gpu");
    // What it was refused until then ends by itself.
    for _ in 0..10 {
        cluster.cycle();
    }
    for _ in 0..100 {
        assert_eq!(cluster.filter.revival_waits("cpu"), NOT_AT_ALL);
        cluster.revive("cpu");
        cluster.cycle();
    }
    assert_eq!(cluster.filter.revival_waits("unknown"), NOT_AT_ALL);
}

#[test]
fn a_framework_that_comes_again_starts_anew() {
    let mut cluster = waited_for();
    cluster.framework("cpu", "a", false, Does::Decline(NOT_AT_ALL));
    let refused = |cluster: &mut Cluster| {
        (0..5).any(|_| {
            cluster.revive("cpu");
            cluster.cycle();
            cluster.filter.revival_waits("cpu") > NOT_AT_ALL
        })
    };
    assert!(refused(&mut cluster));
    // Mesos ends by itself what a framework is refused that goes away for a while.
    cluster.filter.framework_active("cpu", false);
    cluster.filter.framework_active("cpu", true);
    assert_eq!(cluster.filter.revival_waits("cpu"), NOT_AT_ALL);
    assert!(refused(&mut cluster));
    cluster.remove_framework("cpu");
    cluster.framework("cpu", "a", false, Does::Decline(NOT_AT_ALL));
    assert_eq!(cluster.filter.revival_waits("cpu"), NOT_AT_ALL);
}

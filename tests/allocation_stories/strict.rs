// SPDX-License-Identifier: Apache-2.0
//! Under `strict` Mesos's own filter does it all, unless someone is an exception.

use super::bag::{Bag, bag};
use super::model::{Cluster, Does};
use std::time::Duration;

const NOT_AT_ALL: Duration = Duration::ZERO;

#[test]
fn nothing_is_looked_at_until_a_quota_can_chop_gpus() {
    let mut cluster = Cluster::new(&[]);
    assert!(cluster.filter.inner_filters());
    cluster.agent("m", bag(4, 16, 64_000));
    cluster.framework("gpu", "r", true, Does::TakeGpus(4, NOT_AT_ALL));
    assert!(!cluster.filter.looks_at("gpu"));
    cluster.filter.quota_changed("r");
    assert!(cluster.filter.looks_at("gpu") && cluster.concerns("gpu", "m"));
    let mut limit = bag(0, 100, 100_000);
    limit.add(&Bag::default().and(None, 1500, 0, 0));
    cluster.quotas.insert("r".to_owned(), limit);
    for _ in 0..5 {
        for offer in cluster.cycle() {
            assert_eq!(offer.what.gpus() % 1000, 0, "{offer:?}");
        }
    }
    assert_eq!(cluster.used[&("gpu".to_owned(), "m".to_owned())].gpus(), 1000);
}

#[test]
fn an_exception_moves_the_filter_here_and_the_others_see_as_little_as_before() {
    let mut cluster = Cluster::new(&[("overrides", "framework:name-free=open,role:s=share")]);
    assert!(!cluster.filter.inner_filters());
    cluster.agent("m", bag(4, 16, 64_000).and(Some("r"), 0, 1000, 0));
    cluster.framework("hidden", "r", false, Does::Decline(NOT_AT_ALL));
    cluster.framework("free", "r", false, Does::Decline(NOT_AT_ALL));
    cluster.framework("sharer", "s/t", false, Does::Decline(NOT_AT_ALL));
    cluster.framework("gpu", "r", true, Does::Decline(NOT_AT_ALL));
    let offers: Vec<_> = (0..60).flat_map(|_| cluster.cycle()).collect();
    let most = |id: &str| {
        let own = offers.iter().filter(|offer| offer.framework == id);
        own.map(|offer| (offer.what.gpus(), offer.what.cpus())).max()
    };
    assert_eq!(most("hidden"), None);
    assert_eq!(most("free"), Some((4000, 17_000)));
    assert_eq!(most("gpu"), Some((4000, 17_000)));
    assert_eq!(most("sharer"), Some((0, 12_000)));
    // Once in a minute, not once in each cycle.
    assert!(
        cluster.number(
            "mesos_gpu_withheld_total{framework=\"hidden\",name=\"name-hidden\",reason=\"capability\"}"
        ) <= 2.0
    );
}

#[test]
fn an_open_master_offers_everything_to_everyone() {
    let mut cluster = Cluster::new(&[("policy", "open")]);
    cluster.agent("m", bag(4, 16, 64_000));
    cluster.framework("cpu", "r", false, Does::Decline(NOT_AT_ALL));
    let offers: Vec<_> = (0..3).flat_map(|_| cluster.cycle()).collect();
    assert!(offers.len() == 3 && offers.iter().all(|offer| offer.what == bag(4, 16, 64_000)));
    assert_eq!(cluster.give_backs, 0);
    assert!(!cluster.concerns("cpu", "m"));
}

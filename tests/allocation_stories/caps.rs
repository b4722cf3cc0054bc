// SPDX-License-Identifier: Apache-2.0
//! Caps hold against everyone, across agents, and over a failover of the master.

use super::bag::bag;
use super::model::{Cluster, Does};
use std::time::Duration;

const NOT_AT_ALL: Duration = Duration::ZERO;

fn gpus_of(cluster: &Cluster, framework: &str) -> u64 {
    let used = cluster.used.iter().filter(|((of, _), _)| of == framework);
    used.map(|(_, bag)| bag.gpus()).sum::<u64>() / 1000
}

#[test]
fn a_role_cap_of_two_holds_against_frameworks_that_accept_everything() {
    for policy in ["strict", "share", "open"] {
        let mut cluster = Cluster::new(&[("policy", policy), ("gpu_caps", "role:a=2")]);
        for nth in 0..5 {
            cluster.agent(&format!("m{nth}"), bag(1, 4, 8000));
        }
        cluster.framework("one", "a", true, Does::TakeAll);
        cluster.framework("two", "a/b", true, Does::TakeAll);
        cluster.framework("other", "c", true, Does::TakeGpus(1, NOT_AT_ALL));
        for _ in 0..30 {
            cluster.cycle();
            let held = gpus_of(&cluster, "one") + gpus_of(&cluster, "two");
            assert!(held <= 2, "{policy}: {held}");
        }
        assert_eq!(gpus_of(&cluster, "one") + gpus_of(&cluster, "two"), 2, "{policy}");
        if policy != "open" {
            assert_eq!(
                gpus_of(&cluster, "other"),
                3,
                "{policy}: the others' GPUs stayed of use"
            );
        }
        // What comes back can be had again.
        cluster.finish("one");
        cluster.finish("two");
        for _ in 0..30 {
            cluster.cycle();
        }
        assert_eq!(gpus_of(&cluster, "one") + gpus_of(&cluster, "two"), 2, "{policy}");
    }
}

#[test]
fn a_cap_splits_what_one_agent_has() {
    let mut cluster = Cluster::new(&[("gpu_caps", "framework:name-greedy=2")]);
    cluster.agent("m", bag(4, 16, 64_000));
    cluster.framework("greedy", "a", true, Does::TakeAll);
    for _ in 0..5 {
        cluster.cycle();
    }
    assert_eq!(gpus_of(&cluster, "greedy"), 2);
    let free = &cluster.agents[0].free;
    assert_eq!(
        (free.gpus(), free.cpus()),
        (2000, 2000),
        "what two GPUs need is left"
    );
}

#[test]
fn caps_count_from_reregistration_alone_in_whatever_order_it_comes() {
    for agents_first in [true, false] {
        for caps in ["role:r=3", "framework:name-f=3,role:r=9", "framework:f=3"] {
            let mut cluster = Cluster::new(&[("gpu_caps", caps)]);
            let own = ("f".to_owned(), "m0".to_owned());
            cluster.used.insert(own, bag(2, 2, 200));
            for nth in 0..4 {
                if nth == 2 && !agents_first {
                    cluster.framework("f", "r", true, Does::TakeAll);
                }
                cluster.agent(&format!("m{nth}"), bag(2, 4, 8000));
            }
            if agents_first {
                cluster.framework("f", "r", true, Does::TakeAll);
            }
            assert_eq!(
                cluster.number("mesos_gpu_role_gpus{role=\"r\"}"),
                2.0,
                "{caps}: counted once"
            );
            for _ in 0..20 {
                cluster.cycle();
            }
            assert_eq!(gpus_of(&cluster, "f"), 3, "{caps} {agents_first}");
            cluster.finish("f");
            assert_eq!(cluster.number("mesos_gpu_role_gpus{role=\"r\"}"), 0.0, "{caps}");
        }
    }
}

#[test]
fn a_framework_at_its_cap_does_not_keep_the_agents_from_the_others() {
    let mut cluster = Cluster::new(&[("gpu_caps", "framework:capped=0")]);
    cluster.agent("m", bag(4, 16, 64_000));
    cluster.framework("capped", "a", true, Does::Decline(NOT_AT_ALL));
    cluster.framework("other", "b", true, Does::Decline(NOT_AT_ALL));
    let offers: Vec<_> = (0..60).flat_map(|_| cluster.cycle()).collect();
    assert!(offers.iter().all(|offer| offer.framework == "other"));
    assert!(offers.len() > 45, "{}", offers.len());
}

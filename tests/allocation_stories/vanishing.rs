// SPDX-License-Identifier: Apache-2.0
//! Frameworks and agents come and go at every moment, and the books stay right.

use super::bag::bag;
use super::model::{Cluster, Does, has_gpus};
use std::time::Duration;

const NOT_AT_ALL: Duration = Duration::ZERO;
const GPUS_OF_R: &str = "mesos_gpu_role_gpus{role=\"r\"}";

#[test]
fn a_framework_that_goes_between_allocation_and_verdict_leaves_nothing_behind() {
    let mut cluster = Cluster::new(&[("policy", "share"), ("gpu_caps", "role:r=9")]);
    cluster.agent("m", bag(4, 16, 64_000));
    cluster.framework("gpu", "r", true, Does::TakeAll);
    cluster.between = Some(Box::new(|filter| filter.framework_removed("gpu")));
    assert!(cluster.cycle().iter().any(|offer| has_gpus(&offer.what.pieces())));
    assert_eq!(cluster.number(GPUS_OF_R), 0.0);
    cluster.between = None;
    cluster.finish("gpu");
    assert_eq!(cluster.number(GPUS_OF_R), 0.0);
}

#[test]
fn an_agent_that_comes_back_under_its_id_between_allocation_and_verdict_is_counted_as_it_is() {
    let mut cluster = Cluster::new(&[("policy", "share"), ("gpu_caps", "role:r=9")]);
    cluster.agent("m", bag(4, 16, 64_000));
    cluster.framework("gpu", "r", true, Does::Decline(NOT_AT_ALL));
    cluster.framework("cpu", "r", false, Does::Decline(NOT_AT_ALL));
    cluster.between = Some(Box::new(|filter| {
        filter.agent_removed("m");
        filter.agent_added("m", "again", &bag(4, 16, 64_000).pieces(), &[]);
    }));
    for _ in 0..20 {
        cluster.cycle();
        assert_eq!(cluster.number(GPUS_OF_R), 0.0, "all was declined");
    }
    assert_eq!(cluster.number("mesos_gpu_agents"), 1.0);
    cluster.filter.agent_removed("m");
    assert_eq!(cluster.number("mesos_gpu_agents"), 0.0);
}

#[test]
fn what_an_agent_takes_with_it_is_nobodys_and_a_second_return_takes_nothing_from_others() {
    let mut cluster = Cluster::new(&[("gpu_caps", "role:r=9")]);
    cluster.agent("m", bag(4, 16, 64_000));
    cluster.agent("n", bag(2, 16, 64_000));
    cluster.framework("gpu", "r", true, Does::TakeAll);
    cluster.cycle();
    assert_eq!(cluster.number(GPUS_OF_R), 6.0);
    cluster.remove_agent("m");
    assert_eq!(cluster.number(GPUS_OF_R), 2.0);
    let pieces = bag(4, 0, 0).pieces();
    for _ in 0..2 {
        cluster.filter.recovered("gpu", "r", "m", &pieces, None);
    }
    assert_eq!(cluster.number(GPUS_OF_R), 2.0);
    for _ in 0..3 {
        cluster.filter.recovered("gpu", "r", "n", &pieces, None);
    }
    assert_eq!(cluster.number(GPUS_OF_R), 0.0, "never negative");
}

#[test]
fn a_framework_that_only_agents_told_of_gives_back_what_it_had() {
    let mut cluster = Cluster::new(&[("gpu_caps", "role:r=9")]);
    cluster
        .used
        .insert(("old".to_owned(), "m".to_owned()), bag(2, 2, 200));
    cluster.agent("m", bag(4, 16, 64_000));
    assert_eq!(cluster.number(GPUS_OF_R), 2.0);
    assert!(!cluster.filter.looks_at("old") && !cluster.concerns("old", "m"));
    let pieces = bag(4, 16, 64_000).pieces();
    assert!(
        cluster
            .filter
            .decide("old", "r", "m", &pieces)
            .withheld
            .is_empty()
    );
    assert_eq!(cluster.number(GPUS_OF_R), 2.0);
    cluster.finish("old");
    assert!(!cluster.filter.numbers().contains("role="), "it is forgotten");
}

#[test]
fn in_a_random_series_nothing_is_lost_and_the_counts_end_at_zero() {
    for (seed, policy) in (1..).zip(["share", "open", "strict", "share", "share"]) {
        let mut cluster = Cluster::new(&[("policy", policy), ("gpu_caps", "role:r=5,framework:name-f2=3")]);
        for _ in 0..seed {
            cluster.random(7);
        }
        for nth in 0..6 {
            cluster.agent(&format!("m{nth}"), bag([0, 1, 4][nth % 3], 8, 16_000));
        }
        let mut callbacks = 0;
        for step in 0..1500 {
            let id = format!("f{}", cluster.random(12));
            let known = cluster.frameworks.iter().position(|one| one.id == id);
            match (cluster.random(10), known) {
                (0..=2, None) => {
                    let does = [
                        Does::Decline(NOT_AT_ALL),
                        Does::Decline(Duration::from_secs(5)),
                        Does::TakeAll,
                        Does::TakeGpus(1, Duration::from_secs(1)),
                        Does::Keep,
                    ][cluster.random(5)];
                    let capable = cluster.random(2) == 0;
                    let role = ["r", "r/s", "t"][cluster.random(3)];
                    cluster.framework(&id, role, capable, does);
                }
                (0, Some(_)) => cluster.remove_framework(&id),
                (1..=3, Some(_)) => cluster.finish(&id),
                (4, Some(_)) => cluster.revive(&id),
                (5, Some(at)) => {
                    cluster.frameworks[at].active ^= true;
                    let active = cluster.frameworks[at].active;
                    cluster.filter.framework_active(&id, active);
                }
                (6, _) if step % 5 == 0 => {
                    let agent = format!("m{}", cluster.random(6));
                    let nth: usize = agent[1..].parse().unwrap();
                    cluster.remove_agent(&agent);
                    cluster.agent(&agent, bag([0, 1, 4][nth % 3], 8, 16_000));
                }
                _ => {}
            }
            callbacks += cluster.cycle().len();
            for agent in &cluster.agents {
                let mut sum = agent.free.clone();
                for ((_, of), bag) in &cluster.used {
                    if *of == agent.id {
                        sum.add(bag);
                    }
                }
                assert_eq!(
                    sum, agent.total,
                    "seed {seed}, step {step}: something of {} is lost",
                    agent.id
                );
            }
            let used: u64 = cluster
                .used
                .iter()
                .filter(|((of, _), _)| {
                    cluster
                        .frameworks
                        .iter()
                        .any(|one| one.id == *of && one.role.starts_with('r'))
                })
                .map(|(_, bag)| bag.gpus())
                .sum();
            let counted = cluster.number(GPUS_OF_R) + cluster.number("mesos_gpu_role_gpus{role=\"r/s\"}");
            assert_eq!(counted, used as f64 / 1000.0, "seed {seed}, step {step}");
            assert!(counted <= 5.0);
        }
        assert!(callbacks > 300, "{policy}: only {callbacks} offers");
        let all: Vec<String> = cluster.frameworks.iter().map(|one| one.id.clone()).collect();
        for id in &all {
            cluster.finish(id);
        }
        for role in ["r", "r/s", "t"] {
            assert_eq!(
                cluster.number(&format!("mesos_gpu_role_gpus{{role=\"{role}\"}}")),
                0.0
            );
        }
    }
}

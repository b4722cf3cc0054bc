// SPDX-License-Identifier: Apache-2.0
//! The promise that nothing is lost and nothing is made: whatever is withheld and given back, in the end all of every agent
//! can be had, and the master has grown no more than with its own allocator.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use std::fs;

use crate::common::load::Load;
use crate::common::random::setting;
use crate::common::{Allocator, Amounts, Cluster, lacking};

const AGENTS: [(&str, &str); 3] = [
    ("one", "cpus:4;mem:4096;disk:1024;gpus:4"),
    ("two", "cpus:4;mem:4096;disk:1024;gpus:2"),
    ("none", "cpus:4;mem:4096;disk:1024"),
];
const TOTALS: [(&str, Amounts); 3] = [
    ("one", Amounts::new(4.0, 4.0, 4096.0)),
    ("two", Amounts::new(2.0, 4.0, 4096.0)),
    ("none", Amounts::new(0.0, 4.0, 4096.0)),
];
const FRAMEWORKS: u64 = 20;

/// Memory differs from run to run by what the C library keeps of what was freed, in KiB.
const NOISE: i64 = 1024;

#[test]
fn ROOT_nothing_is_lost_and_the_master_grows_no_more_than_with_its_own_allocator() {
    if lacking("conservation under load") {
        return;
    }
    // 5000 show more and take minutes.
    let callbacks = usize::try_from(setting("MESOS_GPU_CALLBACKS", 500)).unwrap();
    let seed = setting("MESOS_GPU_SEED", 20);
    let share = [
        ("policy", "share"),
        ("cpus_per_gpu", "0.5"),
        ("mem_per_gpu", "256"),
        ("gpu_caps", "role:load-1=1"),
    ];
    let [own, ours] = [("Mesos alone", None), ("share", Some(&share[..]))]
        .map(|(name, allocator)| growth(name, allocator, callbacks, seed));
    assert!(
        ours <= own + NOISE,
        "the master grew by {ours} KiB, with its own allocator by {own} KiB"
    );
}

/// By how many KiB the master grew after the first fifth of the load, which fills caches and pools.
fn growth(name: &str, allocator: Allocator<'_>, callbacks: usize, seed: u64) -> i64 {
    let cluster = Cluster::start(allocator, "10ms", &AGENTS);
    let load = Load::start(cluster.master.address(), FRAMEWORKS, seed);
    load.wait_offers(callbacks / 5, || {
        cluster.given_away();
    });
    let before = resident(cluster.master.pid());
    load.wait_offers(callbacks - callbacks / 5, || {
        cluster.given_away();
    });
    let after = resident(cluster.master.pid());
    let done = load.stop();
    println!("{name}, seed {seed}: {done}; RSS {before} -> {after} KiB");
    cluster.assert_all_free(&TOTALS);
    after - before
}

/// In KiB.
fn resident(pid: u32) -> i64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

// SPDX-License-Identifier: Apache-2.0
//! What is told and done, step by step: mostly quiet, or nothing would ever be offered.

use crate::{GPUS, INTERVAL, LIMIT};
use mesos_gpu::domain::estimate::{MemoryLimit, Percent, Thresholds};
use proptest::prelude::*;
use std::time::Duration;

/// What is told of one GPU, and who has it.
#[derive(Debug, Clone)]
pub struct Told {
    pub listed: bool,
    pub utilization: u32,
    pub used: u64,
    /// Whose (see [`whose`]), percent, bytes.
    pub processes: Option<Vec<(u32, u32, Option<u64>)>>,
    pub holders: Vec<usize>,
    pub guests: Vec<usize>,
    pub placeable: bool,
}

#[derive(Debug, Clone)]
pub struct Step {
    pub passes: i64,
    pub answers: bool,
    pub gpus: Vec<Told>,
    /// How much later it is asked what can be offered, and after how many promises.
    pub later: u64,
    pub promised: usize,
}

fn told() -> impl Strategy<Value = Told> {
    let quiet = |often, value: u32| prop_oneof![often => 0..=value, 1 => 0..=120u32, 1 => Just(u32::MAX)];
    let memory = prop_oneof![40 => 0..=LIMIT, 1 => 0..=100 * LIMIT, 1 => Just(u64::MAX)];
    let held = prop_oneof![30 => (0..LIMIT / 4).prop_map(Some), 1 => (0..100 * LIMIT).prop_map(Some), 1 => Just(None)];
    let process = (10..18u32, quiet(30, 2), held);
    let processes = prop_oneof![20 => prop::collection::vec(process, 0..3).prop_map(Some), 1 => Just(None)];
    // Mostly the same one container, now and then another, none or two.
    let holders =
        prop_oneof![60 => Just(vec![0]), 1 => Just(vec![1]), 1 => Just(vec![]), 1 => Just(vec![0, 1])];
    let guests =
        prop_oneof![30 => Just(vec![]), 1 => Just(vec![3]), 1 => Just(vec![3, 4]), 1 => Just(vec![0])];
    let flag = || prop::bool::weighted(0.98);
    (flag(), quiet(40, 5), memory, processes, holders, guests, flag()).prop_map(
        |(listed, utilization, used, processes, holders, guests, placeable)| Told {
            listed,
            utilization,
            used,
            processes,
            holders,
            guests,
            placeable,
        },
    )
}

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let passes = prop_oneof![60 => Just(5i64), 5 => 0..=15i64, 1 => 16..40i64, 1 => -30..0i64];
    let gpus = prop::collection::vec(told(), GPUS);
    let step = (passes, prop::bool::weighted(0.98), gpus, 0..20u64, 0..3usize).prop_map(
        |(passes, answers, gpus, later, promised)| Step {
            passes,
            answers,
            gpus,
            later,
            promised,
        },
    );
    prop::collection::vec(step, 1..60)
}

pub fn thresholds() -> impl Strategy<Value = Thresholds> {
    let seconds = Duration::from_secs;
    (5..40u64, 0..60u64, 0..=100u32, 1..3usize).prop_map(move |(window, pause, share, guests_per_gpu)| {
        Thresholds {
            window: seconds(window),
            utilization: Percent::told(5).unwrap(),
            memory: MemoryLimit::Bytes(LIMIT),
            pause: seconds(pause),
            share: Percent::told(share).unwrap(),
            guests_per_gpu,
            interval: seconds(INTERVAL),
        }
    })
}

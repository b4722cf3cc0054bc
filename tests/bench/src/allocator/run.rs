// SPDX-License-Identifier: Apache-2.0
//! One process that measures a policy and the bare allocator, which take turns in it.

use std::process::{Command, Stdio};

use serde::Deserialize;
use testbed::{Error, Testbed};

use super::variant::Variant;
use super::{Options, Scenario};
use crate::stats::Summary;

/// What one process measured: medians of its cycles, in milliseconds, but for the last.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// From the wish for a cycle to the last offer.
    pub to_last_callback: f64,
    /// To the end of all that followed.
    pub to_drained: f64,
    /// Processor time of Mesos's threads.
    pub cpu: f64,
    /// The least processor time that a cycle took, which other programs on the machine change least.
    pub least_cpu: f64,
}

/// Both, from the same process.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    /// With the module.
    pub own: Sample,
    /// Of the bare allocator.
    pub beside: Sample,
}

#[derive(Deserialize)]
struct Both {
    #[serde(flatten)]
    own: Measured,
    beside: Measured,
}

#[derive(Deserialize)]
struct Measured {
    cycles: Vec<Cycle>,
    total: Totals,
    free: Totals,
}

#[derive(Deserialize)]
struct Cycle {
    to_last_callback: f64,
    to_drained: f64,
    cpu: f64,
    callbacks: usize,
}

#[derive(Debug, Deserialize)]
struct Totals {
    cpus: f64,
    mem: f64,
    gpus: f64,
}

/// Runs it. Both allocators are told the same, and their cycles take turns, since a machine on which others run as well
/// changes its speed within seconds, and no two processes find the same memory. In each second round the bare one is made
/// first, since the first has the better memory and is faster by up to one in a hundred.
///
/// That nothing was offered, or that something is missing in the end, is an error: the time of an allocator that does not
/// work says nothing.
pub fn once(
    options: &Options,
    variant: Variant,
    agents: usize,
    scenario: Scenario,
    round: usize,
) -> Result<Pair, Error> {
    let tried = || format!("measure {} with {agents} agents", variant.name());
    let output = Command::new(Testbed::program()?)
        .arg("allocator-bench")
        .args(variant.flags()?)
        .arg(format!("--agents={agents}"))
        .arg(format!("--frameworks={}", options.frameworks))
        .arg(format!("--cycles={}", options.cycles))
        .arg(format!("--warm_up={}", options.warm_up))
        .arg(format!("--decline={}", scenario == Scenario::Decline))
        .arg(format!("--beside_is_first={}", round % 2 == 1))
        // The allocator runs on one thread at a time. Each other one would bring memory of its own, and that takes
        // many cycles to grow to its size.
        .env("LIBPROCESS_NUM_WORKER_THREADS", "1")
        .stdin(Stdio::null())
        .output()
        .map_err(|why| Error::new(tried(), why))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(Error::new(
            tried(),
            format!("it ended with {}:\n{said}", output.status),
        ));
    }
    let both: Both = serde_json::from_slice(&output.stdout).map_err(|why| Error::new(tried(), why))?;
    let sample = |measured, whose: &str| {
        sample(measured).map_err(|why| Error::new(tried(), format!("{whose}: {why}")))
    };
    Ok(Pair {
        own: sample(&both.own, "with the module")?,
        beside: sample(&both.beside, "without the module")?,
    })
}

fn sample(measured: &Measured) -> Result<Sample, String> {
    let (total, free) = (&measured.total, &measured.free);
    let pairs = [
        (total.cpus, free.cpus),
        (total.mem, free.mem),
        (total.gpus, free.gpus),
    ];
    if pairs.iter().any(|(total, free)| (total - free).abs() > 0.001) {
        return Err(format!(
            "of {total:?} only {free:?} is offered to a last framework when the others want nothing"
        ));
    }
    if measured.cycles.iter().all(|cycle| cycle.callbacks == 0) {
        return Err("nothing was offered in any cycle".to_owned());
    }
    let median = |of: fn(&Cycle) -> f64| {
        let all: Vec<f64> = measured.cycles.iter().map(of).collect();
        Summary::of(&all).median / 1000.0
    };
    Ok(Sample {
        to_last_callback: median(|cycle| cycle.to_last_callback),
        to_drained: median(|cycle| cycle.to_drained),
        cpu: median(|cycle| cycle.cpu),
        least_cpu: measured
            .cycles
            .iter()
            .map(|cycle| cycle.cpu)
            .fold(f64::INFINITY, f64::min)
            / 1000.0,
    })
}

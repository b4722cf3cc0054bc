// SPDX-License-Identifier: Apache-2.0
//! Many containers that are launched at the same time, each with a GPU: until the program of the last one runs. The machine
//! has as many GPUs.

use super::fleet::Fleet;
use super::launches::{place, quick};
use super::options::Options;
use super::report::Samples;
use crate::images::agents::Setting;
use crate::images::launch::{self, Kind, Launched};
use crate::variant::Variant;
use testbed::{Agent, Error};

/// Measures one crowd in each round.
pub fn measure(options: &Options, setting: &Setting, samples: &mut Samples) -> Result<(), Error> {
    let count = options.at_once;
    let setting = setting.clone().with_gpus(count);
    let mut fleet = Fleet::start(&setting)?;
    for round in 0..options.rounds {
        for kind in [Kind::ON_HOST, Kind::IN_IMAGE] {
            let what = quick(format!("{count} launches at once, {}", place(kind)));
            for (variant, agent) in fleet.turned(round) {
                samples.add(&what, variant, crowd(agent, variant, kind, count)?);
            }
        }
    }
    fleet.end()
}

fn crowd(agent: &Agent, variant: Variant, kind: Kind, count: u32) -> Result<f64, Error> {
    let launched: Vec<Result<Launched, Error>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|_| scope.spawn(|| launch::timed(agent, variant, kind)))
            .collect();
        let ended = threads.into_iter().map(|thread| {
            let panicked = |_| {
                Err(Error::new(
                    "launch a container",
                    "the thread that waited for it panicked",
                ))
            };
            thread.join().unwrap_or_else(panicked)
        });
        ended.collect()
    });
    let launched = launched.into_iter().collect::<Result<Vec<_>, _>>()?;
    let first = launched.iter().map(|one| one.started).min().unwrap_or_default();
    let last = launched.iter().map(|one| one.ran).max().unwrap_or_default();
    Ok(last.saturating_sub(first).as_secs_f64() * 1000.0)
}

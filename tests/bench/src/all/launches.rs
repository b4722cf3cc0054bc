// SPDX-License-Identifier: Apache-2.0
//! Containers alone: until their program runs, and from the wish to end them until nothing of them is left.

use super::fleet::Fleet;
use super::goal::Goal;
use super::options::Options;
use super::report::{Samples, What, what};
use super::starts::{resident, written};
use crate::images::agents::Setting;
use crate::images::launch::{self, Kind};
use testbed::Error;

const GPUS: [u32; 3] = [1, 2, 8];
/// What this library may keep in memory, in mebibytes.
const MEMORY: f64 = 8.0;

/// Measures so many launches of each kind, in turns.
pub fn measure(options: &Options, setting: &Setting, samples: &mut Samples) -> Result<(), Error> {
    let mut fleet = Fleet::start(setting)?;
    let times = options.rounds * options.launches;
    let mut before = Vec::new();
    for (_, agent) in &fleet.agents {
        before.push(written(agent)?);
    }
    let mut count = 0.0;
    for number in 0..times {
        for image in [false, true] {
            for gpus in GPUS {
                let kind = Kind { gpus, image };
                for (variant, agent) in fleet.turned(number) {
                    samples.add(&runs(kind), variant, launch::timed(agent, variant, kind)?.runs);
                }
                count += 1.0;
            }
        }
    }
    let bytes = what("written by a launch", "MB");
    for ((variant, agent), before) in fleet.agents.iter().zip(before) {
        samples.add(&bytes, *variant, (written(agent)? - before) / count);
    }
    for number in 0..times {
        for kind in [Kind::ON_HOST, Kind::IN_IMAGE] {
            for (variant, agent) in fleet.turned(number) {
                let id = launch::staying(agent, variant, kind)?;
                samples.add(&cleanup(kind), variant, launch::end(agent, variant, &id)?);
            }
        }
    }
    let memory = what("memory after the launches", "MiB").goal(Goal::MoreThanNone(MEMORY));
    for (variant, agent) in &fleet.agents {
        samples.add(&memory, *variant, resident(agent)?);
    }
    fleet.end()
}

/// Never slower than what it replaces.
pub fn quick(name: String) -> What {
    what(name, "ms").goal(Goal::TimesBuiltIn(1.0))
}

fn runs(kind: Kind) -> What {
    let plural = if kind.gpus == 1 { "" } else { "s" };
    quick(format!("launch, {} GPU{plural}, {}", kind.gpus, place(kind)))
}

fn cleanup(kind: Kind) -> What {
    quick(format!("cleanup, {}", place(kind)))
}

/// Where a container of this kind runs.
pub fn place(kind: Kind) -> &'static str {
    if kind.image { "image" } else { "host" }
}

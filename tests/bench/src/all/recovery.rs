// SPDX-License-Identifier: Apache-2.0
//! Agents that are killed and start again beside their containers: from the start until they answer. As many of the
//! containers as there are GPUs hold one, the others none.
//!
//! Mesos itself takes up each container, so what this library adds is the difference to no GPU support. A thousand
//! containers are recovered by the module alone (`share.rs`): as many processes are more than what is measured here.

use super::fleet::Fleet;
use super::goal::Goal;
use super::options::Options;
use super::report::{Samples, what};
use crate::images::agents::Setting;
use crate::images::launch::{self, Kind};
use crate::rounds::turned;
use crate::start;
use crate::variant::Variant;
use testbed::{Agent, Error};

/// A machine's GPUs.
const GPUS: usize = 8;
/// Launched at the same time, since there is no need to wait for one before the next.
const THREADS: usize = 4;

/// Measures one recovery of each variant and number in each round.
pub fn measure(options: &Options, setting: &Setting, samples: &mut Samples) -> Result<(), Error> {
    for &count in &options.recovered {
        let mut fleet = Fleet::start(setting)?;
        for (variant, agent) in &fleet.agents {
            fill(agent, *variant, count)?;
        }
        #[allow(clippy::cast_precision_loss)] // There are not that many.
        let most = count as f64;
        let what = what(format!("recovery of {count} containers"), "ms").goal(Goal::MoreThanNone(most));
        for round in 0..options.rounds {
            for at in turned(fleet.agents.len(), round) {
                let (variant, agent) = &mut fleet.agents[at];
                agent.restart()?;
                samples.add(&what, *variant, start::until_ready(agent)?);
                let there = agent
                    .operator()
                    .containers()
                    .map_err(|e| Error::new("list containers", e))?
                    .len();
                if there != count {
                    let why = format!("of {count} containers {there} are there\n{}", launch::tail(agent));
                    return Err(Error::new(
                        format!("restart the agent with {}", variant.name()),
                        why,
                    ));
                }
            }
        }
    }
    Ok(())
}

fn fill(agent: &Agent, variant: Variant, count: usize) -> Result<(), Error> {
    let numbers: Vec<usize> = (0..count).collect();
    let done: Vec<Result<(), Error>> = std::thread::scope(|scope| {
        let share = |numbers: &[usize]| {
            numbers.iter().try_for_each(|number| {
                let gpus = u32::from(*number < GPUS);
                launch::staying(agent, variant, Kind { gpus, image: false }).map(drop)
            })
        };
        let chunks = numbers.chunks(count.div_ceil(THREADS));
        let threads: Vec<_> = chunks
            .map(|numbers| scope.spawn(move || share(numbers)))
            .collect();
        let ended = threads.into_iter().map(|thread| {
            let panicked = |_| Err(Error::new("launch containers", "the thread that did it panicked"));
            thread.join().unwrap_or_else(panicked)
        });
        ended.collect()
    });
    done.into_iter().collect()
}

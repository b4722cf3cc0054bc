// SPDX-License-Identifier: Apache-2.0
//! An executor that gets one GPU more with each task: from the launch of the next task until Mesos says that it runs. Before
//! that Mesos updates the executor's container.

use std::time::Instant;

use super::cluster::Cluster;
use super::launches::quick;
use super::options::Options;
use super::report::Samples;
use crate::images::agents::Setting;
use crate::rounds::{milliseconds, turned};
use crate::variant::Variant;
use testbed::Error;

/// The tasks of one executor; the first makes it, the others let it grow.
const TASKS: usize = 4;

/// Measures one executor of each variant in each round, on an agent of its own: the built-in does not get all GPUs back from
/// an executor that grew.
pub fn measure(options: &Options, setting: &Setting, samples: &mut Samples) -> Result<(), Error> {
    let what = quick("growth by a GPU, until its task runs".to_owned());
    for round in 0..options.rounds {
        for at in turned(Variant::ALL.len(), round) {
            let cluster = Cluster::start(setting, Variant::ALL[at])?;
            let group = cluster.group()?;
            for task in 0..TASKS {
                let offer = group.offer()?;
                let begin = Instant::now();
                group.run(&offer, task)?;
                if task > 0 {
                    samples.add(&what, Variant::ALL[at], milliseconds(begin));
                }
            }
        }
    }
    Ok(())
}

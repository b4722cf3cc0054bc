// SPDX-License-Identifier: Apache-2.0
//! `bench allocator`: what `mesos_gpu_Allocator` costs the master beside the bare allocator that it decorates.
//!
//! Each process runs allocation cycles without a master (`testbed allocator-bench`), in turns of the module and the bare
//! allocator, and gives one ratio. A cycle ends when the allocator's queue is drained, with what was given back processed.
//! The processor time of Mesos's threads, and the least of it, stand beside the elapsed time, since other programs on the
//! machine change them less.

mod options;
mod report;
mod run;
mod variant;

use testbed::Error;

use crate::output;
use crate::rounds::turned;
pub use options::Options;
use report::{Figure, Row};
use run::Pair;
pub use run::once;
pub use variant::Variant as Allocator;

/// What the frameworks do with their offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    /// They hold them until the cycle is over; before the measured cycles they decline for long.
    Hold,
    /// They decline them at once, for five seconds.
    Decline,
}

impl Scenario {
    const ALL: [Scenario; 2] = [Scenario::Hold, Scenario::Decline];

    fn name(self) -> &'static str {
        match self {
            Scenario::Hold => "hold",
            Scenario::Decline => "decline",
        }
    }
}

/// Measures, prints, and writes the JSON file where one is asked for.
pub fn run(options: &Options) -> Result<(), Error> {
    let mut rows = Vec::new();
    for &agents in &options.agents {
        for scenario in Scenario::ALL {
            rows.extend(measure(options, agents, scenario)?);
        }
    }
    println!("{}", report::draw(&rows));
    output::write(&rows, options.json.as_deref())
}

/// One row a variant and figure.
fn measure(options: &Options, agents: usize, scenario: Scenario) -> Result<Vec<Row>, Error> {
    let variants = &options.variants;
    let mut pairs: Vec<Vec<Pair>> = vec![Vec::new(); variants.len()];
    for round in 0..options.rounds {
        for at in turned(variants.len(), round) {
            pairs[at].push(once(options, variants[at], agents, scenario, round)?);
        }
        let (round, rounds) = (round + 1, options.rounds);
        eprintln!(
            "bench: {agents} agents, {}, round {round} of {rounds}",
            scenario.name()
        );
    }
    let mut rows = Vec::new();
    for figure in Figure::ALL {
        for (at, variant) in variants.iter().enumerate() {
            rows.push(Row::of(agents, scenario, *variant, figure, &pairs[at]));
        }
    }
    Ok(rows)
}

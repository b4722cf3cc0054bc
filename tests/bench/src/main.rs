// SPDX-License-Identifier: Apache-2.0
//! Measures, side by side and interleaved, what this library costs: `bench [--rounds=N] [--json=FILE]` an agent,
//! `bench allocator …` the master.
//!
//! One round measures each variant once, in an order that turns with the round, so that a machine that becomes slower or
//! faster in the middle does so for all. Medians, quartiles and ratios are printed; nothing here passes or fails.
//! `bench images` measures agents and containers with an image and a driver of real size,
//! `bench driver-volume` compares ways to give containers the driver's files instead,
//! `bench allocator` the allocator module with the one it stands around; `bench sampling` what a look at the use of the
//! GPUs costs the agent thread.

mod all;
mod allocator;
mod disk;
mod driver_volume;
mod images;
mod output;
mod rounds;
mod sampling;
mod start;
mod stats;
mod table;
mod variant;

use std::process::ExitCode;

use serde::Serialize;
use stats::Summary;
use testbed::Error;
use variant::Variant;

/// One row of the result.
#[derive(Debug, Serialize)]
struct Row {
    /// What was measured.
    what: &'static str,
    /// Of what.
    variant: &'static str,
    /// The unit of the figures.
    unit: &'static str,
    #[serde(flatten)]
    summary: Summary,
    /// The median beside that of the variant without GPU support.
    ratio_to_none: f64,
}

struct Options {
    rounds: usize,
    json: Option<String>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("allocator") => {
            let options = allocator::Options::parse(arguments.into_iter().skip(1));
            options.and_then(|options| allocator::run(&options))
        }
        Some("all") => all::main(&arguments[1..]),
        Some("show") => all::show(&arguments[1..]),
        Some("images") => images::main(&arguments[1..]),
        Some("driver-volume") => driver_volume::main(&arguments[1..]),
        Some("sampling") => sampling::main(&arguments[1..]),
        // What driver-volume starts: not for people.
        Some("driver-volume-container") => driver_volume::container(),
        _ => options(&arguments).and_then(|options| run(&options)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn options(arguments: &[String]) -> Result<Options, Error> {
    let mut options = Options {
        rounds: 10,
        json: None,
    };
    for argument in arguments {
        let wrong = || {
            Error::new(
                format!("take the argument {argument:?}"),
                "usage: bench all …, which measures everything (docs/benchmark.md), or bench [--rounds=N] [--json=FILE], or \
                 bench allocator, images, driver-volume, sampling or show",
            )
        };
        match argument.split_once('=') {
            Some(("--rounds", rounds)) => {
                options.rounds = rounds.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?
            }
            Some(("--json", file)) => options.json = Some(file.to_owned()),
            _ => return Err(wrong()),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), Error> {
    if let Some(lacking) = testbed::support::lacking_for_cgroups() {
        testbed::support::skip(&format!("bench: {lacking}"));
        return Err(Error::new(
            "measure agents with device control",
            format!("this machine lacks {lacking}"),
        ));
    }
    let mut samples = vec![Vec::new(); Variant::ALL.len()];
    for round in 0..options.rounds {
        for at in rounds::turned(Variant::ALL.len(), round) {
            samples[at].push(start::milliseconds(Variant::ALL[at])?);
        }
        eprintln!("bench: agent start, round {} of {}", round + 1, options.rounds);
    }
    let rows = rows("agent start to ready", "ms", &samples);
    println!("{}", table::draw(&rows));
    output::write(&rows, options.json.as_deref())
}

fn rows(what: &'static str, unit: &'static str, samples: &[Vec<f64>]) -> Vec<Row> {
    let summaries: Vec<Summary> = samples.iter().map(|all| Summary::of(all)).collect();
    let none = summaries[0].median;
    let row = |(variant, summary): (&Variant, Summary)| Row {
        what,
        variant: variant.name(),
        unit,
        ratio_to_none: summary.median / none,
        summary,
    };
    Variant::ALL.iter().zip(summaries).map(row).collect()
}

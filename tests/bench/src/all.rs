// SPDX-License-Identifier: Apache-2.0
//! Every figure of docs/benchmark.md in one run: `bench all [--quick] [--rows=…] [--json=FILE] [--markdown=FILE] [--svg=FILE]`,
//! and table and chart of a run that was made elsewhere: `bench show FILE [--markdown=FILE] [--svg=FILE]`.
//!
//! The same Mesos runs on the same simulated driver with no GPU support, with its own `gpu/nvidia`, and with this library,
//! one after the other in an order that turns. What one part cannot measure is said in the end, and the others go on.

mod alone;
mod at_once;
mod chart;
mod cluster;
mod fleet;
mod goal;
mod growth;
mod idle;
mod launches;
mod machine;
mod options;
mod recovery;
mod report;
mod share;
mod starts;
mod text;

use std::time::Instant;

use crate::driver_volume::{Scratch, alone as own_mounts};
use crate::images::agents::Setting;
use machine::Place;
use options::{Files, Options};
use report::{Report, Samples};
use testbed::Error;

/// What `--rows` can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Agents' starts.
    Start,
    /// Containers alone.
    Launch,
    /// Many containers at the same time.
    AtOnce,
    /// The module alone.
    Share,
    /// Containers that get another GPU.
    Growth,
    /// Agents that start beside containers.
    Recovery,
    /// Agents that do nothing.
    Idle,
    /// The allocator module.
    Allocator,
    /// The estimator.
    Estimator,
    /// The library's file.
    Size,
}

impl Part {
    const ALL: [Part; 10] = [
        Part::Start,
        Part::Launch,
        Part::AtOnce,
        Part::Share,
        Part::Growth,
        Part::Recovery,
        Part::Idle,
        Part::Allocator,
        Part::Estimator,
        Part::Size,
    ];

    fn name(self) -> &'static str {
        match self {
            Part::Start => "start",
            Part::Launch => "launch",
            Part::AtOnce => "at-once",
            Part::Share => "share",
            Part::Growth => "growth",
            Part::Recovery => "recovery",
            Part::Idle => "idle",
            Part::Allocator => "allocator",
            Part::Estimator => "estimator",
            Part::Size => "size",
        }
    }

    fn measure(self, options: &Options, setting: &Setting, samples: &mut Samples) -> Result<(), Error> {
        match self {
            Part::Start => starts::measure(options, setting, samples),
            Part::Launch => launches::measure(options, setting, samples),
            Part::AtOnce => at_once::measure(options, setting, samples),
            Part::Share => share::measure(options, setting, samples),
            Part::Growth => growth::measure(options, setting, samples),
            Part::Recovery => recovery::measure(options, setting, samples),
            Part::Idle => idle::measure(options, setting, samples),
            Part::Allocator => alone::allocator(options, samples),
            Part::Estimator => alone::estimator(samples),
            Part::Size => alone::size(samples),
        }
    }
}

/// The sub-command `all`.
pub fn main(arguments: &[String]) -> Result<(), Error> {
    let options = Options::parse(arguments)?;
    if let Some(lacking) = testbed::support::lacking_for_cgroups() {
        testbed::support::skip(&format!("bench all: {lacking}"));
        let why = format!("this machine lacks {lacking}");
        return Err(Error::new("measure agents with device control", why));
    }
    // For what is measured in this process; the agents have namespaces of their own.
    own_mounts().map_err(|errno| Error::new("make a mount namespace", errno))?;
    let mut report = Report {
        command: command(arguments),
        place: Place::here(),
        rows: Vec::new(),
        failed: Vec::new(),
    };
    let begin = Instant::now();
    let scratch = Scratch::new()?;
    let setting = Setting::make(&scratch, options.megabytes << 20)?;
    let chosen = Part::ALL.into_iter().filter(|part| options.parts.contains(part));
    for part in chosen {
        let mut samples = Samples::default();
        if let Err(error) = part.measure(&options, &setting, &mut samples) {
            eprintln!("bench: {}: {error}", part.name());
            let why = error.to_string();
            let first = why.lines().next().unwrap_or_default();
            report.failed.push(format!("{}: {first}", part.name()));
        }
        report.rows.extend(samples.rows(part.name()));
        // Whatever ends the run, what is there is kept.
        if let Some(file) = &options.files.json {
            report.write(file)?;
        }
        eprintln!(
            "bench: {} is done after {} s",
            part.name(),
            begin.elapsed().as_secs()
        );
    }
    // As whoever reads the file sees it: a number may change in its last digit on the way.
    publish(&report.as_read()?, &options.files)
}

/// The sub-command `show`.
pub fn show(arguments: &[String]) -> Result<(), Error> {
    let (mut files, mut from) = (Files::default(), None);
    for argument in arguments {
        if !argument.starts_with("--json") && files.take(argument) {
            continue;
        }
        if argument.starts_with("--") || from.replace(argument).is_some() {
            let usage = "usage: bench show FILE [--markdown=FILE] [--svg=FILE], the first as bench all --json writes it";
            return Err(Error::new(format!("take the argument {argument:?}"), usage));
        }
    }
    let from = from.ok_or_else(|| Error::new("show a report", "no file is named"))?;
    publish(&Report::read(from)?, &files)
}

fn publish(report: &Report, files: &Files) -> Result<(), Error> {
    println!("{}", text::plain(report));
    if let Some(file) = &files.markdown {
        text::into_document(report, file)?;
    }
    if let Some(file) = &files.svg {
        chart::write(report, file)?;
    }
    match report.failed.as_slice() {
        [] => Ok(()),
        failed => Err(Error::new("measure all that was asked for", failed.join("; "))),
    }
}

/// The command without the files of this machine.
fn command(arguments: &[String]) -> String {
    let told = arguments
        .iter()
        .filter(|argument| !Files::default().take(argument));
    let words: Vec<&str> = ["all"].into_iter().chain(told.map(String::as_str)).collect();
    words.join(" ")
}

// SPDX-License-Identifier: Apache-2.0
//! Containers with an image, on a machine with a driver of real size, side by side with each kind of GPU support:
//! `bench images [--rounds=N] [--launches=N] [--megabytes=N] [--json=FILE]`.
//!
//! The built-in isolator copies the driver when its agent starts; this library shows it where it is when the first
//! container wants it. So both moments are measured, with what is written at each, and then the launches that follow.

pub mod agents;
mod figures;
mod in_process;
pub mod launch;
mod round;
mod table;
mod written;

use crate::driver_volume::{Scratch, alone};
use crate::output;
use agents::Setting;
use figures::Samples;
use testbed::Error;

struct Options {
    rounds: usize,
    launches: usize,
    megabytes: u64,
    json: Option<String>,
}

/// The sub-command.
pub fn main(arguments: &[String]) -> Result<(), Error> {
    let options = options(arguments)?;
    if let Some(lacking) = testbed::support::lacking_for_cgroups() {
        testbed::support::skip(&format!("bench images: {lacking}"));
        let why = format!("this machine lacks {lacking}");
        return Err(Error::new("measure images on agents with device control", why));
    }
    // For what is measured in this process; the agents have namespaces of their own.
    alone().map_err(|errno| Error::new("make a mount namespace", errno))?;
    let scratch = Scratch::new()?;
    let setting = Setting::make(&scratch, options.megabytes << 20)?;
    let mut samples = Samples::default();
    for round in 0..options.rounds {
        round::measure(round, options.launches, &setting, &mut samples)?;
        let folder = scratch.path(&format!("in-process-{round}"));
        in_process::measure(&folder, &setting, options.launches, &mut samples)?;
        eprintln!("bench: images, round {} of {}", round + 1, options.rounds);
    }
    let rows = samples.rows();
    println!("{}", table::draw(&rows));
    output::write(&rows, options.json.as_deref())
}

fn options(arguments: &[String]) -> Result<Options, Error> {
    let mut options = Options {
        rounds: 10,
        launches: 20,
        megabytes: 700,
        json: None,
    };
    for argument in arguments {
        let wrong = || {
            let usage = "usage: bench images [--rounds=N] [--launches=N] [--megabytes=N] [--json=FILE], each N at \
                         least 1";
            Error::new(format!("take the argument {argument:?}"), usage)
        };
        let number = |text: &str| text.parse().ok().filter(|n| *n > 0).ok_or_else(wrong);
        match argument.split_once('=') {
            Some(("--rounds", text)) => options.rounds = number(text)?,
            Some(("--launches", text)) => options.launches = number(text)?,
            Some(("--megabytes", text)) => options.megabytes = number(text)? as u64,
            Some(("--json", file)) => options.json = Some(file.to_owned()),
            _ => return Err(wrong()),
        }
    }
    Ok(options)
}

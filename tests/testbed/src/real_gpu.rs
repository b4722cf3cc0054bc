// SPDX-License-Identifier: Apache-2.0
//! `testbed real-gpu`: the whole story on a machine with NVIDIA GPUs, from nothing but what was carried there. A real master
//! and agent, this module, the machine's own NVML, and a program that computes: on the host's file system and in an image, with
//! a GPU and without, beside Mesos's own `gpu/nvidia`. What differs from the simulated driver is written down.
//!
//! Each chapter is a process of its own with a time limit, so that one that fails, hangs or is killed by a driver costs no
//! other. Where there is no GPU, `--simulate` tells the same story on a simulated driver: so is it tried.

mod answers;
mod cluster;
mod figures;
mod findings;
mod host;
mod life;
mod nvml;
mod options;
mod programs;
mod run;
mod sharing;
mod tasks;

use std::process::ExitCode;

use crate::error::Error;
use findings::Findings;
use options::Options;

/// What is told, in this order; the last one looks whether the machine is as it was.
const CHAPTERS: [(&str, Chapter); 7] = [
    ("machine", host::before),
    ("nvml", nvml::chapter),
    ("mesos-gpu", tasks::ours),
    ("gpu-nvidia", tasks::built_in),
    ("sharing", sharing::chapter),
    ("figures", figures::chapter),
    (LAST, host::after),
];
const LAST: &str = "machine-after";

type Chapter = fn(&Options, &mut Findings) -> Result<(), Error>;

/// Whether this machine has an NVIDIA GPU with its driver loaded.
pub fn is_here() -> bool {
    host::gpus() > 0
}

/// The sub-command.
pub fn main(arguments: &[String]) -> ExitCode {
    let done = Options::parse(arguments).and_then(|options| match &options.chapter {
        Some(name) => chapter(name, &options),
        None => run::all(&options),
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("real-gpu: {error}");
            ExitCode::from(2)
        }
    }
}

/// Tells one chapter, in a process that [`run`] has started for it.
fn chapter(name: &str, options: &Options) -> Result<bool, Error> {
    let Some((_, tell)) = CHAPTERS.iter().find(|(known, _)| *known == name) else {
        let known = CHAPTERS.map(|(name, _)| name).join(", ");
        return Err(Error::new(
            format!("tell the chapter {name:?}"),
            format!("known are {known}"),
        ));
    };
    let mut findings = Findings::of(name, &options.findings())?;
    if let Err(error) = tell(options, &mut findings) {
        findings.check("it is told to its end", false, error);
    }
    Ok(findings.all_right())
}

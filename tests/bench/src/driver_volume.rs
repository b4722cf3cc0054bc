// SPDX-License-Identifier: Apache-2.0
//! Ways to give containers the driver's files, side by side on one generated driver:
//! `bench driver-volume [--rounds=N] [--containers=N] [--libraries=N] [--megabytes=N] [--json=FILE]`.
//!
//! One round measures each way once, in an order that turns with the round. All of it happens in a mount namespace of its
//! own, so the machine keeps nothing, and every container checks that it sees the whole driver.

mod container;
mod measure;
mod table;
mod tree;
mod ways;

pub use container::main as container;

use crate::output::{self, Row};
use crate::rounds::turned;
use crate::stats::Summary;
use measure::Taken;
use nix::mount::MsFlags;
use nix::sched::{CloneFlags, unshare};
use std::collections::BTreeMap;
use testbed::Error;
use tree::Tree;
use ways::Way;

struct Options {
    rounds: usize,
    containers: usize,
    libraries: usize,
    megabytes: u64,
    json: Option<String>,
}

/// The sub-command.
pub fn main(arguments: &[String]) -> Result<(), Error> {
    let options = options(arguments)?;
    if !nix::unistd::geteuid().is_root() {
        testbed::support::skip("bench driver-volume: root, to make mounts");
        return Err(Error::new(
            "measure driver volumes",
            "this takes root, to make mounts",
        ));
    }
    alone().map_err(|errno| Error::new("make a mount namespace", errno))?;
    let scratch = Scratch::new()?;
    let tree = Tree::write(
        &scratch.path("driver"),
        options.libraries,
        options.megabytes << 20,
    )?;
    let (mut samples, mut lacking) = (Vec::new(), BTreeMap::new());
    for round in 0..options.rounds {
        for (place, at) in turned(Way::ALL.len(), round).enumerate() {
            let way = Way::ALL[at];
            let folder = scratch.path(&format!("{round}-{place}"));
            match measure::once(way, &tree, &folder, options.containers) {
                Ok(taken) => samples.push((way, taken)),
                // What is ours must work; what it is compared with may lack something of the kernel.
                Err(error) if way == Way::Overlay => {
                    lacking.insert(way, error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        eprintln!("bench: driver volume, round {} of {}", round + 1, options.rounds);
    }
    let rows = rows(&samples);
    println!("{}", table::draw(&rows));
    for (way, why) in lacking {
        testbed::support::skip(&format!("bench driver-volume: {}: {why}", way.name()));
    }
    output::write(&rows, options.json.as_deref())
}

fn options(arguments: &[String]) -> Result<Options, Error> {
    let mut options = Options {
        rounds: 10,
        containers: 20,
        libraries: 26,
        megabytes: 700,
        json: None,
    };
    for argument in arguments {
        let wrong = || {
            let usage = "usage: bench driver-volume [--rounds=N] [--containers=N] [--libraries=N] [--megabytes=N] \
                         [--json=FILE], each N at least 1";
            Error::new(format!("take the argument {argument:?}"), usage)
        };
        let number = |text: &str| text.parse().ok().filter(|n| *n > 0).ok_or_else(wrong);
        match argument.split_once('=') {
            Some(("--rounds", text)) => options.rounds = number(text)?,
            Some(("--containers", text)) => options.containers = number(text)?,
            Some(("--libraries", text)) => options.libraries = number(text)?,
            Some(("--megabytes", text)) => options.megabytes = number(text)? as u64,
            Some(("--json", file)) => options.json = Some(file.to_owned()),
            _ => return Err(wrong()),
        }
    }
    Ok(options)
}

/// Mounts spread as they do on a host with systemd, but not out of here.
pub fn alone() -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    for how in [MsFlags::MS_PRIVATE, MsFlags::MS_SHARED] {
        container::propagate(how)?;
    }
    Ok(())
}

/// A folder that goes away with the program.
pub struct Scratch(std::path::PathBuf);

impl Scratch {
    /// Makes it where temporary files are.
    pub fn new() -> Result<Self, Error> {
        let path = std::env::temp_dir().join(format!("mesos-gpu-bench-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|e| Error::new(format!("make folder {}", path.display()), e))?;
        Ok(Self(path))
    }

    /// A place in it.
    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn rows(samples: &[(Way, Taken)]) -> Vec<Row> {
    let mut rows = Vec::new();
    for figure in measure::FIGURES {
        for way in Way::ALL {
            let of_way = samples.iter().filter(|(of, _)| *of == way);
            let figures: Vec<f64> = of_way.flat_map(|(_, taken)| (figure.of)(taken)).collect();
            if !figures.is_empty() {
                let summary = Summary::of(&figures);
                rows.push(Row {
                    what: figure.what,
                    unit: figure.unit,
                    variant: way.name(),
                    summary,
                });
            }
        }
    }
    rows
}

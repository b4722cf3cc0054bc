// SPDX-License-Identifier: Apache-2.0
//! Agents' starts: on a machine where none has been, and again. With them what an agent has written and what it keeps in
//! memory then.

use std::fs;
use std::path::Path;

use super::goal::Goal;
use super::options::Options;
use super::report::{Samples, what};
use crate::disk::{MEGA, written_by};
use crate::images::agents::Setting;
use crate::rounds::turned;
use crate::start;
use crate::variant::Variant;
use testbed::{Agent, Error, Testbed};

/// What this library may keep in memory, in mebibytes.
const MEMORY: f64 = 8.0;

/// Measures a cold and a warm start of each variant in each round.
pub fn measure(options: &Options, setting: &Setting, samples: &mut Samples) -> Result<(), Error> {
    let cold = what("agent start, cold", "ms").goal(Goal::TimesNone(1.05));
    let warm = what("agent start, warm", "ms").goal(Goal::TimesNone(1.05));
    let bytes = what("written by a cold start", "MB");
    let memory = what("memory after a start", "MiB").goal(Goal::MoreThanNone(MEMORY));
    for round in 0..options.rounds {
        let bed = Testbed::new()?;
        for at in turned(Variant::ALL.len(), round) {
            let variant = Variant::ALL[at];
            let mut agent = setting.agent(variant, &bed).start()?;
            samples.add(&cold, variant, start::until_ready(&mut agent)?);
            samples.add(&bytes, variant, written(&agent)?);
            // Before the disk is done with it, no other start is measured.
            nix::unistd::sync();
            agent.terminate()?;
            agent.restart()?;
            samples.add(&warm, variant, start::until_ready(&mut agent)?);
            samples.add(&memory, variant, resident(&agent)?);
            agent.terminate()?;
        }
    }
    Ok(())
}

/// The megabytes that an agent has made the kernel write so far.
pub fn written(agent: &Agent) -> Result<f64, Error> {
    let bytes = written_by(Path::new(&format!("/proc/{}", agent.pid())));
    #[allow(clippy::cast_precision_loss)] // Nothing here is that large.
    let written = bytes.map(|bytes| bytes as f64 / MEGA);
    written.map_err(|e| Error::new("see what an agent has written", e))
}

/// The mebibytes of an agent that are in memory.
pub fn resident(agent: &Agent) -> Result<f64, Error> {
    let file = format!("/proc/{}/status", agent.pid());
    let failed = |why: &dyn std::fmt::Display| Error::new(format!("read {file}"), why);
    let text = fs::read_to_string(&file).map_err(|e| failed(&e))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    kibibytes
        .map(|kibibytes| kibibytes / 1024.0)
        .ok_or_else(|| failed(&"it does not tell VmRSS"))
}

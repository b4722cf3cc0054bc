// SPDX-License-Identifier: Apache-2.0
//! One round: an agent of each variant, started on an empty volume and again, and then launches, one variant after the
//! other, while all three agents run.

use super::agents::Setting;
use super::figures::{
    CALL, FIRST_COPIED, FIRST_RUNS, FIRST_WRITTEN, GONE, MOUNTS_INSIDE, MOUNTS_KEPT, RUNS, START_COLD,
    START_COPIED, START_WARM, START_WRITTEN, Samples,
};
use super::launch::{self, Kind};
use super::written::Written;
use crate::rounds::turned;
use crate::start;
use crate::variant::Variant;
use std::fs;
use testbed::{Agent, Error, Testbed};

/// Measures it.
pub fn measure(round: usize, launches: usize, setting: &Setting, samples: &mut Samples) -> Result<(), Error> {
    let bed = Testbed::new()?;
    let mut agents = Vec::new();
    for at in turned(Variant::ALL.len(), round) {
        let variant = Variant::ALL[at];
        agents.push((variant, starts(variant, &bed, setting, samples)?));
    }
    // So that no launch waits for the disk to take what another variant's start has copied.
    nix::unistd::sync();
    let mut before = Vec::new();
    for (variant, agent) in &agents {
        before.push(mounts_of(agent)?);
        first(agent, *variant, setting, samples)?;
    }
    for number in 0..launches {
        for at in turned(agents.len(), number) {
            let (variant, agent) = &agents[at];
            let launched = launch::timed(agent, *variant, Kind::IN_IMAGE)?;
            samples.add(CALL, *variant, launched.call);
            samples.add(RUNS, *variant, launched.runs);
            samples.add(GONE, *variant, launched.gone);
        }
    }
    for ((variant, agent), before) in agents.iter_mut().zip(before) {
        let inside = launch::mounts(agent, *variant)?;
        if inside.contains(" /usr/local/nvidia ") != (*variant != Variant::None) {
            let why = format!("the driver is there, or not, as it should not be:\n{inside}");
            return Err(Error::new(format!("see the mounts of {}", variant.name()), why));
        }
        samples.add(MOUNTS_INSIDE, *variant, count(inside.lines().count()));
        let kept = count(mounts_of(agent)?) - count(before);
        samples.add(MOUNTS_KEPT, *variant, kept);
        agent.terminate()?;
    }
    Ok(())
}

/// Both starts. Between them the agent learns the image, so that no launch that counts unpacks it.
fn starts(variant: Variant, bed: &Testbed, setting: &Setting, samples: &mut Samples) -> Result<Agent, Error> {
    let mut agent = setting.agent(variant, bed).start()?;
    samples.add(START_COLD, variant, start::until_ready(&mut agent)?);
    let written = Written::by(&agent, setting.driver.folder())?;
    samples.add(START_COPIED, variant, written.copied_since(Written::NONE));
    samples.add(START_WRITTEN, variant, written.written_since(Written::NONE));
    launch::timed(&agent, variant, Kind::IN_IMAGE)?;
    agent.terminate()?;
    agent.restart()?;
    samples.add(START_WARM, variant, start::until_ready(&mut agent)?);
    Ok(agent)
}

fn first(agent: &Agent, variant: Variant, setting: &Setting, samples: &mut Samples) -> Result<(), Error> {
    let driver = setting.driver.folder();
    let before = Written::by(agent, driver)?;
    let launched = launch::timed(agent, variant, Kind::IN_IMAGE)?;
    samples.add(FIRST_RUNS, variant, launched.runs);
    let after = Written::by(agent, driver)?;
    samples.add(FIRST_COPIED, variant, after.copied_since(before));
    samples.add(FIRST_WRITTEN, variant, after.written_since(before));
    Ok(())
}

fn mounts_of(agent: &Agent) -> Result<usize, Error> {
    let table = format!("/proc/{}/mountinfo", agent.pid());
    let text = fs::read_to_string(&table).map_err(|e| Error::new(format!("read {table}"), e))?;
    Ok(text.lines().count())
}

#[allow(clippy::cast_precision_loss, reason = "nobody has that many mounts")]
fn count(number: usize) -> f64 {
    number as f64
}

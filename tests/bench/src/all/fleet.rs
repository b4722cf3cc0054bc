// SPDX-License-Identifier: Apache-2.0
//! One agent of each variant, side by side, ready, and each with the image that its containers run in.

use crate::images::agents::Setting;
use crate::images::launch::{self, Kind};
use crate::rounds::turned;
use crate::start;
use crate::variant::Variant;
use testbed::{Agent, Error, Testbed};

/// The agents.
pub struct Fleet {
    /// In the order of the tables.
    pub agents: Vec<(Variant, Agent)>,
    // Last, so that it outlives them.
    _bed: Testbed,
}

impl Fleet {
    /// Starts them.
    pub fn start(setting: &Setting) -> Result<Self, Error> {
        let bed = Testbed::new()?;
        let mut agents = Vec::new();
        for variant in Variant::ALL {
            let mut agent = setting.agent(variant, &bed).start()?;
            start::until_ready(&mut agent)?;
            launch::timed(&agent, variant, Kind::IN_IMAGE)?;
            agents.push((variant, agent));
        }
        // So that no launch waits for the disk to take what a start has copied.
        nix::unistd::sync();
        Ok(Self { agents, _bed: bed })
    }

    /// Each agent once, from another one on each time.
    pub fn turned(&self, round: usize) -> impl Iterator<Item = (Variant, &Agent)> {
        turned(self.agents.len(), round).map(|at| (self.agents[at].0, &self.agents[at].1))
    }

    /// Ends them in good order.
    pub fn end(&mut self) -> Result<(), Error> {
        self.agents
            .iter_mut()
            .try_for_each(|(_, agent)| agent.terminate())
    }
}

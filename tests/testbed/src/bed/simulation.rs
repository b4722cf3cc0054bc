// SPDX-License-Identifier: Apache-2.0
//! An agent's simulated NVIDIA machine, and what its process must be told to find it.

use std::path::Path;

use fake_nvml::{Machine, Simulation};

use crate::error::{Error, Tried};
use crate::program::SIMULATION;

/// A simulation that lives in an agent's folder.
pub(super) struct Simulated(Simulation);

impl Simulated {
    /// Lays it out in `folder` and adds to the environment of the agent. Without root there are no device nodes to
    /// enter, but NVML still answers.
    pub(super) fn lay_out(
        folder: &Path,
        machine: &Machine,
        environment: &mut Vec<(String, String)>,
    ) -> Result<Self, Error> {
        let simulation =
            Simulation::lay_out(folder, machine).tried(|| format!("lay out a machine in {}", folder.display()))?;
        let variables = simulation.environment();
        environment.extend(variables.map(|(name, path)| (name.to_owned(), path.display().to_string())));
        if simulation.has_nodes() {
            environment.push((SIMULATION.to_owned(), folder.display().to_string()));
        }
        Ok(Self(simulation))
    }

    pub(super) fn get(&self) -> &Simulation {
        &self.0
    }
}

impl std::fmt::Debug for Simulated {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("Simulated").field(&self.0.folder()).finish()
    }
}

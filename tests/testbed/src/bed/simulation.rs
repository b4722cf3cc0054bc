// SPDX-License-Identifier: Apache-2.0
//! An agent's simulated NVIDIA machine, and what its process must be told to find it.

use std::path::{Path, PathBuf};

use fake_nvml::{Machine, Simulation};

use crate::error::{Error, Tried};
use crate::program::SIMULATION;

/// A simulation that lives in an agent's folder.
pub(super) struct Simulated(Simulation);

impl Simulated {
    /// Lays it out in `folder`, with a loader cache of its own where there are folders for one.
    pub(super) fn lay_out(
        folder: &Path,
        machine: &Machine,
        cached: Option<&[PathBuf]>,
    ) -> Result<Self, Error> {
        let tried = || format!("lay out a machine in {}", folder.display());
        std::fs::create_dir_all(folder).tried(tried)?;
        let simulation = Simulation::lay_out(folder, machine).tried(tried)?;
        if let Some(folders) = cached {
            fake_nvml::trimmed_loader_cache_with(&simulation.loader_cache(), folders).tried(tried)?;
        }
        Ok(Self(simulation))
    }

    /// What the agent's environment needs. Without root there are no device nodes to enter, but NVML still answers.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        let place = self
            .0
            .has_nodes()
            .then(|| (SIMULATION, self.0.folder().to_owned()));
        let variables = self.0.environment().into_iter().chain(place);
        variables
            .map(|(name, path)| (name.to_owned(), path.display().to_string()))
            .collect()
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

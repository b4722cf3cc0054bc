// SPDX-License-Identifier: Apache-2.0
//! Measures the isolator module alone, in a process that has an agent's flags and its machine, and no agent.

use std::path::PathBuf;
use std::time::Duration;

use super::AgentBuilder;
use crate::bed::Agent;
use crate::error::{Error, Tried};

/// A process that makes the isolator's calls itself (`testbed isolator-bench`), again and again on the same agent's folder.
#[derive(Debug)]
pub struct IsolatorBench {
    process: Agent,
    out: PathBuf,
    patience: Duration,
}

impl AgentBuilder {
    /// Runs the isolator of such an agent with these flags of `testbed isolator-bench`, and waits for the end of it.
    pub fn isolator_bench(self, flags: &[(&str, &str)], patience: Duration) -> Result<IsolatorBench, Error> {
        let out = self.room.folder().join("isolator-bench.json");
        let mut builder = self.flag("out", out.display().to_string());
        for (name, value) in flags {
            builder = builder.flag(name, *value);
        }
        let mut process = builder.start_as("isolator-bench")?;
        process.wait_end(patience)?;
        Ok(IsolatorBench {
            process,
            out,
            patience,
        })
    }
}

impl IsolatorBench {
    /// Runs it once more, with some flags set to something else, and those without a value left out.
    pub fn again(&mut self, flags: &[(&str, Option<&str>)]) -> Result<(), Error> {
        self.process.restart_with(flags)?;
        self.process.wait_end(self.patience)
    }

    /// What it measured the last time, as JSON.
    pub fn measured(&self) -> Result<String, Error> {
        std::fs::read_to_string(&self.out).tried(|| format!("read {}", self.out.display()))
    }
}

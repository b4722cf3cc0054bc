// SPDX-License-Identifier: Apache-2.0
//! Making our modules fail on purpose: a debug build fails where the file named by `MESOS_GPU_FAULTS` says so, and looks
//! into it at each entry, so a fault can be set and lifted while the agent runs.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use std::fs;
use std::path::PathBuf;

use fake_nvml::Machine;
use testbed::{AgentBuilder, Testbed, support};

use super::{Cluster, PATIENCE, assert_serves_without_gpus, fresh_id, gpu_agent, launch};

/// The two ways to fail.
pub const WAYS: [&str; 2] = ["throw", "panic"];

/// Whether these proofs cannot run here, which is then reported by name.
pub fn lacking(proof: &str) -> bool {
    if !cfg!(debug_assertions) {
        support::skip(&format!("{proof}: a debug build"));
        return true;
    }
    super::lacking(proof)
}

/// The file that tells our modules where to fail.
pub struct Faults(PathBuf);

impl Faults {
    pub fn new(bed: &Testbed) -> Self {
        Self(bed.folder().join("faults"))
    }

    /// An agent that fails where this says.
    pub fn agent(&self, bed: &Testbed, machine: &Machine) -> AgentBuilder {
        self.apply(gpu_agent(bed).machine(machine))
    }

    /// The same of another agent.
    pub fn apply(&self, agent: AgentBuilder) -> AgentBuilder {
        agent.env("MESOS_GPU_FAULTS", self.0.display().to_string())
    }

    /// From now on `entry` fails in this way; gives back what the failure must say.
    pub fn fail(&self, entry: &str, way: &str) -> String {
        fs::write(&self.0, format!("{entry} {way}\n")).unwrap();
        format!("told to {way} in {entry}")
    }

    pub fn lift(&self) {
        fs::remove_file(&self.0).unwrap();
    }
}

/// A cluster whose agent can be made to fail.
pub fn cluster(machine: &Machine) -> (Cluster, Faults) {
    let mut faults = None;
    let cluster = Cluster::with(|bed| {
        let made = faults.insert(Faults::new(bed));
        made.agent(bed, machine)
    });
    (cluster, faults.unwrap())
}

/// After the fault is lifted: a panic leaves the agent without GPUs to give, until it is started again.
pub fn recover_from(cluster: &mut Cluster, way: &str) {
    assert_serves_without_gpus(&cluster.agent);
    if way == "throw" {
        return;
    }
    let refusal = launch(&cluster.agent, &fresh_id("poisoned"), 1.0, "true").unwrap_err();
    let says = "no GPU is handed out any more since ";
    assert!(
        refusal.body().contains(says) && refusal.body().contains("restart the agent"),
        "{refusal}"
    );
    cluster.agent.restart().unwrap();
    cluster.agent.wait_registered(PATIENCE).unwrap();
}

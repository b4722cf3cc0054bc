// SPDX-License-Identifier: Apache-2.0
//! What the agent thread owns.

use crate::agent::machine::Machine;
use crate::agent::reply::Reply;
use crate::domain::container::ContainerId;
use crate::domain::inventory::Inventory;
use crate::domain::ledger::Ledger;
use crate::error::Error;
use std::collections::BTreeMap;

/// What is known of a live container.
#[derive(Debug, Default)]
pub struct Container {
    /// Mesos's watch on it; answering it kills the container.
    pub watch: Option<Reply<Vec<u8>>>,
}

/// The books of one agent and its machine.
#[derive(Debug)]
pub struct State {
    /// The machine.
    pub machine: Machine,
    /// The units this agent manages.
    pub inventory: Inventory,
    /// Who holds them.
    pub ledger: Ledger,
    /// The containers that were prepared or recovered, nested ones too.
    pub containers: BTreeMap<ContainerId, Container>,
    /// The agent's cgroup root, below each hierarchy.
    pub cgroups_root: String,
    poison: Option<String>,
}

impl State {
    /// The books of a machine on which nothing runs yet.
    pub fn new(machine: Machine, inventory: Inventory, cgroups_root: String) -> Self {
        Self {
            machine,
            inventory,
            ledger: Ledger::default(),
            containers: BTreeMap::new(),
            cgroups_root,
            poison: None,
        }
    }

    /// Notes that a verb panicked, so that the books may be wrong. From here on no GPU is handed out; containers without
    /// GPUs still launch, and `cleanup` still gives back. The first reason is kept.
    pub fn poison(&mut self, reason: &str) {
        self.poison.get_or_insert_with(|| reason.to_owned());
    }

    /// Whether GPUs may still be handed out.
    ///
    /// # Errors
    /// The reason of the first panic.
    pub fn sound(&self) -> Result<(), Error> {
        match &self.poison {
            None => Ok(()),
            Some(reason) => Err(Error::defect(format!(
                "no GPU is handed out any more since {reason}; restart the agent, its containers survive that"
            ))),
        }
    }
}

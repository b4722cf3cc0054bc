// SPDX-License-Identifier: Apache-2.0
//! What others may read of the books at any moment, without asking the agent thread: hooks are called on Mesos's threads
//! and must answer at once.

use crate::domain::container::{ContainerId, Executor};
use crate::domain::gpu::{Unit, UnitId};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A copy of the books that the agent thread keeps up to date. Clones show the same.
#[derive(Debug, Clone, Default)]
pub struct Board {
    shown: Arc<Mutex<Shown>>,
}

#[derive(Debug, Default)]
struct Shown {
    held: BTreeMap<ContainerId, Vec<UnitId>>,
    executors: BTreeMap<Executor, ContainerId>,
    units: Vec<Unit>,
}

impl Board {
    /// Shows who holds what or is a guest on it, and in which container each executor runs.
    pub fn show_held(
        &self,
        held: BTreeMap<ContainerId, Vec<UnitId>>,
        executors: BTreeMap<Executor, ContainerId>,
    ) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.held = held;
        shown.executors = executors;
    }

    /// What the container of an executor may use.
    pub fn held_by_executor(&self, framework: &str, executor: &str) -> Vec<UnitId> {
        let executor = Executor {
            framework: framework.to_owned(),
            id: executor.to_owned(),
        };
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let container = shown.executors.get(&executor).cloned();
        drop(shown);
        container
            .map(|container| self.held_by(&container))
            .unwrap_or_default()
    }

    /// Shows the units of the agent.
    pub fn show_units(&self, units: Vec<Unit>) {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).units = units;
    }

    /// What a container holds or is a guest on; a child with none of its own shows that of the container above it.
    pub fn held_by(&self, container: &ContainerId) -> Vec<UnitId> {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let mut above = Some(container.clone());
        while let Some(container) = above {
            if let Some(units) = shown.held.get(&container) {
                return units.clone();
            }
            above = container.parent();
        }
        Vec::new()
    }

    /// The units of the agent.
    pub fn units(&self) -> Vec<Unit> {
        self.shown
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .units
            .clone()
    }
}

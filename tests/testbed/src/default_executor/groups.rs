// SPDX-License-Identifier: Apache-2.0
//! Why: which tasks are alive, which of them belong together, and which were killed, is asked by one thread a task.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::executor::connection::kill_grace;

/// Between the polite and the final signal where nobody says how long; Mesos's own default.
const GRACE: Duration = Duration::from_secs(3);

struct Task {
    group: usize,
    /// The path of its container, once started.
    container: Option<Vec<String>>,
    killed: bool,
    grace: Option<Duration>,
}

#[derive(Default)]
struct Table {
    alive: HashMap<String, Task>,
    groups: usize,
}

/// The tasks that are alive, by group.
#[derive(Default)]
pub(super) struct Groups {
    table: Mutex<Table>,
    changed: Condvar,
}

impl Groups {
    /// Takes up a group and gives its tasks back.
    pub(super) fn add(&self, tasks: Vec<Value>) -> Vec<Value> {
        let mut table = self.lock();
        table.groups += 1;
        let group = table.groups;
        for task in &tasks {
            let id = task["task_id"]["value"].as_str().unwrap_or_default().to_owned();
            table.alive.insert(
                id,
                Task {
                    group,
                    container: None,
                    killed: false,
                    grace: kill_grace(task),
                },
            );
        }
        tasks
    }

    /// Notes the container of a task; false when the task was killed meanwhile.
    pub(super) fn started(&self, id: &str, container: &[String]) -> bool {
        let mut table = self.lock();
        let Some(task) = table.alive.get_mut(id) else {
            return false;
        };
        task.container = Some(container.to_vec());
        !task.killed
    }

    pub(super) fn killed(&self, id: &str) -> bool {
        self.lock().alive.get(id).is_some_and(|t| t.killed)
    }

    /// Marks a task as killed; its container, if started, and its grace, unless it was marked before.
    pub(super) fn mark_killed(
        &self,
        id: &str,
        grace: Option<Duration>,
    ) -> Option<(Option<Vec<String>>, Duration)> {
        let mut table = self.lock();
        let task = table.alive.get_mut(id).filter(|t| !t.killed)?;
        task.killed = true;
        Some((task.container.clone(), grace.or(task.grace).unwrap_or(GRACE)))
    }

    /// Takes a task out; with `take_along`, the others of its group, which have to end too.
    pub(super) fn remove(&self, id: &str, take_along: bool) -> Vec<String> {
        let mut table = self.lock();
        let Some(gone) = table.alive.remove(id) else {
            return Vec::new();
        };
        self.changed.notify_all();
        let same = table
            .alive
            .iter()
            .filter(|(_, t)| take_along && t.group == gone.group);
        same.map(|(id, _)| id.clone()).collect()
    }

    pub(super) fn is_alive(&self, id: &str) -> bool {
        self.lock().alive.contains_key(id)
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.lock().alive.keys().cloned().collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().alive.is_empty()
    }

    /// Waits until no task is alive, for at most `patience`.
    pub(super) fn wait_none(&self, patience: Duration) {
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), patience, |table| !table.alive.is_empty());
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Every change to the table is a single call, so a panicked holder leaves nothing half done.
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn group(ids: &[&str]) -> Vec<Value> {
        ids.iter().map(|id| json!({"task_id": {"value": id}})).collect()
    }

    #[test]
    fn a_failed_task_takes_its_own_group_along_and_no_other() {
        let groups = Groups::default();
        groups.add(group(&["a", "b"]));
        groups.add(group(&["c"]));
        assert_eq!(groups.remove("a", true), ["b"]);
        assert!(groups.remove("b", false).is_empty());
        assert_eq!(groups.all(), ["c"]);
    }

    #[test]
    fn a_kill_counts_once_and_is_seen_by_a_task_that_starts_late() {
        let groups = Groups::default();
        groups.add(group(&["a"]));
        assert_eq!(groups.mark_killed("a", None), Some((None, GRACE)));
        assert_eq!(groups.mark_killed("a", None), None);
        assert!(!groups.started("a", &["top".to_owned(), "kid".to_owned()]));
    }
}

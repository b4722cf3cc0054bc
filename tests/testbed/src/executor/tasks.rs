// SPDX-License-Identifier: Apache-2.0
//! Why: tasks end and are killed at the same moment by different threads; one table decides what is still alive.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde_json::Value;

use super::End;
use super::connection::{Connection, kill_grace};
use super::flags::Flags;
use super::process;

/// Between the polite and the final signal where nobody says how long; Mesos's own default.
const GRACE: Duration = Duration::from_secs(3);

struct Task {
    /// `None` until the command runs.
    group: Option<Pid>,
    killed: bool,
    /// What the task itself says about its kill.
    grace: Option<Duration>,
}

/// The tasks that are alive.
pub(super) struct Tasks {
    flags: Flags,
    connection: Arc<Connection>,
    end: mpsc::Sender<End>,
    alive: Mutex<HashMap<String, Task>>,
}

impl Tasks {
    pub(super) fn new(flags: Flags, connection: Arc<Connection>, end: mpsc::Sender<End>) -> Self {
        Self {
            flags,
            connection,
            end,
            alive: Mutex::default(),
        }
    }

    /// Runs a task on a thread of its own.
    pub(super) fn launch(this: &Arc<Self>, task: Value) {
        let id = task["task_id"]["value"].as_str().unwrap_or_default().to_owned();
        let entry = Task {
            group: None,
            killed: false,
            grace: kill_grace(&task),
        };
        this.lock().insert(id.clone(), entry);
        let this = Arc::clone(this);
        thread::spawn(move || {
            let (state, message) = this.run(&id, &task).unwrap_or_else(|why| ("TASK_FAILED", why));
            this.lock().remove(&id);
            this.connection.update(&id, state, &message, None);
            if !this.flags.stay {
                this.connection.wait_acknowledged();
                // Nobody listens any more when the executor is stopping already.
                this.end.send(End::Done).unwrap_or_default();
            }
        });
    }

    /// Asks a task to end, and makes it end when the grace period is over.
    pub(super) fn kill(this: &Arc<Self>, id: &str, grace: Option<Duration>) {
        let Some(own) = this.polite(id) else { return };
        let grace = grace.or(own).unwrap_or(GRACE);
        let (this, id) = (Arc::clone(this), id.to_owned());
        thread::spawn(move || {
            thread::sleep(grace);
            this.signal(&id, Signal::SIGKILL);
        });
    }

    /// Ends all tasks: politely, and after `grace` by force.
    pub(super) fn kill_all(&self, grace: Duration) {
        let ids: Vec<String> = self.lock().keys().cloned().collect();
        for id in &ids {
            self.polite(id);
        }
        let end = Instant::now() + grace;
        while !self.lock().is_empty() && Instant::now() < end {
            thread::sleep(Duration::from_millis(20));
        }
        for id in &ids {
            self.signal(id, Signal::SIGKILL);
        }
    }

    fn run(&self, id: &str, task: &Value) -> Result<(&'static str, String), String> {
        self.connection.update(id, "TASK_STARTING", "", None);
        // Under the lock, so that a kill comes either before the start or finds a group to signal.
        let mut alive = self.lock();
        if alive.get(id).is_some_and(|t| t.killed) {
            return Ok(("TASK_KILLED", "killed before its command was run".to_owned()));
        }
        let mut child = process::spawn(task, &self.flags)?;
        if let Some(entry) = alive.get_mut(id) {
            entry.group = Some(process::pid(&child));
        }
        drop(alive);
        self.connection.update(id, "TASK_RUNNING", "", None);
        process::wait_unreaped(&child).map_err(|e| format!("could not wait for the command: {e}"))?;
        // Out of the table first: once reaped, the number may belong to a stranger.
        let killed = self.lock().remove(id).is_some_and(|t| t.killed);
        let status = child
            .wait()
            .map_err(|e| format!("could not learn how the command ended: {e}"))?;
        Ok(process::verdict(status, killed))
    }

    /// Marks a task as killed and sends the polite signal; the task's own grace, or `None` for no such task.
    fn polite(&self, id: &str) -> Option<Option<Duration>> {
        let mut alive = self.lock();
        let task = alive.get_mut(id)?;
        task.killed = true;
        if let Some(group) = task.group {
            process::signal(group, Signal::SIGTERM);
        }
        Some(task.grace)
    }

    fn signal(&self, id: &str, signal: Signal) {
        let alive = self.lock();
        if let Some(group) = alive.get(id).and_then(|t| t.group) {
            process::signal(group, signal);
        }
    }

    /// Every change to the table is a single call, so a panicked holder leaves nothing half done.
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Task>> {
        self.alive.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

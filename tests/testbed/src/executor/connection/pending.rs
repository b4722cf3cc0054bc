// SPDX-License-Identifier: Apache-2.0
//! Why: an agent that restarts forgets what it had not written down. It learns it again from what an executor names
//! as unacknowledged when it subscribes, so that has to be kept exactly.

use std::fs::File;
use std::io::{self, Read};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::executor::identity::Identity;

#[derive(Debug, Default)]
struct Lists {
    /// Tasks of which the agent has acknowledged nothing yet.
    tasks: Vec<Value>,
    /// Updates not acknowledged, oldest first: the agent takes them in this order.
    updates: Vec<Value>,
}

/// What the agent has not acknowledged.
#[derive(Debug, Default)]
pub(super) struct Pending {
    lists: Mutex<Lists>,
    changed: Condvar,
}

impl Pending {
    pub(super) fn add_task(&self, task: &Value) {
        self.lock().tasks.push(task.clone());
    }

    /// Makes an update, keeps it, and returns it with its uuid.
    pub(super) fn add_update(
        &self,
        identity: &Identity,
        task: &str,
        state: &str,
        message: &str,
        container: Option<&Value>,
    ) -> io::Result<(String, Value)> {
        let uuid = random_uuid()?;
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let mut status = json!({
            "task_id": {"value": task},
            "state": state,
            "source": "SOURCE_EXECUTOR",
            "executor_id": {"value": identity.executor_id},
            "uuid": uuid,
            "timestamp": now.as_secs_f64(),
            "message": message,
        });
        if let Some(container) = container {
            status["container_status"] = json!({"container_id": container});
        }
        let update = json!({"status": status});
        self.lock().updates.push(update.clone());
        Ok((uuid, update))
    }

    pub(super) fn is_open(&self, uuid: &str) -> bool {
        self.lock().updates.iter().any(|u| u["status"]["uuid"] == uuid)
    }

    /// The body of a `SUBSCRIBE`.
    pub(super) fn subscribe(&self) -> Value {
        let lists = self.lock();
        json!({"unacknowledged_tasks": lists.tasks, "unacknowledged_updates": lists.updates})
    }

    pub(super) fn acknowledged(&self, event: &Value) {
        let mut lists = self.lock();
        lists.updates.retain(|u| u["status"]["uuid"] != event["uuid"]);
        lists
            .tasks
            .retain(|t| t["task_id"]["value"] != event["task_id"]["value"]);
        drop(lists);
        self.changed.notify_all();
    }

    /// Waits until no update is left, for at most `patience`.
    pub(super) fn wait_empty(&self, patience: Duration) {
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), patience, |lists| !lists.updates.is_empty());
        let left = waited.unwrap_or_else(PoisonError::into_inner).0.updates.len();
        if left > 0 {
            eprintln!("{left} status updates were not acknowledged in {patience:?}");
        }
    }

    /// Every change to the lists is a single call, so a panicked holder leaves nothing half done.
    fn lock(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sixteen bytes of a random uuid, in the form that Mesos's JSON has for bytes.
fn random_uuid() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Ok(BASE64_STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity {
            agent: "127.0.0.1:1".to_owned(),
            framework_id: "f".to_owned(),
            executor_id: "e".to_owned(),
            checkpoint: true,
            recovery_timeout: Duration::ZERO,
            shutdown_grace: Duration::ZERO,
            token: None,
        }
    }

    #[test]
    fn an_acknowledged_update_takes_its_task_along_and_leaves_the_next_update() {
        let pending = Pending::default();
        pending.add_task(&json!({"task_id": {"value": "t"}}));
        let (first, _) = pending
            .add_update(&identity(), "t", "TASK_STARTING", "", None)
            .unwrap();
        let (second, _) = pending
            .add_update(&identity(), "t", "TASK_RUNNING", "", None)
            .unwrap();
        assert_ne!(first, second);
        pending.acknowledged(&json!({"task_id": {"value": "t"}, "uuid": first}));
        let told = pending.subscribe();
        assert_eq!(told["unacknowledged_tasks"], json!([]));
        assert_eq!(
            told["unacknowledged_updates"][0]["status"]["state"],
            "TASK_RUNNING"
        );
        assert!(!pending.is_open(&first) && pending.is_open(&second));
    }

    #[test]
    fn a_container_is_named_only_where_there_is_one() {
        let pending = Pending::default();
        let (_, plain) = pending
            .add_update(&identity(), "t", "TASK_RUNNING", "", None)
            .unwrap();
        assert!(plain["status"].get("container_status").is_none());
        let id = json!({"value": "kid"});
        let (_, with) = pending
            .add_update(&identity(), "t", "TASK_RUNNING", "", Some(&id))
            .unwrap();
        assert_eq!(with["status"]["container_status"]["container_id"], id);
    }

    #[test]
    fn the_wait_ends_with_the_last_acknowledgement() {
        let pending = Pending::default();
        let (uuid, _) = pending
            .add_update(&identity(), "t", "TASK_FINISHED", "", None)
            .unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| pending.wait_empty(Duration::from_secs(20)));
            pending.acknowledged(&json!({"task_id": {"value": "t"}, "uuid": uuid}));
            waiter.join().unwrap();
        });
        assert_eq!(pending.subscribe()["unacknowledged_updates"], json!([]));
    }
}

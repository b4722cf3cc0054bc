// SPDX-License-Identifier: Apache-2.0
//! Why: a status update read once, so that tests compare names instead of digging in JSON.

use std::fmt;

use serde_json::Value;

use crate::operator::container_path;

const TERMINAL: [&str; 8] = [
    "TASK_FINISHED",
    "TASK_FAILED",
    "TASK_KILLED",
    "TASK_ERROR",
    "TASK_LOST",
    "TASK_DROPPED",
    "TASK_GONE",
    "TASK_GONE_BY_OPERATOR",
];

/// A task's status as the master sent it.
#[derive(Debug, Clone)]
pub struct TaskUpdate {
    /// The task.
    pub task: String,
    /// `TASK_RUNNING` and so on.
    pub state: String,
    /// `SOURCE_EXECUTOR` and so on.
    pub source: Option<String>,
    /// `REASON_CONTAINER_LAUNCH_FAILED` and so on.
    pub reason: Option<String>,
    /// What was said about it.
    pub message: Option<String>,
    /// The agent.
    pub agent_id: Option<String>,
    /// The container the task runs in, root first.
    pub container: Vec<String>,
    /// Labels by name.
    pub labels: Vec<(String, String)>,
    /// All that the master sent.
    pub raw: Value,
}

impl TaskUpdate {
    /// True when no other state follows.
    pub fn is_terminal(&self) -> bool {
        TERMINAL.contains(&self.state.as_str())
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }
}

impl From<Value> for TaskUpdate {
    fn from(raw: Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let labels = raw["labels"]["labels"].as_array().cloned().unwrap_or_default();
        let label = |l: &Value| Some((text(&l["key"])?, text(&l["value"]).unwrap_or_default()));
        Self {
            task: text(&raw["task_id"]["value"]).unwrap_or_default(),
            state: text(&raw["state"]).unwrap_or_default(),
            source: text(&raw["source"]),
            reason: text(&raw["reason"]),
            message: text(&raw["message"]),
            agent_id: text(&raw["agent_id"]["value"]),
            container: container_path(&raw["container_status"]["container_id"]),
            labels: labels.iter().filter_map(label).collect(),
            raw,
        }
    }
}

impl fmt::Display for TaskUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.state)?;
        for part in [&self.source, &self.reason].into_iter().flatten() {
            write!(f, " {part}")?;
        }
        match &self.message {
            Some(message) if !message.is_empty() => write!(f, ": {message}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_update_says_state_source_reason_and_message() {
        let update = TaskUpdate::from(json!({
            "task_id": {"value": "t"}, "state": "TASK_FAILED", "source": "SOURCE_AGENT",
            "reason": "REASON_CONTAINER_LAUNCH_FAILED", "message": "no gpus",
            "labels": {"labels": [{"key": "gpu", "value": "GPU-1"}, {"key": "bare"}]},
            "container_status": {"container_id": {"value": "kid", "parent": {"value": "top"}}},
        }));
        assert!(update.is_terminal());
        assert_eq!(update.container, ["top", "kid"]);
        assert_eq!(
            (update.label("gpu"), update.label("bare"), update.label("x")),
            (Some("GPU-1"), Some(""), None)
        );
        assert_eq!(
            update.to_string(),
            "TASK_FAILED SOURCE_AGENT REASON_CONTAINER_LAUNCH_FAILED: no gpus"
        );
    }
}

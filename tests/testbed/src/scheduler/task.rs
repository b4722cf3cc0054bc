// SPDX-License-Identifier: Apache-2.0
//! Why: a task's JSON is long and every test varies one part of it. The builders write the rest, with the role
//! of the offer in every resource, which the master insists on.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use super::Offer;
use crate::image_name::ImageName;
use crate::resources;

/// A task to start.
#[derive(Debug, Clone)]
pub struct Task {
    id: String,
    command: String,
    arguments: Option<Vec<String>>,
    resources: Vec<Value>,
    env: Vec<(String, String)>,
    image: Option<ImageName>,
    share_cgroups: Option<bool>,
    executor: Option<ExecutorSpec>,
    kill_grace: Option<f64>,
}

impl Task {
    /// A task that runs a shell command.
    pub fn new(id: &str, command: &str) -> Self {
        Self {
            id: id.to_owned(),
            command: command.to_owned(),
            arguments: None,
            resources: Vec::new(),
            env: Vec::new(),
            image: None,
            share_cgroups: None,
            executor: None,
            kill_grace: None,
        }
    }

    /// Adds regular scalar resources.
    pub fn resources(mut self, amounts: &[(&str, f64)]) -> Self {
        self.resources
            .extend(resources::scalars(&resources::amounts(amounts)));
        self
    }

    /// Adds revocable scalar resources.
    pub fn revocable(mut self, amounts: &[(&str, f64)]) -> Self {
        self.resources
            .extend(resources::revocable(resources::scalars(&resources::amounts(
                amounts,
            ))));
        self
    }

    /// Adds resources as they stand in an offer (reserved ones, for example).
    pub fn raw_resources(mut self, list: &[Value]) -> Self {
        self.resources.extend_from_slice(list);
        self
    }

    /// Adds an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs the program without a shell; `argv[0]` included.
    pub fn arguments(mut self, argv: &[&str]) -> Self {
        self.arguments = Some(argv.iter().map(|s| (*s).to_owned()).collect());
        self
    }

    /// Runs in an image, in Mesos's own containerizer.
    pub fn image(mut self, name: impl Into<ImageName>) -> Self {
        self.image = Some(name.into());
        self
    }

    /// In a task group: whether the task lives in its executor's cgroups.
    pub fn share_cgroups(mut self, share: bool) -> Self {
        self.share_cgroups = Some(share);
        self
    }

    /// Runs on a custom executor. The command then travels in `data`, where [`crate::executor`] finds it.
    pub fn executor(mut self, executor: &ExecutorSpec) -> Self {
        self.executor = Some(executor.clone());
        self
    }

    /// Seconds between the polite and the final signal of a kill.
    pub fn kill_grace(mut self, seconds: f64) -> Self {
        self.kill_grace = Some(seconds);
        self
    }

    pub(crate) fn info(&self, offer: &Offer, framework: &str) -> Value {
        let mut info = json!({
            "name": self.id,
            "task_id": {"value": self.id},
            "agent_id": {"value": offer.agent_id()},
            "resources": resources::allocated(self.resources.clone(), offer.role()),
        });
        if let Some(executor) = &self.executor {
            info["executor"] = executor.info(offer, framework);
            info["data"] = json!(BASE64_STANDARD.encode(&self.command));
        } else {
            info["command"] = command_info(&self.command, self.arguments.as_deref(), &self.env);
        }
        if let Some(container) = self.container_info() {
            info["container"] = container;
        }
        if let Some(seconds) = self.kill_grace {
            info["kill_policy"] = json!({"grace_period": {"nanoseconds": nanoseconds(seconds)}});
        }
        info
    }

    fn container_info(&self) -> Option<Value> {
        let mut info = Map::new();
        if let Some(image) = &self.image {
            info.insert("mesos".to_owned(), image.mesos_info());
        }
        if let Some(share) = self.share_cgroups {
            info.insert("linux_info".to_owned(), json!({"share_cgroups": share}));
        }
        if info.is_empty() {
            return None;
        }
        info.insert("type".to_owned(), json!("MESOS"));
        Some(Value::Object(info))
    }
}

/// What the default executor itself lives on.
pub const DEFAULT_EXECUTOR: [(&str, f64); 3] = [("cpus", 0.1), ("mem", 32.0), ("disk", 32.0)];

/// An executor for tasks.
#[derive(Debug, Clone)]
pub struct ExecutorSpec {
    id: String,
    kind: &'static str,
    command: Option<String>,
    resources: Vec<Value>,
    env: Vec<(String, String)>,
    image: Option<ImageName>,
}

impl ExecutorSpec {
    /// A custom executor started by a shell command.
    pub fn custom(id: &str, command: &str) -> Self {
        Self {
            command: Some(command.to_owned()),
            ..Self::of_kind(id, "CUSTOM")
        }
    }

    /// The executor of task groups, which the agent starts from its launcher folder. It has [`DEFAULT_EXECUTOR`]:
    /// the master refuses one without cpus, mem or disk.
    pub fn default_executor(id: &str) -> Self {
        Self::of_kind(id, "DEFAULT").resources(&DEFAULT_EXECUTOR)
    }

    /// Adds regular scalar resources.
    pub fn resources(mut self, amounts: &[(&str, f64)]) -> Self {
        self.resources
            .extend(resources::scalars(&resources::amounts(amounts)));
        self
    }

    /// Adds an environment variable (custom executors only: the default executor's command is the agent's).
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs in an image (custom executors only: the default executor's tasks have images, not itself).
    pub fn image(mut self, name: impl Into<ImageName>) -> Self {
        self.image = Some(name.into());
        self
    }

    fn of_kind(id: &str, kind: &'static str) -> Self {
        Self {
            id: id.to_owned(),
            kind,
            command: None,
            resources: Vec::new(),
            env: Vec::new(),
            image: None,
        }
    }

    pub(crate) fn info(&self, offer: &Offer, framework: &str) -> Value {
        let mut info = json!({
            "type": self.kind,
            "executor_id": {"value": self.id},
            "framework_id": {"value": framework},
            "resources": resources::allocated(self.resources.clone(), offer.role()),
        });
        if let Some(command) = &self.command {
            info["command"] = command_info(command, None, &self.env);
        }
        if let Some(image) = &self.image {
            info["container"] = json!({"type": "MESOS", "mesos": image.mesos_info()});
        }
        info
    }
}

fn command_info(command: &str, arguments: Option<&[String]>, env: &[(String, String)]) -> Value {
    let mut info = json!({"value": command, "shell": arguments.is_none()});
    if let Some(argv) = arguments {
        info["arguments"] = json!(argv);
    }
    if !env.is_empty() {
        let variables: Vec<Value> = env
            .iter()
            .map(|(name, value)| json!({"name": name, "value": value}))
            .collect();
        info["environment"] = json!({"variables": variables});
    }
    info
}

fn nanoseconds(seconds: f64) -> u64 {
    std::time::Duration::try_from_secs_f64(seconds)
        .map_or(0, |d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer() -> Offer {
        Offer::from(
            json!({"id": {"value": "o"}, "agent_id": {"value": "a"}, "allocation_info": {"role": "r"}}),
        )
    }

    #[test]
    fn every_resource_carries_the_role_of_the_offer() {
        let executor = ExecutorSpec::custom("x", "run").resources(&[("cpus", 0.1)]);
        let task = Task::new("t", "true")
            .resources(&[("gpus", 1.0)])
            .revocable(&[("mem", 1.0)])
            .executor(&executor);
        let info = task.info(&offer(), "f");
        for list in [&info["resources"], &info["executor"]["resources"]] {
            assert!(
                list.as_array()
                    .unwrap()
                    .iter()
                    .all(|r| r["allocation_info"]["role"] == "r"),
                "{list}"
            );
        }
        assert!(info["resources"][1].get("revocable").is_some());
    }

    #[test]
    fn a_task_has_a_command_or_an_executor_never_both() {
        let plain = Task::new("t", "true").info(&offer(), "f");
        assert!(plain.get("executor").is_none() && plain["command"]["shell"] == true);
        let custom = Task::new("t", "true")
            .executor(&ExecutorSpec::custom("x", "run"))
            .info(&offer(), "f");
        assert!(custom.get("command").is_none());
        assert_eq!(custom["data"], BASE64_STANDARD.encode("true"));
        assert_eq!(custom["executor"]["framework_id"]["value"], "f");
    }

    #[test]
    fn the_grace_of_a_kill_is_in_nanoseconds() {
        let info = Task::new("t", "true").kill_grace(0.5).info(&offer(), "f");
        assert_eq!(info["kill_policy"]["grace_period"]["nanoseconds"], 500_000_000);
    }
}

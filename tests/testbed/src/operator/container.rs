// SPDX-License-Identifier: Apache-2.0
//! Why: containers as the operator API describes them, in the terms the tests use: a path of names from the
//! root down instead of Mesos's child-first nesting.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use serde_json::{Map, Value, json};

use crate::image_name::ImageName;
use crate::resources;

/// A container to start.
#[derive(Debug, Clone, Default)]
pub struct LaunchContainer {
    /// Names from the root container down.
    pub id: Vec<String>,
    /// A shell command; with `arguments`, the program.
    pub command: String,
    /// `argv`, the program's own name first. Needed in images without a shell.
    pub arguments: Option<Vec<String>>,
    /// Scalar resources by name.
    pub resources: Vec<(String, f64)>,
    /// The resources are revocable.
    pub revocable: bool,
    /// Environment of the command.
    pub env: Vec<(String, String)>,
    /// Whether a nested container lives in its parent's cgroups; `None` leaves Mesos's default (it does).
    pub share_cgroups: Option<bool>,
    /// The image to run in.
    pub image: Option<ImageName>,
}

impl LaunchContainer {
    /// A container with the path `id` (root first) that runs a shell command.
    pub fn new(id: &[&str], command: &str) -> Self {
        let id = id.iter().map(|s| (*s).to_owned()).collect();
        Self {
            id,
            command: command.to_owned(),
            ..Self::default()
        }
    }

    /// Asks for scalar resources.
    pub fn resources(mut self, amounts: &[(&str, f64)]) -> Self {
        self.resources = resources::amounts(amounts);
        self
    }

    /// Marks the resources as revocable.
    pub fn revocable(mut self) -> Self {
        self.revocable = true;
        self
    }

    /// Adds an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs in an image.
    pub fn image(mut self, name: impl Into<ImageName>) -> Self {
        self.image = Some(name.into());
        self
    }

    /// Says whether a nested container shares its parent's cgroups.
    pub fn share_cgroups(mut self, share: bool) -> Self {
        self.share_cgroups = Some(share);
        self
    }

    /// Runs the program without a shell; `argv[0]` included.
    pub fn arguments(mut self, argv: &[&str]) -> Self {
        self.arguments = Some(argv.iter().map(|s| (*s).to_owned()).collect());
        self
    }

    pub(super) fn without_resources(&self) -> Value {
        let mut body = json!({"container_id": container_id(&self.id), "command": self.command_info()});
        let mut info = Map::new();
        if let Some(share) = self.share_cgroups {
            info.insert("linux_info".to_owned(), json!({"share_cgroups": share}));
        }
        if let Some(image) = &self.image {
            info.insert("mesos".to_owned(), image.mesos_info());
        }
        if !info.is_empty() {
            info.insert("type".to_owned(), json!("MESOS"));
            body["container"] = Value::Object(info);
        }
        body
    }

    pub(super) fn with_resources(&self) -> Value {
        let mut body = self.without_resources();
        let list = resources::scalars(&self.resources);
        body["resources"] = Value::Array(if self.revocable {
            resources::revocable(list)
        } else {
            list
        });
        body
    }

    fn command_info(&self) -> Value {
        let variables: Vec<Value> = self
            .env
            .iter()
            .map(|(name, value)| json!({"name": name, "value": value}))
            .collect();
        let mut info = json!({"value": self.command, "shell": self.arguments.is_none()});
        if let Some(argv) = &self.arguments {
            info["arguments"] = json!(argv);
        }
        if !variables.is_empty() {
            info["environment"] = json!({"variables": variables});
        }
        info
    }
}

/// Mesos's `ContainerID` of a path of names, root first.
pub fn container_id(path: &[impl AsRef<str>]) -> Value {
    let mut id = Value::Null;
    for name in path {
        let mut child = json!({"value": name.as_ref()});
        if !id.is_null() {
            child["parent"] = id;
        }
        id = child;
    }
    id
}

/// The path of names, root first, of a `ContainerID`.
pub fn container_path(id: &Value) -> Vec<String> {
    let mut path = Vec::new();
    let mut at = Some(id);
    while let Some(level) = at {
        path.extend(level["value"].as_str().map(str::to_owned));
        at = level.get("parent");
    }
    path.reverse();
    path
}

/// How a container ended.
#[derive(Debug, Clone)]
pub struct Ended {
    /// How its first process ended; unknown where Mesos never learnt it.
    pub status: Option<ExitStatus>,
    /// Mesos's reason, where something ended it from outside.
    pub reason: Option<String>,
    /// Mesos's message.
    pub message: Option<String>,
    /// The task state that goes with the reason.
    pub state: Option<String>,
}

impl Ended {
    /// The exit code, where the process ended by itself.
    pub fn code(&self) -> Option<i32> {
        self.status.and_then(|s| s.code())
    }

    /// The signal, where one ended the process.
    pub fn signal(&self) -> Option<i32> {
        self.status.and_then(|s| s.signal())
    }
}

impl From<&Value> for Ended {
    fn from(wait: &Value) -> Self {
        let text = |key: &str| wait[key].as_str().map(str::to_owned);
        let status = wait["exit_status"].as_i64().and_then(|s| i32::try_from(s).ok());
        Self {
            status: status.map(ExitStatus::from_raw),
            reason: text("reason"),
            message: text("message"),
            state: text("state"),
        }
    }
}

/// A container that the agent knows.
#[derive(Debug, Clone)]
pub struct Container {
    /// Names from the root container down.
    pub id: Vec<String>,
    /// Its first process, as the agent's host counts processes.
    pub pid: Option<u64>,
    /// The executor it belongs to; standalone containers have none.
    pub executor_id: Option<String>,
    /// The framework it belongs to.
    pub framework_id: Option<String>,
    /// All that the agent said.
    pub raw: Value,
}

impl From<&Value> for Container {
    fn from(raw: &Value) -> Self {
        let text = |key: &str| raw[key]["value"].as_str().map(str::to_owned);
        Self {
            id: container_path(&raw["container_id"]),
            pid: raw["container_status"]["executor_pid"].as_u64(),
            executor_id: text("executor_id"),
            framework_id: text("framework_id"),
            raw: raw.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_survives_the_way_to_mesos_and_back() {
        let id = container_id(&["root", "child", "grandchild"]);
        assert_eq!(
            id,
            json!({"value": "grandchild", "parent": {"value": "child", "parent": {"value": "root"}}})
        );
        assert_eq!(container_path(&id), ["root", "child", "grandchild"]);
    }

    #[test]
    fn a_plain_launch_says_nothing_about_the_container() {
        let launch = LaunchContainer::new(&["c"], "true").resources(&[("gpus", 1.0)]);
        let body = launch.with_resources();
        assert!(body.get("container").is_none());
        assert_eq!(body["resources"][0]["scalar"]["value"], 1.0);
        assert!(launch.without_resources().get("resources").is_none());
    }

    #[test]
    fn image_and_cgroups_are_asked_for_together() {
        let body = LaunchContainer::new(&["p", "c"], "true")
            .image("tiny")
            .share_cgroups(false)
            .without_resources();
        assert_eq!(body["container"]["type"], "MESOS");
        assert_eq!(body["container"]["linux_info"]["share_cgroups"], false);
        assert_eq!(body["container"]["mesos"]["image"]["docker"]["name"], "tiny");
    }

    #[test]
    fn an_end_is_a_code_or_a_signal() {
        assert_eq!(Ended::from(&json!({"exit_status": 256})).code(), Some(1));
        assert_eq!(Ended::from(&json!({"exit_status": 9})).signal(), Some(9));
        assert_eq!(Ended::from(&json!({})).code(), None);
    }
}

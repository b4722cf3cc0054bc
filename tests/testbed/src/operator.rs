// SPDX-License-Identifier: Apache-2.0
//! Why: tests and the demo start, watch and stop containers on a running agent without any framework, and the
//! default executor does the same for its tasks: all over the agent's `/api/v1`.

mod container;
mod error;
mod master;
mod session;

use std::fmt;

use serde_json::{Value, json};

pub use container::{Container, Ended, LaunchContainer, container_id, container_path};
pub use error::ApiError;
pub use master::MasterOperator;
pub use session::SessionOutput;

use crate::http::{Client, Reply};

/// Speaks the agent's operator API.
#[derive(Debug, Clone)]
pub struct Operator {
    client: Client,
}

impl Operator {
    /// The agent at `host:port`.
    pub fn new(address: impl fmt::Display) -> Self {
        Self {
            client: Client::new(address),
        }
    }

    /// Any call of the agent's `/api/v1`, as JSON. The answer is null where Mesos sends an empty body.
    pub fn call(&self, body: &Value) -> Result<Value, ApiError> {
        let reply = self.client.post("/api/v1", body)?;
        accepted(body, reply)
    }

    /// True once the agent says it is healthy.
    pub fn health(&self) -> bool {
        self.call(&json!({"type": "GET_HEALTH"}))
            .is_ok_and(|r| r["get_health"]["healthy"] == true)
    }

    /// The agent's `/state`.
    pub fn state(&self) -> Result<Value, ApiError> {
        let reply = self.client.get("/state")?;
        accepted(&json!({"type": "GET /state"}), reply)
    }

    /// The agent's metrics by name.
    pub fn metrics(&self) -> Result<Value, ApiError> {
        let reply = self.client.get("/metrics/snapshot")?;
        accepted(&json!({"type": "GET /metrics/snapshot"}), reply)
    }

    /// Starts a standalone container, or a nested one with resources of its own where `id` has a parent.
    pub fn launch_container(&self, launch: &LaunchContainer) -> Result<(), ApiError> {
        self.launch(&json!({"type": "LAUNCH_CONTAINER", "launch_container": launch.with_resources()}))
    }

    /// Starts a container nested in a running one. The call knows no resources, so none are sent.
    pub fn launch_nested_container(&self, launch: &LaunchContainer) -> Result<(), ApiError> {
        let body = launch.without_resources();
        self.launch(&json!({"type": "LAUNCH_NESTED_CONTAINER", "launch_nested_container": body}))
    }

    /// Runs a command in a DEBUG container under an *executor's* container and collects what it prints. Under
    /// a standalone container Mesos answers 404 and leaves the child running.
    pub fn launch_nested_session(&self, launch: &LaunchContainer) -> Result<SessionOutput, ApiError> {
        session::run(&self.client, launch)
    }

    /// Any call that starts a container, as JSON. Mesos answers 202 where the id is taken and starts nothing, which is
    /// an error here.
    pub fn launch(&self, body: &Value) -> Result<(), ApiError> {
        let reply = self.client.post("/api/v1", body)?;
        if reply.status == 202 {
            let text = "a container with this id is there already".to_owned();
            return accepted(
                body,
                Reply {
                    status: 202,
                    body: text,
                },
            )
            .map(drop);
        }
        accepted(body, reply).map(drop)
    }

    /// Waits, for as long as it takes, until the container is gone.
    pub fn wait_container(&self, id: &[impl AsRef<str>]) -> Result<Ended, ApiError> {
        let body = json!({"type": "WAIT_CONTAINER", "wait_container": {"container_id": container_id(id)}});
        let reply = self.client.post_with("/api/v1", &body, &[], None)?;
        accepted(&body, reply).map(|answer| Ended::from(&answer["wait_container"]))
    }

    /// Sends a signal to the container's first process; without one the container is destroyed.
    pub fn kill_container(&self, id: &[impl AsRef<str>], signal: Option<i32>) -> Result<(), ApiError> {
        let mut kill = json!({"container_id": container_id(id)});
        if let Some(signal) = signal {
            kill["signal"] = json!(signal);
        }
        self.call(&json!({"type": "KILL_CONTAINER", "kill_container": kill}))
            .map(drop)
    }

    /// Forgets a nested container that has ended and deletes its sandbox.
    ///
    /// A container without a parent is refused here: Mesos 1.11 aborts the agent when it is asked to.
    pub fn remove_nested(&self, id: &[impl AsRef<str>]) -> Result<(), ApiError> {
        if id.len() < 2 {
            return Err(ApiError::Unsafe(
                "REMOVE_CONTAINER of a container without a parent aborts the agent",
            ));
        }
        let remove = json!({"container_id": container_id(id)});
        self.call(&json!({"type": "REMOVE_CONTAINER", "remove_container": remove}))
            .map(drop)
    }

    /// Every container of the agent: executors', standalone and nested ones.
    pub fn containers(&self) -> Result<Vec<Container>, ApiError> {
        let show = json!({"show_nested": true, "show_standalone": true});
        let answer = self.call(&json!({"type": "GET_CONTAINERS", "get_containers": show}))?;
        let list = answer["get_containers"]["containers"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        Ok(list.iter().map(Container::from).collect())
    }
}

/// An answer of the 2xx kind as JSON; any other is the refusal.
fn accepted(asked: &Value, reply: Reply) -> Result<Value, ApiError> {
    if (200..300).contains(&reply.status) {
        return Ok(reply.json());
    }
    let asked = asked["type"].as_str().unwrap_or_default().to_owned();
    Err(ApiError::Refused {
        asked,
        status: reply.status,
        body: reply.body,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removing_a_container_without_a_parent_is_refused_before_it_is_sent() {
        let error = Operator::new("127.0.0.1:1").remove_nested(&["c1"]).unwrap_err();
        assert!(matches!(error, ApiError::Unsafe(_)), "{error}");
    }

    #[test]
    fn a_container_that_just_ended_is_gone_and_one_that_cannot_be_killed_is_not() {
        for (status, text, gone) in [
            (404, "Container r1 cannot be found", true),
            (500, "Unable to send signal to container: No such process", true),
            (
                500,
                "Unable to send signal to container: Operation not permitted",
                false,
            ),
            (403, "", false),
        ] {
            let body = text.to_owned();
            let error = accepted(&json!({"type": "KILL_CONTAINER"}), Reply { status, body }).unwrap_err();
            assert_eq!(error.is_gone(), gone, "{error}");
        }
    }

    #[test]
    fn a_refusal_keeps_status_and_text() {
        let reply = Reply {
            status: 400,
            body: "no gpus".to_owned(),
        };
        let error = accepted(&json!({"type": "LAUNCH_CONTAINER"}), reply).unwrap_err();
        assert_eq!((error.status(), error.body()), (Some(400), "no gpus"));
        assert_eq!(
            error.to_string(),
            "LAUNCH_CONTAINER was refused with 400: no gpus"
        );
    }
}

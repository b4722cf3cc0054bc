// SPDX-License-Identifier: Apache-2.0
//! Why: a task's life here is three calls of the agent's API (launch, wait, kill), each of which must survive an agent
//! that is away for a restart.

use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::Executor;
use crate::operator::{ApiError, Ended, container_id, container_path};

const RETRY: Duration = Duration::from_millis(300);

impl Executor {
    /// Starts the task's container and waits for its end.
    pub(super) fn run_child(
        self: &Arc<Self>,
        id: &str,
        task: &Value,
    ) -> Result<(&'static str, String), String> {
        self.connection.update(id, "TASK_STARTING", "", None);
        let path = self.child_path()?;
        let container = container_id(&path);
        if self.groups.killed(id) {
            return Ok((
                "TASK_KILLED",
                "killed before its container was started".to_owned(),
            ));
        }
        self.operator
            .launch(&launch_call(&container, task))
            .map_err(|e| format!("could not start the container: {e}"))?;
        if !self.groups.started(id, &path) {
            // A kill came while the container was not known yet.
            self.signal(&path, Signal::SIGKILL);
        }
        self.connection.update(id, "TASK_RUNNING", "", Some(&container));
        let ended = self.wait(&path)?;
        Ok(verdict(&ended, self.groups.killed(id)))
    }

    /// Ends tasks: politely, and after the grace period by force.
    pub(super) fn kill(self: &Arc<Self>, ids: Vec<String>, grace: Option<Duration>) {
        for id in ids {
            let Some((Some(path), grace)) = self.groups.mark_killed(&id, grace) else {
                continue;
            };
            let this = Arc::clone(self);
            thread::spawn(move || {
                this.signal(&path, Signal::SIGTERM);
                thread::sleep(grace);
                if this.groups.is_alive(&id) {
                    this.signal(&path, Signal::SIGKILL);
                }
            });
        }
    }

    fn signal(&self, path: &[String], signal: Signal) {
        if let Err(e) = self.operator.kill_container(path, Some(signal as i32))
            && !e.is_gone()
        {
            eprintln!("could not send {signal} to container {}: {e}", path.join("."));
        }
    }

    fn wait(&self, path: &[String]) -> Result<Ended, String> {
        loop {
            match self.operator.wait_container(path) {
                Ok(ended) => return Ok(ended),
                Err(e) if !self.checkpoint || !may_pass(&e) => {
                    return Err(format!("could not wait for the container: {e}"));
                }
                Err(_) => thread::sleep(RETRY),
            }
        }
    }

    /// A new name under the executor's own container.
    fn child_path(&self) -> Result<Vec<String>, String> {
        let own = self
            .container
            .get()
            .ok_or("agent has not said which container is the executor's")?;
        let name = fs::read_to_string("/proc/sys/kernel/random/uuid")
            .map_err(|e| format!("could not make a name for the container: {e}"))?;
        let mut path = container_path(own);
        path.push(name.trim().to_owned());
        Ok(path)
    }
}

/// An agent that restarts is unreachable first, then has a port but no such path yet, and then answers for a while that
/// it is recovering. Only a 404 that names a container means that the container is gone.
fn may_pass(error: &ApiError) -> bool {
    match error {
        ApiError::Unreachable(_) | ApiError::Cut(_) => true,
        ApiError::Refused {
            status: 404, body, ..
        } => !body.starts_with("Container"),
        ApiError::Refused { status, .. } => *status == 503,
        ApiError::Unsafe(_) => false,
    }
}

/// The task as a nested container: its command, image, cgroups and resources.
fn launch_call(container: &Value, task: &Value) -> Value {
    let mut launch =
        json!({"container_id": container, "command": task["command"], "resources": task["resources"]});
    for part in ["container", "limits"] {
        if let Some(value) = task.get(part) {
            launch[part] = value.clone();
        }
    }
    json!({"type": "LAUNCH_CONTAINER", "launch_container": launch})
}

/// The state and the message that an end makes.
fn verdict(ended: &Ended, killed: bool) -> (&'static str, String) {
    let mut message = match (ended.code(), ended.signal()) {
        (Some(code), _) => format!("command exited with status {code}"),
        (None, Some(number)) => format!("command was ended by signal {number}"),
        (None, None) => "agent does not know how the command ended".to_owned(),
    };
    for more in [&ended.reason, &ended.message].into_iter().flatten() {
        message = format!("{message}; {more}");
    }
    let state = match (killed, ended.code()) {
        (true, _) => "TASK_KILLED",
        (false, Some(0)) => "TASK_FINISHED",
        (false, _) => "TASK_FAILED",
    };
    (state, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_becomes_a_container_with_its_own_resources_and_cgroups() {
        let task = json!({
            "command": {"value": "true"},
            "resources": [{"name": "gpus", "type": "SCALAR", "scalar": {"value": 1.0}}],
            "container": {"type": "MESOS", "linux_info": {"share_cgroups": false}},
        });
        let call = launch_call(&container_id(&["top", "kid"]), &task);
        let launch = &call["launch_container"];
        assert_eq!(launch["container_id"]["parent"]["value"], "top");
        assert_eq!(launch["resources"], task["resources"]);
        assert_eq!(launch["container"], task["container"]);
        assert!(launch.get("limits").is_none());
    }

    #[test]
    fn a_restarting_agent_is_waited_for_and_a_container_that_is_gone_is_not() {
        let refused = |status, body: &str| {
            let asked = "WAIT_CONTAINER".to_owned();
            ApiError::Refused {
                asked,
                status,
                body: body.to_owned(),
            }
        };
        assert!(may_pass(&refused(404, "404 Not Found.")));
        assert!(may_pass(&refused(503, "Agent has not finished recovery")));
        assert!(!may_pass(&refused(404, "Container a.b cannot be found")));
        assert!(!may_pass(&refused(400, "")));
    }

    #[test]
    fn what_mesos_says_about_an_end_is_in_the_message() {
        let ended = Ended::from(
            &json!({"exit_status": 9, "reason": "REASON_CONTAINER_LIMITATION", "message": "sick"}),
        );
        let (state, message) = verdict(&ended, false);
        assert_eq!(state, "TASK_FAILED");
        assert_eq!(
            message,
            "command was ended by signal 9; REASON_CONTAINER_LIMITATION; sick"
        );
        assert_eq!(
            verdict(&Ended::from(&json!({"exit_status": 0})), false).0,
            "TASK_FINISHED"
        );
    }
}

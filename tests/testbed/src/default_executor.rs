// SPDX-License-Identifier: Apache-2.0
//! Why: Mesos's own `mesos-default-executor` is not in the library that the testbed runs. This one runs task groups the
//! way that one does: each task is a container nested in the executor's own, started over the agent's API with the
//! task's resources.

mod child;
mod groups;

use std::process::ExitCode;
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::executor::End;
use crate::executor::connection::{Connection, Event};
use crate::executor::identity::Identity;
use crate::operator::Operator;
use groups::Groups;

/// What every thread of the executor needs.
struct Executor {
    operator: Operator,
    connection: Arc<Connection>,
    checkpoint: bool,
    /// The executor's own container, known once the agent has said it.
    container: OnceLock<Value>,
    groups: Groups,
    end: mpsc::Sender<End>,
}

/// `mesos-default-executor`.
pub fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(End::Done) => ExitCode::SUCCESS,
        Ok(End::Stopped(why)) => {
            eprintln!("mesos-default-executor: {why}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("mesos-default-executor: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<End, String> {
    // The helpers of the launcher folder are not needed: the agent starts the containers.
    if let Some(unknown) = args.iter().find(|a| !a.starts_with("--launcher_dir=")) {
        return Err(format!(
            "flag {unknown} is not supported by the testbed's default executor"
        ));
    }
    let identity = Identity::from_environment()?;
    let grace = identity.shutdown_grace;
    let (end, ended) = mpsc::channel();
    let executor = Arc::new(Executor {
        operator: Operator::new(&identity.agent),
        checkpoint: identity.checkpoint,
        connection: Arc::new(Connection::new(identity)),
        container: OnceLock::new(),
        groups: Groups::default(),
        end: end.clone(),
    });
    let reader = Arc::clone(&executor);
    // On its own thread, for its read never returns while the agent is well.
    thread::spawn(move || {
        let why = reader.connection.run(|event| reader.take(event));
        // Nobody listens any more when the last task ended meanwhile.
        end.send(End::Stopped(why)).unwrap_or_default();
    });
    let end = ended
        .recv()
        .map_err(|_| "no thread is left to wait for".to_owned())?;
    executor.kill(executor.groups.all(), Some(grace));
    executor.groups.wait_none(grace + Duration::from_secs(1));
    Ok(end)
}

impl Executor {
    fn take(self: &Arc<Self>, event: Event) {
        match event {
            // The same container every time: a later one is no news.
            Event::Subscribed(info) => {
                self.container.get_or_init(|| info["container_id"].clone());
            }
            Event::Launch(task) => self.launch_group(vec![task]),
            Event::LaunchGroup(tasks) => self.launch_group(tasks),
            Event::Kill { task, grace } => self.kill(vec![task], grace),
        }
    }

    fn launch_group(self: &Arc<Self>, tasks: Vec<Value>) {
        for task in self.groups.add(tasks) {
            let this = Arc::clone(self);
            thread::spawn(move || this.follow(&task));
        }
    }

    /// One task from its start to its acknowledged end.
    fn follow(self: &Arc<Self>, task: &Value) {
        let id = task["task_id"]["value"].as_str().unwrap_or_default();
        let (state, message) = self
            .run_child(id, task)
            .unwrap_or_else(|why| ("TASK_FAILED", why));
        let others = self.groups.remove(id, state != "TASK_FINISHED");
        self.connection.update(id, state, &message, None);
        // A group lives and dies together.
        self.kill(others, None);
        if self.groups.is_empty() {
            self.connection.wait_acknowledged();
            // Again: a further group may have come meanwhile.
            if self.groups.is_empty() {
                // Nobody listens any more when the executor is stopping already.
                self.end.send(End::Done).unwrap_or_default();
            }
        }
    }
}

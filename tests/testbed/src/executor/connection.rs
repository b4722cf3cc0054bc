// SPDX-License-Identifier: Apache-2.0
//! Why: both executors speak to their agent the same way: events come on one stream, status updates go out as calls
//! and count only once acknowledged, and after an agent's restart everything unacknowledged is told again.

mod pending;

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::identity::Identity;
use crate::http::Client;
use crate::recordio::Records;
use pending::Pending;

const PATH: &str = "/api/v1/executor";
/// Between two attempts to reach an agent that is away.
const RETRY: Duration = Duration::from_millis(300);

/// What the agent asks for.
pub(crate) enum Event {
    /// The agent knows us; with the whole event.
    Subscribed(Value),
    /// Run a task.
    Launch(Value),
    /// Run tasks together.
    LaunchGroup(Vec<Value>),
    /// Stop a task.
    Kill {
        task: String,
        /// What the call says about the time between the two signals.
        grace: Option<Duration>,
    },
}

/// An executor's side of the talk with its agent.
#[derive(Debug)]
pub(crate) struct Connection {
    client: Client,
    identity: Identity,
    pending: Pending,
}

impl Connection {
    pub(crate) fn new(identity: Identity) -> Self {
        Self {
            client: Client::new(&identity.agent),
            identity,
            pending: Pending::default(),
        }
    }

    /// Reads events until the executor has to stop, and says why it has to.
    pub(crate) fn run(&self, mut handle: impl FnMut(Event)) -> String {
        let mut seen = Instant::now();
        loop {
            let lost = match self.subscribed(&mut handle, &mut seen) {
                Ok(stop) => return stop,
                Err(lost) => lost,
            };
            if !self.identity.checkpoint {
                return format!("agent is gone and the framework does not checkpoint: {lost}");
            }
            if seen.elapsed() > self.identity.recovery_timeout {
                return format!(
                    "agent did not come back in {:?}: {lost}",
                    self.identity.recovery_timeout
                );
            }
            thread::sleep(RETRY);
        }
    }

    /// Sends a status update and goes on sending until the agent has taken it or is gone for good.
    pub(crate) fn update(&self, task: &str, state: &str, message: &str, container: Option<&Value>) {
        let Ok((uuid, update)) = self
            .pending
            .add_update(&self.identity, task, state, message, container)
        else {
            eprintln!("no random bytes for the id of an update: {state} of task {task} is not sent");
            return;
        };
        let end = Instant::now() + self.identity.recovery_timeout;
        while self.pending.is_open(&uuid) {
            match self.call(json!({"type": "UPDATE", "update": update})) {
                Ok(()) => return,
                Err(e) if !self.identity.checkpoint || Instant::now() > end => {
                    eprintln!("{state} of task {task} was not taken: {e}");
                    return;
                }
                // The agent restarts: the next subscription carries the update too, whichever comes first.
                Err(_) => thread::sleep(RETRY),
            }
        }
    }

    /// Waits until every update is acknowledged, or until that is past hoping for.
    pub(crate) fn wait_acknowledged(&self) {
        let patience = if self.identity.checkpoint {
            self.identity.recovery_timeout
        } else {
            Duration::from_secs(5)
        };
        self.pending.wait_empty(patience);
    }

    /// One subscription: `Ok` with why to stop, `Err` with how it was lost.
    fn subscribed(&self, handle: &mut impl FnMut(Event), seen: &mut Instant) -> Result<String, String> {
        let subscribe = json!({"type": "SUBSCRIBE", "subscribe": self.pending.subscribe()});
        let authorization = self.authorization();
        let headers: Vec<(&str, &str)> = authorization
            .iter()
            .map(|a| ("Authorization", a.as_str()))
            .collect();
        let stream = self
            .client
            .stream(PATH, &self.signed(subscribe), "application/json", &headers)
            .map_err(|e| e.to_string())?;
        if stream.status != 200 {
            return Err(format!("SUBSCRIBE was answered with {}", stream.status));
        }
        let mut records = Records::new(stream.reader);
        loop {
            let record = records.next_record().map_err(|e| e.to_string())?;
            let record = record.ok_or("the agent closed the connection")?;
            *seen = Instant::now();
            let event: Value =
                serde_json::from_slice(&record).map_err(|e| format!("event is not JSON: {e}"))?;
            if let Some(stop) = self.take(event, handle) {
                return Ok(stop);
            }
        }
    }

    fn take(&self, mut event: Value, handle: &mut impl FnMut(Event)) -> Option<String> {
        match event["type"].as_str().unwrap_or_default() {
            "SUBSCRIBED" => handle(Event::Subscribed(event["subscribed"].take())),
            "LAUNCH" => {
                let task = event["launch"]["task"].take();
                self.pending.add_task(&task);
                handle(Event::Launch(task));
            }
            "LAUNCH_GROUP" => {
                let tasks = event["launch_group"]["task_group"]["tasks"].take();
                let tasks = tasks.as_array().cloned().unwrap_or_default();
                tasks.iter().for_each(|task| self.pending.add_task(task));
                handle(Event::LaunchGroup(tasks));
            }
            "KILL" => {
                let kill = &event["kill"];
                handle(Event::Kill {
                    task: kill["task_id"]["value"].as_str().unwrap_or_default().to_owned(),
                    grace: kill_grace(kill),
                });
            }
            "ACKNOWLEDGED" => self.pending.acknowledged(&event["acknowledged"]),
            "SHUTDOWN" => return Some("told to shut down".to_owned()),
            "ERROR" => return Some(format!("agent refused: {}", event["error"]["message"])),
            // Heartbeats and framework messages.
            _ => {}
        }
        None
    }

    fn call(&self, body: Value) -> Result<(), String> {
        let authorization = self.authorization();
        let headers: Vec<(&str, &str)> = authorization
            .iter()
            .map(|a| ("Authorization", a.as_str()))
            .collect();
        let limit = Some(Duration::from_secs(10));
        let reply = self
            .client
            .post_with(PATH, &self.signed(body), &headers, limit)
            .map_err(|e| e.to_string())?;
        if reply.status == 202 {
            Ok(())
        } else {
            Err(format!("answered with {}: {}", reply.status, reply.body))
        }
    }

    fn authorization(&self) -> Option<String> {
        self.identity
            .token
            .as_ref()
            .map(|token| format!("Bearer {token}"))
    }

    fn signed(&self, mut body: Value) -> Value {
        body["framework_id"] = json!({"value": self.identity.framework_id});
        body["executor_id"] = json!({"value": self.identity.executor_id});
        body
    }
}

/// What a task or a kill says about the time between its two signals.
pub(crate) fn kill_grace(of: &Value) -> Option<Duration> {
    of["kill_policy"]["grace_period"]["nanoseconds"]
        .as_u64()
        .map(Duration::from_nanos)
}

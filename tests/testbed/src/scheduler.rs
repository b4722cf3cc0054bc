// SPDX-License-Identifier: Apache-2.0
//! Why: only a framework gets offers and starts tasks. This is a small one over the master's v1 scheduler API,
//! for tests, the demo and `mesos-execute`.
//!
//! A background thread reads the master's events, acknowledges status updates and keeps them; the methods wait on
//! what it keeps. When the master ends the stream the framework stays ended: subscribe again with the same
//! [`FrameworkOptions::id`] to fail over.

mod error;
mod events;
mod offer;
mod options;
mod task;
mod update;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub use error::SchedulerError;
pub use offer::Offer;
pub use options::FrameworkOptions;
pub use task::{DEFAULT_EXECUTOR, ExecutorSpec, Task};
pub use update::TaskUpdate;

use crate::http::Client;
use events::Inbox;

const PATH: &str = "/api/v1/scheduler";

/// A framework that is subscribed to a master.
#[derive(Debug)]
pub struct Framework {
    client: Client,
    id: String,
    stream_id: String,
    inbox: Arc<Inbox>,
    /// Where `next_update` goes on in the list of all updates.
    seen: usize,
}

impl Framework {
    /// Subscribes to the master at `host:port` and returns when it has given the framework its id.
    pub fn subscribe(
        master: impl std::fmt::Display,
        options: &FrameworkOptions,
    ) -> Result<Self, SchedulerError> {
        let client = Client::new(master);
        let body = options.subscribe_call();
        let stream = client.stream(PATH, &body, "application/json", &[])?;
        let (id, stream_id, records) = events::open(stream)?;
        let inbox = Arc::new(Inbox::default());
        let reader = events::Reader {
            client: client.clone(),
            id: id.clone(),
            stream_id: stream_id.clone(),
            inbox: Arc::clone(&inbox),
        };
        thread::spawn(move || reader.run(records));
        Ok(Self {
            client,
            id,
            stream_id,
            inbox,
            seen: 0,
        })
    }

    /// The id that the master gave.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The next offer that is still good.
    pub fn next_offer(&self, timeout: Duration) -> Result<Offer, SchedulerError> {
        self.inbox
            .wait(timeout, "an offer", |kept| kept.offers.pop_front())
    }

    /// All offers that are still good, without waiting.
    pub fn take_offers(&self) -> Vec<Offer> {
        self.inbox.change(|kept| kept.offers.drain(..).collect())
    }

    /// How many `OFFERS` events came, each of which is one decision of the master's allocator.
    pub fn offer_events(&self) -> usize {
        self.inbox.look(|kept| kept.offer_events)
    }

    /// Why the master ended the stream, if it did.
    pub fn ended(&self) -> Option<String> {
        self.inbox.look(|kept| kept.ended.clone())
    }

    /// The next offer that has at least these regular amounts; smaller ones are declined on the way.
    pub fn offer_with(&self, amounts: &[(&str, f64)], timeout: Duration) -> Result<Offer, SchedulerError> {
        let wanted: Vec<String> = amounts
            .iter()
            .map(|(name, value)| format!("{name}:{value}"))
            .collect();
        let what = format!("an offer of {}", wanted.join(";"));
        let end = Instant::now() + timeout;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let offer = self.inbox.wait(left, &what, |kept| kept.offers.pop_front())?;
            if amounts.iter().all(|(name, value)| offer.amount(name) >= *value) {
                return Ok(offer);
            }
            self.decline(&offer, 0.1)?;
        }
    }

    /// The next request to leave an agent that is to be maintained, as the master sent it.
    pub fn next_inverse_offer(&self, timeout: Duration) -> Result<Value, SchedulerError> {
        let take = |kept: &mut events::Kept| kept.inverse_offers.pop_front();
        self.inbox.wait(timeout, "an inverse offer", take)
    }

    /// Accepts offers of one agent with any operations. What is left is refused for `refuse_seconds`.
    pub fn accept(
        &self,
        offers: &[&Offer],
        operations: Vec<Value>,
        refuse_seconds: f64,
    ) -> Result<(), SchedulerError> {
        let ids: Vec<Value> = offers.iter().map(|o| json!({"value": o.id()})).collect();
        let filters = json!({"refuse_seconds": refuse_seconds});
        let accept = json!({"offer_ids": ids, "operations": operations, "filters": filters});
        self.call("ACCEPT", "accept", accept)
    }

    /// Starts tasks on an offer.
    pub fn launch(&self, offer: &Offer, tasks: &[Task]) -> Result<(), SchedulerError> {
        let infos: Vec<Value> = tasks.iter().map(|t| t.info(offer, &self.id)).collect();
        self.accept(
            &[offer],
            vec![json!({"type": "LAUNCH", "launch": {"task_infos": infos}})],
            0.0,
        )
    }

    /// Starts a task group on an offer; the executor is normally [`ExecutorSpec::default_executor`].
    pub fn launch_group(
        &self,
        offer: &Offer,
        executor: &ExecutorSpec,
        tasks: &[Task],
    ) -> Result<(), SchedulerError> {
        let infos: Vec<Value> = tasks.iter().map(|t| t.info(offer, &self.id)).collect();
        let group = json!({"executor": executor.info(offer, &self.id), "task_group": {"tasks": infos}});
        self.accept(
            &[offer],
            vec![json!({"type": "LAUNCH_GROUP", "launch_group": group})],
            0.0,
        )
    }

    /// Declines an offer for `refuse_seconds`.
    pub fn decline(&self, offer: &Offer, refuse_seconds: f64) -> Result<(), SchedulerError> {
        let filters = json!({"refuse_seconds": refuse_seconds});
        self.call(
            "DECLINE",
            "decline",
            json!({"offer_ids": [{"value": offer.id()}], "filters": filters}),
        )
    }

    /// Forgets all filters, so that offers come at once.
    pub fn revive(&self) -> Result<(), SchedulerError> {
        self.call("REVIVE", "revive", json!({}))
    }

    /// Asks for no more offers, in all roles, until it is revived.
    pub fn suppress(&self) -> Result<(), SchedulerError> {
        self.call("SUPPRESS", "suppress", json!({}))
    }

    /// Asks for a task to be killed.
    pub fn kill(&self, task: &str, agent_id: &str) -> Result<(), SchedulerError> {
        let kill = json!({"task_id": {"value": task}, "agent_id": {"value": agent_id}});
        self.call("KILL", "kill", kill)
    }

    /// The next status update that this method has not returned yet.
    pub fn next_update(&mut self, timeout: Duration) -> Result<TaskUpdate, SchedulerError> {
        let seen = self.seen;
        let update = self
            .inbox
            .wait(timeout, "a status update", |kept| kept.updates.get(seen).cloned())?;
        self.seen += 1;
        Ok(update)
    }

    /// All status updates so far.
    pub fn updates(&self) -> Vec<TaskUpdate> {
        self.inbox.look(|kept| kept.updates.clone())
    }

    /// The `FAILURE` events so far: executors that ended and agents that went away.
    pub fn failures(&self) -> Vec<Value> {
        self.inbox.look(|kept| kept.failures.clone())
    }

    /// Waits until a task has been in `state`, whether before this call or after it. Ends early with an error
    /// when the task ends in another state.
    pub fn wait_state(
        &self,
        task: &str,
        state: &str,
        timeout: Duration,
    ) -> Result<TaskUpdate, SchedulerError> {
        let what = format!("{state} of task {task}");
        let update = self.inbox.wait(timeout, &what, |kept| {
            let mut of_task = kept.updates.iter().filter(|u| u.task == task);
            of_task.find(|u| u.state == state || u.is_terminal()).cloned()
        })?;
        if update.state == state {
            Ok(update)
        } else {
            Err(SchedulerError::EndedAs {
                what,
                update: Box::new(update),
            })
        }
    }

    /// Waits until anything was said of a task, whether before this call or after it.
    pub fn wait_update(&self, task: &str, timeout: Duration) -> Result<TaskUpdate, SchedulerError> {
        let what = format!("an update of task {task}");
        self.inbox.wait(timeout, &what, |kept| {
            kept.updates.iter().find(|u| u.task == task).cloned()
        })
    }

    /// Waits until a task has ended, whether before this call or after it.
    pub fn wait_terminal(&self, task: &str, timeout: Duration) -> Result<TaskUpdate, SchedulerError> {
        self.inbox
            .wait(timeout, &format!("the end of task {task}"), |kept| {
                kept.updates
                    .iter()
                    .find(|u| u.task == task && u.is_terminal())
                    .cloned()
            })
    }

    /// Ends the framework; the master kills its tasks and executors.
    pub fn teardown(&self) -> Result<(), SchedulerError> {
        events::post(
            &self.client,
            &self.stream_id,
            &json!({"type": "TEARDOWN", "framework_id": {"value": self.id}}),
        )
    }

    /// Any call of the scheduler API: its type, and the field with its body.
    pub fn call(&self, kind: &str, field: &str, body: Value) -> Result<(), SchedulerError> {
        let mut call = json!({"type": kind, "framework_id": {"value": self.id}});
        call[field] = body;
        events::post(&self.client, &self.stream_id, &call)
    }
}

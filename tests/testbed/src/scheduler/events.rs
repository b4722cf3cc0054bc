// SPDX-License-Identifier: Apache-2.0
//! Why: the master's events come whenever it likes; they are read on one thread, put in order, and waited for on
//! others.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Offer, PATH, SchedulerError, TaskUpdate};
use crate::http::{Client, Stream};
use crate::recordio::Records;

type EventRecords = Records<Box<dyn Read + Send>>;

/// What came from the master and has not been taken, or is kept for good.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) offers: VecDeque<Offer>,
    pub(super) inverse_offers: VecDeque<Value>,
    pub(super) updates: Vec<TaskUpdate>,
    pub(super) failures: Vec<Value>,
    pub(super) offer_events: usize,
    pub(super) ended: Option<String>,
}

/// Where the reading thread puts events and others wait for them.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    kept: Mutex<Kept>,
    changed: Condvar,
}

impl Inbox {
    /// Waits until `take` finds what it looks for.
    pub(super) fn wait<T>(
        &self,
        timeout: Duration,
        what: &str,
        mut take: impl FnMut(&mut Kept) -> Option<T>,
    ) -> Result<T, SchedulerError> {
        let end = Instant::now() + timeout;
        let mut kept = self.lock();
        loop {
            if let Some(found) = take(&mut kept) {
                return Ok(found);
            }
            if let Some(why) = &kept.ended {
                return Err(SchedulerError::Ended {
                    what: what.to_owned(),
                    why: why.clone(),
                });
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(SchedulerError::TimedOut {
                    what: what.to_owned(),
                    seconds: timeout.as_secs_f64(),
                });
            }
            kept = self
                .changed
                .wait_timeout(kept, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Looks without waiting.
    pub(super) fn look<T>(&self, see: impl FnOnce(&Kept) -> T) -> T {
        see(&self.lock())
    }

    /// Takes without waiting.
    pub(super) fn change<T>(&self, take: impl FnOnce(&mut Kept) -> T) -> T {
        take(&mut self.lock())
    }

    fn put(&self, change: impl FnOnce(&mut Kept)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// What is kept is valid after every single change, so a panicked holder leaves nothing half done.
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the first event: the framework's id and the stream's.
pub(super) fn open(mut stream: Stream) -> Result<(String, String, EventRecords), SchedulerError> {
    if stream.status != 200 {
        let mut body = String::new();
        if let Err(e) = stream.reader.read_to_string(&mut body) {
            body = format!("(unreadable: {e})");
        }
        return Err(SchedulerError::Refused {
            asked: "SUBSCRIBE".to_owned(),
            status: stream.status,
            body,
        });
    }
    let bad = |why: String| SchedulerError::BadStart(why);
    let stream_id = stream
        .stream_id
        .ok_or_else(|| bad("the answer has no Mesos-Stream-Id".to_owned()))?;
    let mut records = Records::new(stream.reader);
    let first = match records.next_record() {
        Ok(Some(first)) => first,
        Ok(None) => return Err(bad("the stream ended at once".to_owned())),
        Err(e) => return Err(bad(e.to_string())),
    };
    let event: Value = serde_json::from_slice(&first).map_err(|e| bad(format!("event is not JSON: {e}")))?;
    match event["subscribed"]["framework_id"]["value"].as_str() {
        Some(id) => Ok((id.to_owned(), stream_id, records)),
        None => Err(bad(format!("the first event is {event}"))),
    }
}

/// One call of a subscribed framework.
pub(super) fn post(client: &Client, stream_id: &str, call: &Value) -> Result<(), SchedulerError> {
    let headers = [("Mesos-Stream-Id", stream_id)];
    let reply = client.post_with(PATH, call, &headers, Some(Duration::from_secs(30)))?;
    // 202 is the answer to all calls but those about operations, which this framework does not make.
    if (200..300).contains(&reply.status) {
        return Ok(());
    }
    let asked = call["type"].as_str().unwrap_or_default().to_owned();
    Err(SchedulerError::Refused {
        asked,
        status: reply.status,
        body: reply.body,
    })
}

/// The thread that reads.
pub(super) struct Reader {
    pub(super) client: Client,
    pub(super) id: String,
    pub(super) stream_id: String,
    pub(super) inbox: Arc<Inbox>,
}

impl Reader {
    pub(super) fn run(self, mut records: EventRecords) {
        let why = loop {
            match records.next_record() {
                Ok(Some(record)) => match serde_json::from_slice::<Value>(&record) {
                    Ok(mut event) => {
                        if let Some(why) = self.take(&mut event) {
                            break why;
                        }
                    }
                    Err(e) => break format!("event is not JSON: {e}"),
                },
                Ok(None) => break "connection closed".to_owned(),
                Err(e) => break e.to_string(),
            }
        };
        self.inbox.put(|kept| kept.ended = Some(why));
    }

    /// Keeps one event; a reason to stop ends the stream.
    fn take(&self, event: &mut Value) -> Option<String> {
        match event["type"].as_str().unwrap_or_default() {
            "OFFERS" => {
                let offers = event["offers"]["offers"].take();
                if let Value::Array(list) = offers {
                    self.inbox.put(|kept| {
                        kept.offer_events += 1;
                        kept.offers.extend(list.into_iter().map(Offer::from));
                    });
                }
            }
            "INVERSE_OFFERS" => {
                let offers = event["inverse_offers"]["inverse_offers"].take();
                if let Value::Array(list) = offers {
                    self.inbox.put(|kept| kept.inverse_offers.extend(list));
                }
            }
            "RESCIND" => {
                let id = event["rescind"]["offer_id"]["value"].as_str().unwrap_or_default();
                self.inbox.put(|kept| kept.offers.retain(|o| o.id() != id));
            }
            "UPDATE" => {
                let status = event["update"]["status"].take();
                self.acknowledge(&status);
                self.inbox.put(|kept| kept.updates.push(TaskUpdate::from(status)));
            }
            "FAILURE" => {
                let failure = event["failure"].take();
                self.inbox.put(|kept| kept.failures.push(failure));
            }
            "ERROR" => {
                return Some(
                    event["error"]["message"]
                        .as_str()
                        .unwrap_or("no message")
                        .to_owned(),
                );
            }
            // Heartbeats and messages: nothing waits for them.
            _ => {}
        }
        None
    }

    fn acknowledge(&self, status: &Value) {
        // An update that the master made itself has no uuid and wants no answer.
        if status.get("uuid").is_none() {
            return;
        }
        let acknowledge =
            json!({"agent_id": status["agent_id"], "task_id": status["task_id"], "uuid": status["uuid"]});
        let call =
            json!({"type": "ACKNOWLEDGE", "framework_id": {"value": self.id}, "acknowledge": acknowledge});
        if let Err(e) = post(&self.client, &self.stream_id, &call) {
            // The agent sends the update again, so this is late, not lost.
            eprintln!(
                "could not acknowledge an update of task {}: {e}",
                status["task_id"]["value"]
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader() -> Reader {
        Reader {
            client: Client::new("127.0.0.1:1"),
            id: "f".to_owned(),
            stream_id: "s".to_owned(),
            inbox: Arc::default(),
        }
    }

    #[test]
    fn a_rescinded_offer_is_never_handed_out() {
        let reader = reader();
        let offers = json!([{"id": {"value": "a"}}, {"id": {"value": "b"}}]);
        reader.take(&mut json!({"type": "OFFERS", "offers": {"offers": offers}}));
        reader.take(&mut json!({"type": "RESCIND", "rescind": {"offer_id": {"value": "a"}}}));
        let next = reader
            .inbox
            .wait(Duration::ZERO, "an offer", |kept| kept.offers.pop_front())
            .unwrap();
        assert_eq!(next.id(), "b");
    }

    #[test]
    fn waiting_ends_with_what_was_waited_for() {
        let error = reader()
            .inbox
            .wait(Duration::ZERO, "an offer", |_| None::<()>)
            .unwrap_err();
        assert_eq!(error.to_string(), "an offer did not come within 0 s");
    }

    #[test]
    fn an_error_event_ends_the_stream_with_its_message() {
        let reader = reader();
        let why = reader.take(&mut json!({"type": "ERROR", "error": {"message": "framework failed over"}}));
        assert_eq!(why.as_deref(), Some("framework failed over"));
    }

    #[test]
    fn an_update_without_a_uuid_is_kept_and_not_answered() {
        let reader = reader();
        let status = json!({"task_id": {"value": "t"}, "state": "TASK_LOST"});
        reader.take(&mut json!({"type": "UPDATE", "update": {"status": status}}));
        assert_eq!(reader.inbox.look(|kept| kept.updates.len()), 1);
    }
}

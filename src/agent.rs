// SPDX-License-Identifier: Apache-2.0
//! The one thread that owns the state of an agent: inventory, ledger, containers.
//!
//! Mesos calls from many threads at once and must never be kept waiting, so each call becomes a job for this thread and
//! returns. Jobs run in the order in which they came, one at a time; what needs time (a slow driver, a GPU that is being
//! released) is asked elsewhere or put off, and comes back as another job.

pub mod board;
pub mod calls;
pub mod corrections;
pub mod discovery;
pub mod eviction;
pub mod health;
pub mod machine;
pub mod mailbox;
pub mod metrics;
pub mod oversubscribable;
pub mod products;
pub mod release;
pub mod reply;
pub mod sampling;
pub mod settings;
pub mod state;
pub mod timers;
pub mod told;
pub mod waiting;

use crate::agent::calls::Calls;
use crate::agent::mailbox::{Inbox, Mailbox};
use crate::agent::reply::Reply;
use crate::agent::state::State;
use crate::error::Error;
use std::any::Any;
use std::sync::Arc;
use std::thread;

/// A handle to the agent thread. The thread ends when the last handle is gone.
#[derive(Clone, Debug)]
pub struct Agent {
    mailbox: Mailbox,
    calls: Calls,
    _life: Arc<Life>,
}

/// Ends the thread with the last handle: the thread's own state can post to it, so it would never end by itself.
#[derive(Debug)]
struct Life(Mailbox);

impl Drop for Life {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Agent {
    /// Starts the thread with this state, whose mailbox leads to this inbox.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(mut state: State, inbox: Inbox) -> Result<Self, Error> {
        let (mailbox, calls) = (state.mailbox.clone(), state.calls.clone());
        thread::Builder::new()
            .name("mesos-gpu".to_owned())
            .spawn(move || inbox.work(&mut state))
            .map_err(|e| Error::machine(format!("cannot start the agent thread: {e}")))?;
        Ok(Self {
            _life: Arc::new(Life(mailbox.clone())),
            mailbox,
            calls,
        })
    }

    /// Counts a call of Mesos that comes now, and its answer when that is given through the reply that comes back.
    pub fn counted<T: 'static>(&self, entry: &'static str, reply: Reply<T>) -> Reply<T> {
        self.calls.counted(entry, reply)
    }

    /// Runs `verb` on the agent thread. Whatever becomes of it, the reply is answered: a panic in the verb is a failure
    /// with the panic's text, and poisons the component (see [`State::poison`]).
    pub fn submit<T: 'static>(
        &self,
        entry: &'static str,
        reply: Reply<T>,
        verb: impl FnOnce(&mut State, Reply<T>) + Send + 'static,
    ) {
        let mine = reply.clone();
        let job = move |state: &mut State| {
            let for_verb = reply.clone();
            if let Err(error) = state.guarded(entry, |state| verb(state, for_verb)) {
                reply.fail(&error);
            }
        };
        if !self.mailbox.put(Box::new(job)) {
            mine.fail(&Error::defect(format!("{entry}: the agent thread is gone")));
        }
    }

    /// Runs a job that nobody waits for; a panic in it is logged and poisons like any other.
    pub fn post(&self, entry: &'static str, job: impl FnOnce(&mut State) + Send + 'static) {
        self.mailbox.post(entry, job);
    }
}

/// What a panic said.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a text")
}

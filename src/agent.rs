// SPDX-License-Identifier: Apache-2.0
//! The one thread that owns the state of an agent: inventory, ledger, containers.
//!
//! Mesos calls from many threads at once and must never be kept waiting, so each call becomes a job for this thread and
//! returns. Jobs run in the order in which they came, one at a time; what needs time (a slow driver) is asked elsewhere
//! and comes back as another job.

pub mod discovery;
pub mod machine;
pub mod reply;
pub mod state;

use crate::agent::reply::Reply;
use crate::agent::state::State;
use crate::error::Error;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

type Job = Box<dyn FnOnce(&mut State) + Send>;

/// A handle to the agent thread. The thread ends when the last handle is gone.
#[derive(Clone)]
pub struct Agent {
    jobs: Sender<Job>,
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Agent")
    }
}

impl Agent {
    /// Starts the thread with this state.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(mut state: State) -> Result<Self, Error> {
        let (jobs, inbox): (Sender<Job>, Receiver<Job>) = channel();
        thread::Builder::new()
            .name("mesos-gpu".to_owned())
            .spawn(move || {
                for job in inbox {
                    job(&mut state);
                }
            })
            .map_err(|e| Error::machine(format!("cannot start the agent thread: {e}")))?;
        Ok(Self { jobs })
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
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| verb(state, for_verb))) {
                let reason = format!("{entry} panicked: {}", panic_text(panic.as_ref()));
                log::error!("{reason}");
                state.poison(&reason);
                reply.fail(&Error::defect(reason));
            }
        };
        if self.jobs.send(Box::new(job)).is_err() {
            mine.fail(&Error::defect(format!("{entry}: the agent thread is gone")));
        }
    }

    /// Runs a job that nobody waits for; a panic in it is logged and poisons like any other.
    pub fn post(&self, entry: &'static str, job: impl FnOnce(&mut State) + Send + 'static) {
        self.submit(entry, Reply::<()>::unheard(), move |state, _| job(state));
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

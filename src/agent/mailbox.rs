// SPDX-License-Identifier: Apache-2.0
//! The way to the agent thread: from Mesos's threads, from NVML's, and from the agent thread to itself.

use crate::agent::state::State;
use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Instant;

/// Work for the agent thread.
pub type Job = Box<dyn FnOnce(&mut State) + Send>;

enum Letter {
    Job(Job),
    Stop,
}

/// Where jobs are put. Clones lead to the same thread.
#[derive(Clone)]
pub struct Mailbox {
    letters: Sender<Letter>,
}

/// Where the agent thread takes them out.
pub struct Inbox {
    letters: Receiver<Letter>,
}

/// A mailbox and its inbox.
pub fn mailbox() -> (Mailbox, Inbox) {
    let (sender, receiver) = channel();
    (Mailbox { letters: sender }, Inbox { letters: receiver })
}

impl Mailbox {
    /// Puts a job whose panic is logged and poisons the books. False when the thread is gone.
    pub fn post(&self, entry: &'static str, job: impl FnOnce(&mut State) + Send + 'static) -> bool {
        self.put(Box::new(move |state: &mut State| {
            // Logged and noted there; nobody waits for an answer.
            let _ = state.guarded(entry, job);
        }))
    }

    pub(super) fn put(&self, job: Job) -> bool {
        self.letters.send(Letter::Job(job)).is_ok()
    }

    pub(super) fn stop(&self) {
        // A thread that is gone need not be stopped.
        let _ = self.letters.send(Letter::Stop);
    }
}

impl Inbox {
    /// Runs jobs and timers until it is told to stop.
    pub(super) fn work(&self, state: &mut State) {
        loop {
            let letter = match state.next_due() {
                None => self.letters.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => self
                    .letters
                    .recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            match letter {
                Ok(Letter::Job(job)) => job(state),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Letter::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
            state.run_due(Instant::now());
        }
    }

    /// Runs the jobs that are there, without a thread, and tells how many there were: for tests of the books.
    pub fn drain(&self, state: &mut State) -> usize {
        let mut count = 0;
        while let Ok(Letter::Job(job)) = self.letters.try_recv() {
            job(state);
            count += 1;
        }
        count
    }
}

impl fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mailbox")
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inbox")
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Times the worker's calls and answers for it, so that whoever asked hears something even when NVML never returns.

use crate::ports::nvml::{Done, NvmlFailure, Survey};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// What the supervisor hears.
pub(super) enum Message {
    /// Someone asks for a survey.
    Asked(Done<Survey>),
    /// The worker is about to make a call.
    Calling {
        /// NVML's function.
        call: String,
        /// When.
        at: Instant,
    },
    /// The worker is back.
    Finished(Result<Survey, NvmlFailure>),
    /// Nobody will ask again.
    Closed,
}

/// Where the worker is.
enum State {
    /// Waiting for a job.
    Idle,
    /// In a call that is in time, for these.
    Busy {
        call: String,
        since: Instant,
        asked: Vec<Done<Survey>>,
    },
    /// In a call that is past its time, for nobody.
    Stuck { call: String, since: Instant },
}

/// The worker's supervisor.
pub(super) struct Supervisor {
    jobs: Sender<()>,
    abandoned: Arc<AtomicBool>,
    limit: Duration,
    state: State,
    /// Asked while a survey was under way. They share the next one: what is under way may be older than their question.
    waiting: Vec<Done<Survey>>,
    closed: bool,
}

impl Supervisor {
    /// Supervises a worker that makes one survey for each of `jobs`, and gives up where `abandoned` is set.
    pub fn new(jobs: Sender<()>, abandoned: Arc<AtomicBool>, limit: Duration) -> Self {
        Self {
            jobs,
            abandoned,
            limit,
            state: State::Idle,
            waiting: Vec::new(),
            closed: false,
        }
    }

    /// Works until it is closed and everyone has an answer.
    pub fn run(mut self, messages: &Receiver<Message>) {
        while !self.closed || matches!(self.state, State::Busy { .. }) {
            match self.next(messages) {
                Ok(Message::Asked(done)) => self.asked(done),
                Ok(Message::Calling { call, at }) => self.calling(call, at),
                Ok(Message::Finished(result)) => self.finished(result),
                Ok(Message::Closed) => self.closed = true,
                Err(RecvTimeoutError::Timeout) => self.out_of_time(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn next(&self, messages: &Receiver<Message>) -> Result<Message, RecvTimeoutError> {
        match &self.state {
            // A message that is already there is taken even when the time is over: the call may have returned.
            State::Busy { since, .. } => messages.recv_timeout(self.limit.saturating_sub(since.elapsed())),
            State::Idle | State::Stuck { .. } => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }

    fn asked(&mut self, done: Done<Survey>) {
        match &self.state {
            State::Idle => self.begin(vec![done]),
            State::Busy { .. } => self.waiting.push(done),
            State::Stuck { call, since } => {
                answer(
                    done,
                    Err(NvmlFailure::Stuck {
                        call: call.clone(),
                        since: since.elapsed(),
                    }),
                );
            }
        }
    }

    fn begin(&mut self, asked: Vec<Done<Survey>>) {
        self.abandoned.store(false, Ordering::SeqCst);
        let call = "the thread for NVML".to_owned();
        if self.jobs.send(()).is_ok() {
            self.state = State::Busy {
                call,
                since: Instant::now(),
                asked,
            };
        } else {
            answer_all(
                asked,
                &Err(NvmlFailure::Call {
                    call,
                    reason: "it is gone".to_owned(),
                }),
            );
        }
    }

    fn calling(&mut self, name: String, at: Instant) {
        match &mut self.state {
            // A stuck worker that came back just before it was given up can be in its next call.
            State::Busy { call, since, .. } | State::Stuck { call, since } => (*call, *since) = (name, at),
            State::Idle => {}
        }
    }

    fn finished(&mut self, result: Result<Survey, NvmlFailure>) {
        if let State::Busy { asked, .. } = std::mem::replace(&mut self.state, State::Idle) {
            answer_all(asked, &result);
        }
        let waiting = std::mem::take(&mut self.waiting);
        if !waiting.is_empty() {
            self.begin(waiting);
        }
    }

    fn out_of_time(&mut self) {
        self.abandoned.store(true, Ordering::SeqCst);
        if let State::Busy { call, since, asked } = std::mem::replace(&mut self.state, State::Idle) {
            answer_all(
                asked,
                &Err(NvmlFailure::Timeout {
                    call: call.clone(),
                    limit: self.limit,
                }),
            );
            let stuck = Err(NvmlFailure::Stuck {
                call: call.clone(),
                since: since.elapsed(),
            });
            answer_all(std::mem::take(&mut self.waiting), &stuck);
            self.state = State::Stuck { call, since };
        }
    }
}

fn answer_all(asked: Vec<Done<Survey>>, result: &Result<Survey, NvmlFailure>) {
    for done in asked {
        answer(done, result.clone());
    }
}

/// Answers; a receiver that panics must not take the supervisor with it.
fn answer(done: Done<Survey>, result: Result<Survey, NvmlFailure>) {
    if catch_unwind(AssertUnwindSafe(|| done(result))).is_err() {
        log::error!("a receiver of NVML's survey panicked");
    }
}

#[cfg(test)]
#[path = "supervisor_tests.rs"]
mod tests;

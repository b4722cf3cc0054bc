// SPDX-License-Identifier: Apache-2.0
//! Times the worker's calls and answers for it, so that whoever asked hears something even when NVML never returns.

use crate::ports::nvml::NvmlFailure;
use crate::system::nvml::question::{Found, Job, Question};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// What the supervisor hears.
pub(super) enum Message {
    /// Someone asks.
    Asked(Question),
    /// The worker is about to make a call.
    Calling {
        /// NVML's function.
        call: String,
        /// When.
        at: Instant,
    },
    /// The worker is back.
    Finished(Result<Found, NvmlFailure>),
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
        asked: Vec<Question>,
    },
    /// In a call that is past its time, for nobody.
    Stuck { call: String, since: Instant },
}

/// The worker's supervisor.
pub(super) struct Supervisor {
    jobs: Sender<Job>,
    abandoned: Arc<AtomicBool>,
    limit: Duration,
    state: State,
    /// Asked while a job was under way, in the order in which they came. Those who ask the same share the next one: what is
    /// under way may be older than their question.
    waiting: Vec<Question>,
    closed: bool,
}

impl Supervisor {
    /// Supervises a worker that does one after the other of `jobs`, and gives up where `abandoned` is set.
    pub fn new(jobs: Sender<Job>, abandoned: Arc<AtomicBool>, limit: Duration) -> Self {
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

    fn asked(&mut self, question: Question) {
        match &self.state {
            State::Idle => self.begin(vec![question]),
            State::Busy { .. } => self.waiting.push(question),
            State::Stuck { call, since } => question.answer(&Err(NvmlFailure::Stuck {
                call: call.clone(),
                since: since.elapsed(),
            })),
        }
    }

    /// Begins a job for these, who all ask the same.
    fn begin(&mut self, asked: Vec<Question>) {
        let Some(job) = asked.first().map(Question::job) else {
            return;
        };
        self.abandoned.store(false, Ordering::SeqCst);
        let call = "the thread for NVML".to_owned();
        if self.jobs.send(job).is_ok() {
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

    fn finished(&mut self, result: Result<Found, NvmlFailure>) {
        if let State::Busy { asked, .. } = std::mem::replace(&mut self.state, State::Idle) {
            answer_all(asked, &result);
        }
        // A worker that is gone fails those in front, and then it is the turn of the others.
        while let (State::Idle, Some(job)) = (&self.state, self.waiting.first().map(Question::job)) {
            let next = self
                .waiting
                .extract_if(.., |question| question.job() == job)
                .collect();
            self.begin(next);
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

fn answer_all(asked: Vec<Question>, told: &Result<Found, NvmlFailure>) {
    for question in asked {
        question.answer(told);
    }
}

#[cfg(test)]
#[path = "supervisor_tests.rs"]
mod tests;

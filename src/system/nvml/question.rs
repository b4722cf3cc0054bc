// SPDX-License-Identifier: Apache-2.0
//! What the thread for NVML can be asked, each with its own answer, so that one supervisor and one worker serve all.

use crate::domain::estimate::Sample;
use crate::ports::nvml::{Done, NvmlFailure, Survey};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What the worker has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Job {
    /// Ask who is there and how it is.
    Survey,
    /// Ask how much is used.
    Sample,
}

/// What it found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// For [`Job::Survey`].
    Survey(Survey),
    /// For [`Job::Sample`].
    Sample(Sample),
}

/// Someone who waits for an answer.
pub(super) enum Question {
    /// Wants a survey.
    Survey(Done<Survey>),
    /// Wants a sample.
    Sample(Done<Sample>),
}

impl Question {
    /// What has to be done for it.
    pub fn job(&self) -> Job {
        match self {
            Question::Survey(_) => Job::Survey,
            Question::Sample(_) => Job::Sample,
        }
    }

    /// Answers; a receiver that panics must not take the supervisor with it.
    pub fn answer(self, told: &Result<Found, NvmlFailure>) {
        let answered = catch_unwind(AssertUnwindSafe(|| match (self, told) {
            (Question::Survey(done), Ok(Found::Survey(survey))) => done(Ok(survey.clone())),
            (Question::Sample(done), Ok(Found::Sample(sample))) => done(Ok(sample.clone())),
            (question, Err(failure)) => question.fail(failure.clone()),
            (question, Ok(_)) => question.fail(NvmlFailure::Call {
                call: "the thread for NVML".to_owned(),
                reason: "it answered another question".to_owned(),
            }),
        }));
        if answered.is_err() {
            log::error!("a receiver of NVML's answer panicked");
        }
    }

    /// Answers that there is no answer.
    pub fn fail(self, failure: NvmlFailure) {
        match self {
            Question::Survey(done) => done(Err(failure)),
            Question::Sample(done) => done(Err(failure)),
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Why: a test must tell "nothing came" from "the master said no" from "the task ended otherwise".

use std::fmt;

use super::TaskUpdate;
use crate::http::HttpError;

/// Why the framework could not do or get what it wanted.
#[derive(Debug)]
pub enum SchedulerError {
    /// The master refused a call.
    Refused {
        /// The call.
        asked: String,
        /// HTTP status.
        status: u16,
        /// What the master said.
        body: String,
    },
    /// The master did not answer.
    Unreachable(HttpError),
    /// Nothing came in time.
    TimedOut {
        /// What was waited for.
        what: String,
        /// For how many seconds.
        seconds: f64,
    },
    /// The master ended the event stream.
    Ended {
        /// What was waited for.
        what: String,
        /// Why, as far as known.
        why: String,
    },
    /// A task ended in another state than the one waited for.
    EndedAs {
        /// What was waited for.
        what: String,
        /// The update that ended the task.
        update: Box<TaskUpdate>,
    },
    /// The master's first event made no sense.
    BadStart(String),
}

impl fmt::Display for SchedulerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { asked, status, body } => {
                write!(f, "{asked} was refused by the master with {status}: {body}")
            }
            Self::Unreachable(e) => e.fmt(f),
            Self::TimedOut { what, seconds } => write!(f, "{what} did not come within {seconds} s"),
            Self::Ended { what, why } => {
                write!(f, "{what} will not come: the master ended the stream: {why}")
            }
            Self::EndedAs { what, update } => write!(f, "{what} will not come: it ended as {update}"),
            Self::BadStart(why) => write!(f, "subscription did not start: {why}"),
        }
    }
}

impl std::error::Error for SchedulerError {}

impl From<HttpError> for SchedulerError {
    fn from(error: HttpError) -> Self {
        Self::Unreachable(error)
    }
}

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

impl SchedulerError {
    /// Whether a guest ended because its launch came too late: Mesos had withdrawn the offer, since less is idle than was,
    /// or the GPU is not idle any more.
    pub fn is_late_guest(&self) -> bool {
        let Self::EndedAs { update, .. } = self else {
            return false;
        };
        let message = update.message.as_deref().unwrap_or_default();
        match update.reason.as_deref() {
            Some("REASON_INVALID_OFFERS") => message.contains("is no longer valid"),
            _ => message.contains("are idle now and can take a guest"),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_ended_for_coming_too_late_is_a_late_guest() {
        let ended = |reason: &str, message: &str| SchedulerError::EndedAs {
            what: "TASK_RUNNING of task guest1".to_owned(),
            update: Box::new(TaskUpdate::from(json!({
                "task_id": {"value": "guest1"}, "state": "TASK_LOST", "reason": reason, "message": message,
            }))),
        };
        let failed = "REASON_CONTAINER_LAUNCH_FAILED";
        let late = "only 0 held GPUs are idle now and can take a guest; wait";
        assert!(ended(failed, late).is_late_guest());
        let gone = "Task launched with invalid offers: Offer x-O3 is no longer valid";
        assert!(ended("REASON_INVALID_OFFERS", gone).is_late_guest());
        assert!(!ended("REASON_INVALID_OFFERS", "Duplicate offer x-O3 in offer list").is_late_guest());
        assert!(!ended(failed, "no gpus").is_late_guest());
        assert!(!SchedulerError::BadStart(late.to_owned()).is_late_guest());
    }
}

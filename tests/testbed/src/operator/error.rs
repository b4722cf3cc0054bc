// SPDX-License-Identifier: Apache-2.0
//! Why: a test that expects a refusal must tell it from an agent that is not there.

use std::fmt;

use crate::http::HttpError;
use crate::recordio::RecordError;

/// Why a call of the operator API did not do what it should.
#[derive(Debug)]
pub enum ApiError {
    /// Mesos said no.
    Refused {
        /// The call.
        asked: String,
        /// HTTP status.
        status: u16,
        /// What Mesos said.
        body: String,
    },
    /// Nobody answered.
    Unreachable(HttpError),
    /// The answer stopped half way.
    Cut(RecordError),
    /// A call that is known to harm Mesos; it was not sent.
    Unsafe(&'static str),
}

impl ApiError {
    /// The HTTP status of a refusal.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Whether a container was not there any more, or its process had ended and it was about to go: whoever kills one
    /// that ends by itself meets either.
    pub fn is_gone(&self) -> bool {
        self.status() == Some(404) || self.body().contains("No such process")
    }

    /// The text of a refusal; empty for anything else.
    pub fn body(&self) -> &str {
        match self {
            Self::Refused { body, .. } => body,
            _ => "",
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { asked, status, body } => write!(f, "{asked} was refused with {status}: {body}"),
            Self::Unreachable(e) => e.fmt(f),
            Self::Cut(e) => e.fmt(f),
            Self::Unsafe(why) => write!(f, "not sent: {why}"),
        }
    }
}

impl std::error::Error for ApiError {}

impl From<HttpError> for ApiError {
    fn from(error: HttpError) -> Self {
        Self::Unreachable(error)
    }
}

impl From<RecordError> for ApiError {
    fn from(error: RecordError) -> Self {
        Self::Cut(error)
    }
}

// SPDX-License-Identifier: Apache-2.0
//! What can go wrong in the testbed. Nobody decides by it, everybody reads it: so it is what was tried and why it failed.

use std::fmt;

/// Something that was tried, and why it failed.
#[derive(Debug)]
pub struct Error {
    tried: String,
    why: String,
}

impl Error {
    /// `tried` reads after "cannot": "read /proc/self/mounts".
    pub fn new(tried: impl Into<String>, why: impl fmt::Display) -> Self {
        Self {
            tried: tried.into(),
            why: why.to_string(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "cannot {}: {}", self.tried, self.why)
    }
}

impl std::error::Error for Error {}

/// Adds what was tried to any error.
pub(crate) trait Tried<T> {
    fn tried(self, what: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T, E: fmt::Display> Tried<T> for Result<T, E> {
    fn tried(self, what: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|why| Error::new(what(), why))
    }
}

// SPDX-License-Identifier: Apache-2.0
//! What went wrong, in one line for a person, with a kind for decisions.

use std::fmt;

/// What sort of failure it is. Decisions rest on this, never on the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The request itself cannot be met: a fraction, more than there are.
    Request,
    /// Something of the configuration is wrong; nothing starts until it is mended.
    Configuration,
    /// The machine refused: a cgroup, a node, the driver.
    Machine,
    /// A defect of this library: a panic, bytes it cannot read.
    Defect,
}

/// A failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    message: String,
}

impl Error {
    /// A failure of this kind; `message` says what was tried, on what, and why it failed.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// A request that cannot be met.
    pub fn request(message: impl Into<String>) -> Self {
        Self::new(Kind::Request, message)
    }

    /// Something the machine refused.
    pub fn machine(message: impl Into<String>) -> Self {
        Self::new(Kind::Machine, message)
    }

    /// A defect of this library.
    pub fn defect(message: impl Into<String>) -> Self {
        Self::new(Kind::Defect, message)
    }

    /// The sort of failure.
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

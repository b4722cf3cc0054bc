// SPDX-License-Identifier: Apache-2.0
//! What the estimate says of a GPU, in terms that a person reads in the log.

use crate::domain::estimate::activity::{Cause, Doubt};
use crate::domain::estimate::sample::MemoryUse;
use std::fmt;
use std::time::Duration;

/// What is to be thought of a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Its owner has left it idle for the whole window.
    Idle,
    /// It is in use, or was too short a time ago.
    Busy(Busy),
    /// Nothing can be said, so it is not idle.
    Unknown(Doubt),
}

/// Why a GPU does not count as idle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Busy {
    /// Its owner uses it.
    Active(Cause),
    /// It has been quiet for so long, which is not the whole window.
    Settling(Duration),
    /// It was idle, or its guests had to go, a short time ago.
    Paused,
    /// Guests are leaving it.
    Leaving,
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Busy::Active(cause) => cause.fmt(f),
            Busy::Settling(quiet) => write!(f, "it has been quiet for {} s only", quiet.as_secs()),
            Busy::Paused => f.write_str("it was idle or had a guest that had to go a short time ago"),
            Busy::Leaving => f.write_str("its guests are leaving"),
        }
    }
}

/// Why the guests of a GPU must go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Eviction {
    /// The owner is active.
    OwnerActive(Cause),
    /// The GPU has a new owner.
    OwnerNew,
    /// It has not been known for the whole window what the owner does.
    OwnerUnseen(Doubt),
    /// So little memory is left.
    MemoryShort(MemoryUse),
}

impl fmt::Display for Eviction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Eviction::OwnerActive(cause) => cause.fmt(f),
            Eviction::OwnerNew => f.write_str("another container holds it now"),
            Eviction::OwnerUnseen(doubt) => write!(f, "it is not known what its owner does: {doubt}"),
            Eviction::MemoryShort(memory) => write!(
                f,
                "only {} of its {} MiB of memory are free",
                memory.free() >> 20,
                memory.total() >> 20
            ),
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Mesos's own word on who has what. It is a seam like those to the machine: it answers late, or never.

use crate::wire::usage::ResourceUsage;

/// Takes the answer, on whatever thread has it; why there is none, in words.
pub type Told = Box<dyn FnOnce(Result<ResourceUsage, String>) + Send>;

/// Asks Mesos's agent who has what.
pub trait Usage: Send + Sync {
    /// Asks, and returns at once. Where nobody will ever answer, `told` is dropped.
    fn ask(&self, told: Told);
}

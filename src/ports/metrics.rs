// SPDX-License-Identifier: Apache-2.0
//! Where the agent's numbers go.

/// Takes the numbers.
pub trait Metrics: Send {
    /// Replaces what was published before, as a whole: whoever reads gets this or what was there before.
    ///
    /// # Errors
    /// What was tried, on which file, and why it failed.
    fn publish(&self, text: &str) -> Result<(), String>;
}

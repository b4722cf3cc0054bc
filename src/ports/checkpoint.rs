// SPDX-License-Identifier: Apache-2.0
//! What must outlive the agent: who holds what, and what was advertised.

use crate::domain::record::Record;

/// What was read back.
#[derive(Debug, Clone, PartialEq)]
pub enum Loaded {
    /// Nothing was ever written.
    Absent,
    /// What was written last.
    Present(Record),
    /// Something is there that cannot be used, in words: unreadable, cut short, or of a newer version.
    Unusable(String),
}

/// The agent's own checkpoint.
pub trait Checkpoint: Send {
    /// Reads what was written last.
    fn load(&self) -> Loaded;

    /// Replaces it, at once and as a whole: whoever reads afterwards, even after a crash in the middle, gets this or what
    /// was there before.
    ///
    /// # Errors
    /// What was tried, on which file, and why it failed.
    fn save(&self, record: &Record) -> Result<(), String>;

    /// Which boot of the machine this is. What a container held before a reboot it holds no more.
    fn boot_id(&self) -> String;
}

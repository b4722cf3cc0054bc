// SPDX-License-Identifier: Apache-2.0
//! Where it goes which containers are on which GPU.

use crate::domain::jobs::Jobs as ByIndex;

/// Takes the mapping.
pub trait Jobs: Send {
    /// Replaces what was published before, also by an agent before. Of each GPU whoever reads gets this or what was there
    /// before, as a whole; of one that is not listed, nothing.
    ///
    /// # Errors
    /// What was tried, on which file or folder, and why it failed.
    fn publish(&self, jobs: &ByIndex) -> Result<(), String>;
}

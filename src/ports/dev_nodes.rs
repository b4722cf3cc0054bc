// SPDX-License-Identifier: Apache-2.0
//! Device nodes: asked at every launch, because most of NVIDIA's majors are dynamic.

pub use crate::domain::device::NodeState;

/// The device directory.
pub trait DevNodes: Send {
    /// What stands at `path`, relative to the device directory. Links are followed.
    ///
    /// # Errors
    /// The file system's own reason, other than "does not exist".
    fn stat(&self, path: &str) -> Result<NodeState, String>;

    /// The names in the device directory that begin with `nvidia`, in order.
    ///
    /// # Errors
    /// What was tried, on which directory, and the file system's reason.
    fn list(&self) -> Result<Vec<String>, String>;
}

// SPDX-License-Identifier: Apache-2.0
//! Device nodes: asked at every launch, because most of NVIDIA's majors are dynamic.

use crate::domain::device::DeviceNumber;

/// What stands at a path of the device directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeState {
    /// Nothing.
    Missing,
    /// A character device.
    Device(DeviceNumber),
    /// Something else, in words: `a directory`, `a regular file`.
    Other(String),
}

/// The device directory.
pub trait DevNodes: Send {
    /// What stands at `path`, relative to the device directory. Links are followed.
    ///
    /// # Errors
    /// The file system's own reason, other than "does not exist".
    fn stat(&self, path: &str) -> Result<NodeState, String>;
}

// SPDX-License-Identifier: Apache-2.0
//! Character device nodes: what the kernel's device control speaks of.

use std::fmt;

/// The major number that the kernel reserves for NVIDIA's GPUs and their control node.
pub const NVIDIA_MAJOR: u32 = 195;

/// The minor numbers from here on are those of `nvidia-modeset` and `nvidiactl`, no GPU's.
pub const FIRST_CONTROL_MINOR: u32 = 254;

/// A character device, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    /// Major number: the driver.
    pub major: u32,
    /// Minor number: the device of that driver.
    pub minor: u32,
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// What stands at a path of the device directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeState {
    /// Nothing.
    Missing,
    /// A character device.
    Device(DeviceNumber),
    /// Something else, in words: [`A_DIRECTORY`], `a regular file`.
    Other(String),
}

/// The words of [`NodeState::Other`] for a directory.
pub const A_DIRECTORY: &str = "a directory";

/// A node without which no container can use a GPU, or which it uses when it is there. Paths are relative to `/dev`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlNode {
    /// Path relative to the device directory.
    pub path: &'static str,
    /// Whether a container with GPUs cannot do without it.
    pub needed: bool,
}

/// The control nodes that a container with GPUs gets, besides its GPUs. Their majors other than 195 are dynamic, so each
/// is looked up by name at every launch.
pub const CONTROL_NODES: [ControlNode; 4] = [
    ControlNode {
        path: "nvidiactl",
        needed: true,
    },
    ControlNode {
        path: "nvidia-uvm",
        needed: false,
    },
    ControlNode {
        path: "nvidia-uvm-tools",
        needed: false,
    },
    ControlNode {
        path: "nvidia-modeset",
        needed: false,
    },
];

/// The path of the node that guards a MIG instance below the device directory.
pub fn capability_node(minor: u32) -> String {
    format!("nvidia-caps/nvidia-cap{minor}")
}

/// The path of a GPU's node below the device directory.
pub fn gpu_node(minor: u32) -> String {
    format!("nvidia{minor}")
}

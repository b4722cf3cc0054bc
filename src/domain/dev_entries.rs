// SPDX-License-Identifier: Apache-2.0
//! What stands under NVIDIA's names in the device directory: whatever does not belong there is said once, at start, to
//! the person who has to find out why a container gets no GPU. It decides nothing; grants look at each node afresh.

use crate::domain::device::{
    A_DIRECTORY, CONTROL_NODES, DeviceNumber, FIRST_CONTROL_MINOR, NVIDIA_MAJOR, NodeState,
};

/// One entry whose name begins with `nvidia`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DevEntry {
    /// The node of the GPU with this minor number.
    Gpu(u32),
    /// A node that every container with GPUs gets.
    Control,
    /// The folder of the nodes that guard MIG instances.
    Caps,
    /// NVIDIA's own, of no use to a container here: NVLink, fabric, storage.
    Unused,
    /// What does not belong there, and why.
    Foreign(String),
}

const CAPS: &str = "nvidia-caps";

/// Nodes of other NVIDIA drivers, and the beginnings of those that are numbered.
const UNUSED: [&str; 4] = [
    "nvidia-nvlink",
    "nvidia-nvswitchctl",
    "nvidia-caps-imex-channels",
    "nvidia-vgpuctl",
];
const UNUSED_NUMBERED: [&str; 4] = ["nvidia-nvswitch", "nvidia-fs", "nvidia-vgpu", "nvidia-soc-iommu"];

/// Tells what a device is by its number, or why its name does not suit it.
type Check = fn(&str, DeviceNumber) -> Result<DevEntry, String>;

/// What the entry `name` is, given what stands there.
pub fn classify(name: &str, state: &NodeState) -> DevEntry {
    let (expected, check): (_, Check) = if number_after("nvidia", name).is_some() {
        ("a GPU's node", gpu)
    } else if CONTROL_NODES.iter().any(|node| node.path == name) {
        ("a control node", control)
    } else if name == CAPS {
        return match state {
            NodeState::Other(what) if what == A_DIRECTORY => DevEntry::Caps,
            other => DevEntry::Foreign(format!("it is {}, not {A_DIRECTORY}", words(other))),
        };
    } else if is_unused(name) {
        return DevEntry::Unused;
    } else {
        return DevEntry::Foreign("no driver of NVIDIA's is known to make such an entry".to_owned());
    };
    match state {
        NodeState::Device(number) => check(name, *number).unwrap_or_else(DevEntry::Foreign),
        other => DevEntry::Foreign(format!("it is {}, not {expected}", words(other))),
    }
}

/// One line for each entry that does not belong there or cannot be looked at.
pub fn oddities<'a>(
    entries: impl IntoIterator<Item = (&'a str, &'a Result<NodeState, String>)>,
) -> Vec<String> {
    let odd = |(name, state): (&str, &Result<NodeState, String>)| match state {
        Ok(state) => match classify(name, state) {
            DevEntry::Foreign(why) => Some(format!("device entry {name:?} is left alone: {why}")),
            _ => None,
        },
        Err(why) => Some(why.clone()),
    };
    entries.into_iter().filter_map(odd).collect()
}

fn gpu(name: &str, number: DeviceNumber) -> Result<DevEntry, String> {
    let DeviceNumber { major, minor } = number;
    if major != NVIDIA_MAJOR {
        return Err(format!(
            "it is device {number}, and GPUs have major number {NVIDIA_MAJOR}"
        ));
    }
    if minor >= FIRST_CONTROL_MINOR {
        return Err(format!(
            "it is device {number}, which is no GPU but a control node"
        ));
    }
    if number_after("nvidia", name) != Some(minor) {
        return Err(format!("it is device {number}, another GPU than its name says"));
    }
    Ok(DevEntry::Gpu(minor))
}

/// The two of the driver itself have fixed numbers; the majors of unified memory are dynamic, but never the GPUs'.
fn control(name: &str, number: DeviceNumber) -> Result<DevEntry, String> {
    let fixed = match name {
        "nvidiactl" => Some(255),
        "nvidia-modeset" => Some(254),
        _ => None,
    };
    match fixed {
        Some(minor) if (number.major, number.minor) != (NVIDIA_MAJOR, minor) => {
            Err(format!("it is device {number} instead of {NVIDIA_MAJOR}:{minor}"))
        }
        None if number.major == NVIDIA_MAJOR => Err(format!(
            "it is device {number}, and major number {NVIDIA_MAJOR} is that of the GPUs"
        )),
        _ => Ok(DevEntry::Control),
    }
}

fn is_unused(name: &str) -> bool {
    let numbered = |prefix: &str| number_after(prefix, name).is_some();
    UNUSED.contains(&name) || UNUSED_NUMBERED.iter().any(|prefix| numbered(prefix))
}

/// The number that follows `prefix`, written as the driver writes it: without leading zeros or a sign.
fn number_after(prefix: &str, name: &str) -> Option<u32> {
    let digits = name.strip_prefix(prefix)?;
    let number = digits.parse::<u32>().ok()?;
    (number.to_string() == digits).then_some(number)
}

fn words(state: &NodeState) -> String {
    match state {
        NodeState::Missing => "a link to nothing, or gone meanwhile".to_owned(),
        NodeState::Device(number) => format!("device {number}"),
        NodeState::Other(what) => what.clone(),
    }
}

#[cfg(test)]
mod tests;

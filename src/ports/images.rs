// SPDX-License-Identifier: Apache-2.0
//! Fitting the root file system of an image with the driver and with device nodes. What is in an image is hostile:
//! nothing is made outside its root, and nothing of it is run.

use crate::domain::device::DeviceNumber;
use crate::domain::mount::Mount;
use std::path::PathBuf;

/// What one container's image is to be fitted with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// The container, for the books of who uses which driver files.
    pub container: String,
    /// The root of its image, absolute on the host.
    pub root: PathBuf,
    /// The driver's files; none for an image that gets no driver.
    pub driver: Option<DriverWant>,
    /// The device nodes that it may open, below `/dev`.
    pub nodes: Vec<NodeWant>,
    /// Where Mesos mounts what others control (volumes, the sandbox), as paths inside. Nothing of ours may lie below one:
    /// what is there at the launch is not what was looked at before.
    pub volumes: Vec<String>,
}

/// How the driver is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverWant {
    /// The version of the loaded kernel module; none where that is not known.
    pub version: Option<String>,
    /// Whether an image's own, newer `libcuda` may be used instead of the driver's, where the GPUs can.
    pub compat: bool,
    /// The models of the container's GPUs, for that.
    pub models: Vec<String>,
}

/// A device node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeWant {
    /// Its path below `/dev`, for example `nvidia-caps/nvidia-cap2`.
    pub path: String,
    /// Its number on the host.
    pub number: DeviceNumber,
}

/// What an image was fitted with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outfit {
    /// The mounts to launch the container with, in order.
    pub mounts: Vec<Mount>,
    /// The driver, where it was wanted.
    pub driver: Option<DriverOutfit>,
    /// What could not be done and is no reason to fail, for the log.
    pub notes: Vec<String>,
}

/// How the driver is there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DriverOutfit {
    /// The folder in the container with a `libcuda` that is newer than the driver's and goes before it; none where the
    /// image has none or may not.
    pub compat: Option<String>,
    /// The folders below `/usr/local/nvidia/share` that have files, for example `vulkan/icd.d`.
    pub shares: Vec<String>,
}

/// Takes the answer, once, on a thread of the port's own: the outfit, or in words why there is none.
pub type Done = Box<dyn FnOnce(Result<Outfit, String>) + Send>;

/// Takes the answer, once, on a thread of the port's own: nothing, or in words what could not be done.
pub type Shown = Box<dyn FnOnce(Result<(), String>) + Send>;

/// Images.
pub trait Images: Send {
    /// Fits an image; returns at once.
    fn fit(&self, want: Want, done: Done);

    /// Shows device nodes in the image of a running container; returns at once. One that sees the host's own files sees them
    /// already.
    fn show(&self, process: u32, nodes: Vec<NodeWant>, shown: Shown);

    /// Says that a container has ended, so that driver files which only it used can go. A container that was never fitted
    /// is none.
    fn ended(&self, container: &str);
}

// SPDX-License-Identifier: Apache-2.0
//! What an agent is told at its start and keeps to.

use crate::config::Mode;
use crate::domain::image::injection::DriverFilesPolicy;
use std::time::Duration;

/// How patient the agent is, and how strict.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// How long a launch or a growth waits for GPUs that are being released.
    pub release_wait: Duration,
    /// How long a released GPU may still be used by a process before it is set aside.
    pub release_limit: Duration,
    /// How often the GPUs are looked at.
    pub health_interval: Duration,
    /// Whether a GPU on which processes compute that belong to no container is kept back.
    pub check_processes: bool,
    /// Whether containers without GPUs can open the control nodes too.
    pub control_nodes_for_all: bool,
}

/// What containers with an image get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSettings {
    /// Which of them get the driver's files.
    pub driver_files: DriverFilesPolicy,
    /// Whether an image's own `libcuda` may be used when it is newer than the driver's.
    pub cuda_compat: bool,
    /// Whether what images require is checked.
    pub requirements: bool,
    /// Where Mesos mounts the sandbox inside an image.
    pub sandbox: String,
}

/// What an agent is told at its start and keeps to.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The agent's cgroup root, below each hierarchy.
    pub cgroups_root: String,
    /// How patient it is.
    pub patience: Patience,
    /// What it is for.
    pub mode: Mode,
    /// What images get.
    pub images: ImageSettings,
}

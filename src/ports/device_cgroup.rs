// SPDX-License-Identifier: Apache-2.0
//! Device control of cgroups: what the kernel lets a container open.

use crate::domain::device_rules::DeviceRule;
use std::sync::Arc;

/// The device controller. `cgroup` is a path below the hierarchy, without a leading slash: `mesos/<id>`.
pub trait DeviceCgroup: Send {
    /// Whether the cgroup exists.
    fn exists(&self, cgroup: &str) -> bool;

    /// Lets the cgroup do what the rule says; a rule that is already there is no error.
    ///
    /// # Errors
    /// What was tried, on which cgroup, and the kernel's reason; a parent that does not allow it is one (EPERM).
    fn allow(&self, cgroup: &str, rule: DeviceRule) -> Result<(), String>;

    /// Takes from the cgroup what the rule says; a rule that is not there is no error.
    ///
    /// # Errors
    /// What was tried, on which cgroup, and the kernel's reason.
    fn deny(&self, cgroup: &str, rule: DeviceRule) -> Result<(), String>;

    /// What the cgroup may do.
    ///
    /// # Errors
    /// What was tried, on which cgroup, and the kernel's reason.
    fn list(&self, cgroup: &str) -> Result<Vec<DeviceRule>, String>;

    /// Who tells the cgroups of processes, for any thread.
    fn processes(&self) -> Arc<dyn ProcessCgroups>;
}

/// The kernel's word on whose a process is, in the hierarchy of a [`DeviceCgroup`].
pub trait ProcessCgroups: Send + Sync {
    /// The cgroup that a process is in, by its id as the host counts. None for one that is gone, and for one whose cgroup is
    /// not below the hierarchy as this process sees it.
    ///
    /// # Errors
    /// What was tried, on which process, and the kernel's reason.
    fn cgroup_of(&self, pid: u32) -> Result<Option<String>, String>;
}

// SPDX-License-Identifier: Apache-2.0
//! The ports of one machine, together.

use crate::ports::dev_nodes::DevNodes;
use crate::ports::device_cgroup::DeviceCgroup;
use crate::ports::driver_proc::DriverProc;
use crate::ports::nvml::Nvml;
use std::fmt;

/// Everything of the machine that the agent thread asks.
pub struct Machine {
    /// The kernel driver's tree under `/proc`.
    pub driver: Box<dyn DriverProc>,
    /// NVML, behind its time limit.
    pub nvml: Box<dyn Nvml>,
    /// The device directory.
    pub nodes: Box<dyn DevNodes>,
    /// Device control, or in words why this machine has none.
    pub cgroup: Result<Box<dyn DeviceCgroup>, String>,
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Machine")
    }
}

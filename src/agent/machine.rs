// SPDX-License-Identifier: Apache-2.0
//! The ports of one machine, together.

use crate::ports::checkpoint::Checkpoint;
use crate::ports::dev_nodes::DevNodes;
use crate::ports::device_cgroup::DeviceCgroup;
use crate::ports::driver_proc::DriverProc;
use crate::ports::images::Images;
use crate::ports::jobs::Jobs;
use crate::ports::metrics::Metrics;
use crate::ports::module_loader::ModuleLoader;
use crate::ports::nvml::Nvml;
use std::fmt;
use std::sync::Arc;

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
    /// Makes nodes that the driver makes on demand.
    pub modules: Arc<dyn ModuleLoader>,
    /// What fits images.
    pub images: Box<dyn Images>,
    /// Where its numbers go; none where nobody wants them.
    pub metrics: Option<Box<dyn Metrics>>,
    /// Where it goes which containers are on which GPU; none where nobody wants that.
    pub jobs: Option<Box<dyn Jobs>>,
    /// What outlives the agent.
    pub checkpoint: Box<dyn Checkpoint>,
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Machine")
    }
}

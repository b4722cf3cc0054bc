// SPDX-License-Identifier: Apache-2.0
//! What the driver says under `/proc/driver/nvidia`: at once, without NVML.

use crate::domain::gpu::{PciAddress, UnitId};

/// One GPU as `gpus/<pci>/information` tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcGpu {
    /// Its UUID.
    pub uuid: UnitId,
    /// Where it sits.
    pub pci: PciAddress,
    /// Its minor number.
    pub minor: u32,
    /// Its marketing name.
    pub model: Option<String>,
    /// Whether the driver was told to leave it alone (`GPU Excluded: Yes`).
    pub excluded: bool,
    /// The nodes that guard its MIG instances; none when it is not cut into any.
    pub mig: Vec<MigAccess>,
}

/// The node that guards a MIG instance: who may not open it may not use the instance, whatever else it can open.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MigAccess {
    /// GPU instance number.
    pub gpu_instance: u32,
    /// Compute instance number; none for the GPU instance's own node.
    pub compute_instance: Option<u32>,
    /// The minor number of `nvidia-caps/nvidia-cap<minor>`.
    pub minor: u32,
}

/// What the whole tree says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcReport {
    /// The loaded kernel module's version, for example `580.159.04`; none when the module is not loaded.
    pub driver_version: Option<String>,
    /// The GPUs, by PCI address.
    pub gpus: Vec<ProcGpu>,
    /// GPUs that have an entry which cannot be used, and why: they are set aside, never fatal.
    pub problems: Vec<String>,
}

/// The driver's tree.
pub trait DriverProc: Send {
    /// Reads the tree; an absent one is an empty report. Never blocks on NVML.
    fn read(&self) -> ProcReport;

    /// The loaded kernel module's version, as in [`ProcReport`], at the cost of one file.
    fn version(&self) -> Option<String> {
        self.read().driver_version
    }

    /// The GPU at one address, at the cost of its own files; none when it is not listed or cannot be used. That no other GPU
    /// claims to be the same is only known to who reads all.
    fn gpu(&self, pci: PciAddress) -> Option<ProcGpu> {
        self.read().gpus.into_iter().find(|gpu| gpu.pci == pci)
    }
}

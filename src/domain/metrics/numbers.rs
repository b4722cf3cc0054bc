// SPDX-License-Identifier: Apache-2.0
//! What is to be told, as plain data: whoever collects it knows nothing of how it is written, and a test can name all of it.

use super::calls::CallNumbers;
use crate::domain::estimate::{MemoryUse, Percent, Power, Temperature};
use crate::domain::ledger::Phase;
use std::time::Duration;

/// What names a GPU, or a MIG instance, in a line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Named {
    /// Its UUID.
    pub gpu: String,
    /// Its minor number; none where it is not there any more.
    pub minor: Option<u32>,
}

/// What the agent advertises, one of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitNumbers {
    /// Which.
    pub named: Named,
    /// NVML's index, when it is known.
    pub index: Option<u32>,
    /// Where it sits, when it is there.
    pub pci: Option<String>,
    /// Its model, when it is known.
    pub model: Option<String>,
    /// The GPU that a MIG instance is a part of.
    pub parent: Option<String>,
    /// What may be done with it.
    pub phase: Phase,
    /// Whether something is wrong with it, whoever holds it.
    pub sick: bool,
}

/// What NVML told last of a GPU, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuNumbers {
    /// Which.
    pub named: Named,
    /// How long ago it was asked.
    pub age: Duration,
    /// What it told; none where that is too old to say anything of now.
    pub told: Option<GpuTold>,
}

/// What NVML told of a GPU. What is none was not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GpuTold {
    /// How much of the last moment anybody computed on it.
    pub utilization: Option<Percent>,
    /// Its memory.
    pub memory: Option<MemoryUse>,
    /// What it draws.
    pub power: Option<Power>,
    /// How warm it is.
    pub temperature: Option<Temperature>,
}

/// A container in a line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Who {
    /// Its id.
    pub container: String,
    /// The framework and the executor that it was made for, when it was made for one.
    pub executor: Option<(String, String)>,
}

/// A container on a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UseNumbers {
    /// Who.
    pub who: Who,
    /// On which.
    pub named: Named,
    /// Whether it is a guest there.
    pub guest: bool,
    /// How much its processes computed; none when not known.
    pub utilization: Option<Percent>,
    /// The memory that its processes hold; none when not known.
    pub memory: Option<u64>,
}

/// Why NVML gives no sample, in the order of [`NvmlNumbers::failures`].
pub const NVML_REASONS: [&str; 5] = ["library", "call", "version_mismatch", "timeout", "stuck"];

/// How NVML answered the questions for samples.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NvmlNumbers {
    /// Whether it answered the last one; none before the first answer is due.
    pub up: Option<bool>,
    /// How often it did not, by [`NVML_REASONS`].
    pub failures: [u64; NVML_REASONS.len()],
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// The module's version.
    pub version: &'static str,
    /// The driver's, when it is known.
    pub driver: Option<String>,
    /// Whether GPUs are handed out.
    pub sound: bool,
    /// What is advertised.
    pub units: Vec<UnitNumbers>,
    /// How many GPUs launches and growths wait for, by container, in their order.
    pub waiting: Vec<(Who, usize)>,
    /// How many containers hold GPUs.
    pub holders: usize,
    /// How many are guests.
    pub guests: usize,
    /// What NVML told.
    pub gpus: Vec<GpuNumbers>,
    /// Who is on which.
    pub uses: Vec<UseNumbers>,
    /// How NVML answered; none where it is not asked for samples.
    pub nvml: Option<NvmlNumbers>,
    /// The calls by name.
    pub calls: Vec<(&'static str, CallNumbers)>,
}

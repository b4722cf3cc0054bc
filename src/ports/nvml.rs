// SPDX-License-Identifier: Apache-2.0
//! NVML, behind a time limit: the library may be missing, broken, or never return.

use crate::domain::estimate::Sample;
use crate::domain::gpu::{PciAddress, UnitId};
use std::fmt;
use std::time::Duration;

/// One MIG compute instance as NVML tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NvmlMig {
    /// Its UUID.
    pub uuid: UnitId,
    /// GPU instance number.
    pub gpu_instance: u32,
    /// Compute instance number.
    pub compute_instance: u32,
    /// Memory in bytes; none when not told.
    pub memory_bytes: Option<u64>,
    /// Name as NVML gives it, for example `NVIDIA H200 MIG 1g.18gb`.
    pub name: Option<String>,
    /// The processes that compute on it; none when not told.
    pub processes: Option<Vec<u32>>,
}

/// What kind of product a GPU is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Product {
    /// NVML's brand in lower case, for example `tesla`, `geforcertx`; none when not told.
    pub brand: Option<String>,
    /// CUDA's compute capability, major and minor; none when not told.
    pub compute_capability: Option<(u32, u32)>,
}

/// One GPU as NVML tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NvmlGpu {
    /// NVML's index.
    pub index: u32,
    /// Its UUID.
    pub uuid: UnitId,
    /// Where it sits.
    pub pci: PciAddress,
    /// Its minor number.
    pub minor: u32,
    /// Its marketing name; none when not told.
    pub name: Option<String>,
    /// Memory in bytes; none when not supported (unified-memory machines).
    pub memory_bytes: Option<u64>,
    /// What kind of product it is.
    pub product: Product,
    /// The processes that compute on it; none when not told.
    pub processes: Option<Vec<u32>>,
    /// The MIG instances; none when MIG is off or not supported.
    pub mig: Option<Vec<NvmlMig>>,
}

/// What NVML says of the whole machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// Driver version.
    pub driver_version: Option<String>,
    /// The newest CUDA that the driver serves, major and minor; none when not told.
    pub cuda_version: Option<(u32, u32)>,
    /// The GPUs that answered, by index.
    pub gpus: Vec<NvmlGpu>,
    /// GPUs that did not, and what is wrong with others: set aside, never fatal.
    pub problems: Vec<GpuProblem>,
}

/// Something wrong with one GPU or MIG instance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GpuProblem {
    /// Which GPU or MIG instance is set aside, where it told its UUID; none also where nothing is set aside.
    pub uuid: Option<UnitId>,
    /// Where the GPU sits that is set aside as a whole, where that is known.
    pub pci: Option<PciAddress>,
    /// What is wrong, in words with NVML's index.
    pub text: String,
}

impl GpuProblem {
    /// A problem of which only the words are known.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

impl fmt::Display for GpuProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Survey {
    /// The processes that compute on a GPU or a MIG instance; none when it is not listed or NVML does not tell.
    pub fn processes(&self, unit: &UnitId) -> Option<&Vec<u32>> {
        let whole = self
            .gpus
            .iter()
            .find(|gpu| &gpu.uuid == unit)
            .map(|gpu| &gpu.processes);
        let mut instances = self.gpus.iter().flat_map(|gpu| gpu.mig.iter().flatten());
        let processes = whole.or_else(|| instances.find(|mig| &mig.uuid == unit).map(|mig| &mig.processes));
        processes.and_then(Option::as_ref)
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NvmlFailure {
    /// No library to load: a machine without a driver.
    #[error("cannot load {library}: {reason}")]
    Library {
        /// What was tried.
        library: String,
        /// The loader's reason.
        reason: String,
    },
    /// The library is there, a call failed: a broken or unloaded driver.
    #[error("{call} failed: {reason}")]
    Call {
        /// NVML's function.
        call: String,
        /// NVML's reason.
        reason: String,
    },
    /// The library is of another version than the loaded kernel module: the driver was upgraded under a running machine.
    /// What runs goes on, new programs cannot start.
    #[error(
        "{call} failed: the driver's library and its kernel module are of different versions; load the module anew or reboot"
    )]
    VersionMismatch {
        /// NVML's function.
        call: String,
    },
    /// A call did not return in time; its thread is left alone.
    #[error("{call} did not return within {limit:?}")]
    Timeout {
        /// NVML's function.
        call: String,
        /// The limit of one call.
        limit: Duration,
    },
    /// An earlier call still has not returned, so nothing was asked.
    #[error("not asked: {call} has not returned for {since:?}")]
    Stuck {
        /// NVML's function.
        call: String,
        /// How long it has been.
        since: Duration,
    },
}

/// Takes the answer, once, on a thread of the port's own.
pub type Done<T> = Box<dyn FnOnce(Result<T, NvmlFailure>) + Send>;

/// NVML.
pub trait Nvml: Send {
    /// Asks for everything; returns at once. `done` is called exactly once, after at most the limit of a call past the
    /// last call that returned.
    fn survey(&self, done: Done<Survey>);

    /// Asks how much each GPU is used, and by whom, what it draws and how warm it is; like [`Nvml::survey`] otherwise. What a process computed is that since
    /// the sample before. What a GPU does not tell, or tells as what cannot be, is missing from its entry; one that is out
    /// of reach has no entry. GPUs with MIG on tell nothing of how much they are used.
    fn sample(&self, done: Done<Sample>);
}

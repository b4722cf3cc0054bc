// SPDX-License-Identifier: Apache-2.0
//! The description of a simulated machine: plain data, so that a test, a demo or a person with an editor can write it.
//! Every field but a GPU's identity has a default, so a short JSON text is enough.

use serde::{Deserialize, Serialize};

/// A machine with NVIDIA GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Machine {
    /// What NVML, `/proc/driver/nvidia/version` and each GPU's firmware line say.
    pub driver_version: String,
    /// As NVML counts: 1000 * major + 10 * minor, so 13000 is 13.0.
    pub cuda_version: i32,
    /// Which kernel module the `version` file names.
    pub kernel_module: KernelModule,
    /// Without it `nvmlInit` says that the driver is not loaded, and there is neither proc tree nor device node.
    pub driver_loaded: bool,
    /// Majors that the real kernel hands out anew at each boot.
    pub majors: Majors,
    /// The GPUs, in any order.
    pub gpus: Vec<Gpu>,
    /// What goes wrong; the first that applies to a call wins.
    pub faults: Vec<Fault>,
    /// A file, beside the JSON file unless absolute, that gets the line `<pid> <function>` for every NVML call.
    pub call_log: Option<String>,
}

/// The two kernel modules that NVIDIA ships; their `version` lines are spelled differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelModule {
    /// `NVIDIA UNIX Open Kernel Module for x86_64`.
    Open,
    /// `NVIDIA UNIX x86_64 Kernel Module`.
    Proprietary,
}

/// Majors of character devices that are not fixed (the GPUs' own, 195, is).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Majors {
    /// `nvidia-uvm` and `nvidia-uvm-tools`.
    pub uvm: u32,
    /// `nvidia-caps/nvidia-cap<N>`, the access to MIG instances.
    pub caps: u32,
}

/// One GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// NVML's index.
    pub index: u32,
    /// The minor of its node `/dev/nvidia<minor>`; not the index.
    pub minor: u32,
    /// Its UUID, `GPU-…`.
    pub uuid: String,
    /// Its PCI address as the kernel spells it, `0000:3b:00.0`.
    pub pci: String,
    /// Marketing name.
    #[serde(default = "default_name")]
    pub name: String,
    /// NVML's number of the brand; none answers "not supported".
    #[serde(default = "default_brand")]
    pub brand: Option<u32>,
    /// CUDA's compute capability, major and minor; none answers "not supported".
    #[serde(default = "default_compute_capability")]
    pub compute_capability: Option<(i32, i32)>,
    /// NUMA node; none when the machine has no such thing.
    #[serde(default)]
    pub numa_node: Option<u32>,
    /// Memory in bytes; none answers "not supported", as machines with unified memory do.
    #[serde(default)]
    pub memory: Option<Memory>,
    /// Utilization; none answers "not supported".
    #[serde(default)]
    pub utilization: Option<Utilization>,
    /// Power draw in milliwatts; none answers "not supported".
    #[serde(default)]
    pub power_mw: Option<u32>,
    /// Temperature in degrees Celsius; none answers "not supported".
    #[serde(default)]
    pub temperature_c: Option<u32>,
    /// Processes that compute on it.
    #[serde(default)]
    pub processes: Vec<Process>,
    /// The time stamp of the samples of its processes, in microseconds since 1970; none is the present time.
    #[serde(default)]
    pub sampled_at: Option<u64>,
    /// Whether the samples of its processes are not supported.
    #[serde(default)]
    pub no_process_samples: bool,
    /// MIG; none when this GPU cannot do it.
    #[serde(default)]
    pub mig: Option<Mig>,
    /// How near other GPUs are; it is enough to say it on one of the two. Untold: `node` on the same NUMA node, else
    /// `system`.
    #[serde(default)]
    pub topology: Vec<Link>,
    /// Events that happened, oldest first. A process is told each once; add to the list, or empty it to start anew.
    #[serde(default)]
    pub events: Vec<Event>,
    /// The driver was told to leave it alone: NVML does not count it, `/proc` says `GPU Excluded: Yes`.
    #[serde(default)]
    pub excluded: bool,
    /// Stands in for the whole text of `/proc/driver/nvidia/gpus/<pci>/information`, for damaged entries.
    #[serde(default)]
    pub information: Option<String>,
}

fn default_name() -> String {
    "NVIDIA H200".to_owned()
}

// What an H200 says.
const fn default_brand() -> Option<u32> {
    Some(14)
}

const fn default_compute_capability() -> Option<(i32, i32)> {
    Some((9, 0))
}

/// Bytes of GPU memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// All of it.
    pub total: u64,
    /// In use.
    pub used: u64,
    /// Free.
    pub free: u64,
}

/// Percent of the last sample period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Utilization {
    /// A kernel ran.
    pub gpu: u32,
    /// Memory was read or written.
    pub memory: u32,
}

/// A process that computes on a GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Its process id, in the host's namespace.
    pub pid: u32,
    /// GPU memory in bytes; none when not told.
    #[serde(default)]
    pub used_memory: Option<u64>,
    /// Percent of the multiprocessors.
    #[serde(default)]
    pub sm_util: u32,
    /// Percent of the memory's time.
    #[serde(default)]
    pub mem_util: u32,
    /// The GPU instance it runs in, with MIG.
    #[serde(default)]
    pub gpu_instance: Option<u32>,
    /// The compute instance it runs in, with MIG.
    #[serde(default)]
    pub compute_instance: Option<u32>,
}

/// The MIG state of a GPU that can do it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mig {
    /// Whether the mode is on.
    pub enabled: bool,
    /// Its compute instances, by NVML's MIG index.
    #[serde(default)]
    pub instances: Vec<MigInstance>,
}

/// One compute instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigInstance {
    /// GPU instance number.
    pub gpu_instance: u32,
    /// Compute instance number.
    pub compute_instance: u32,
    /// Its UUID, `MIG-…`.
    pub uuid: String,
    /// Profile, for example `1g.18gb`.
    pub profile: String,
    /// Its memory.
    pub memory: Memory,
}

/// How near another GPU is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// NVML index of the other GPU.
    pub gpu: u32,
    /// How near.
    pub level: Level,
}

/// NVML's topology levels, nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The same board.
    Internal,
    /// One PCIe switch.
    Single,
    /// Several PCIe switches.
    Multiple,
    /// One host bridge.
    Hostbridge,
    /// One NUMA node.
    Node,
    /// Across NUMA nodes.
    System,
}

/// Something that happened on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// NVML's event type, one bit: 8 is a critical XID.
    #[serde(rename = "type")]
    pub kind: u64,
    /// Its data: the XID's number.
    #[serde(default)]
    pub data: u64,
}

/// Something wrong with NVML. It holds for as long as it is in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The function: `nvmlDeviceGetCount_v2` is that one, `nvmlDeviceGetCount` is every version of it, `*` is any.
    pub function: String,
    /// NVML index of the GPU; none is any GPU, and functions that have no GPU.
    #[serde(default)]
    pub gpu: Option<u32>,
    /// The code to return; 0 carries the call out.
    #[serde(default)]
    pub code: u32,
    /// How long the call takes.
    #[serde(default)]
    pub delay_ms: u64,
    /// The call does not return until this fault is gone from the file.
    #[serde(default)]
    pub hang: bool,
}

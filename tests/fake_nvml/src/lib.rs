// SPDX-License-Identifier: Apache-2.0
//! A simulated NVIDIA driver, because the product must be tested (and shown) on machines that have no GPU, and against
//! failures that no real GPU produces on demand.
//!
//! One JSON file, a [`Machine`], describes the GPUs and what is wrong with them. From it come
//! - `libnvidia-ml.so.1`: this crate as a shared library. It reads the file again whenever it changes, so a running agent
//!   sees GPUs vanish, appear, be renumbered, slow down or hang;
//! - `/proc/driver/nvidia` and the device nodes, laid out by [`Simulation`] in a folder of the test's own;
//! - the driver's user-space files, laid out by [`DriverTree`];
//! - [`enter`], which puts that folder over `/dev` and `/proc/driver` in a private mount namespace.
//!
//! ```no_run
//! use fake_nvml::{Fault, Machine, Simulation};
//!
//! # fn main() -> std::io::Result<()> {
//! let machine = Machine::with_gpus(2).fault(Fault::code("nvmlDeviceGetMemoryInfo", 15).on_gpu(1));
//! let simulation = Simulation::lay_out("/some/private/folder".as_ref(), &machine)?;
//! // `nvml_wrapper::Nvml::builder().lib_path(simulation.library().as_os_str()).init()` now finds two GPUs.
//! simulation.update(&Machine::with_gpus(1))?;
//! # Ok(())
//! # }
//! ```
#![deny(unsafe_code)]

mod builders;
mod driver;
mod driver_tree;
mod exports;
mod fault;
mod handles;
mod library;
mod loader_cache;
mod machine;
mod machine_file;
mod namespace;
mod simulation;
mod skip;

pub use driver_tree::{DriverFiles, DriverTree};
pub use library::{built_library, install_library};
pub use loader_cache::{trimmed_loader_cache, trimmed_loader_cache_with};
pub use machine::{
    Event, Fault, Gpu, KernelModule, Level, Link, Machine, Majors, Memory, Mig, MigInstance, Process,
    Utilization,
};
pub use machine_file::MACHINE_VARIABLE;
pub use namespace::enter;
pub use simulation::Simulation;
pub use skip::{SKIPS_VARIABLE, skip};

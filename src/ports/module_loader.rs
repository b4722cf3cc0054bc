// SPDX-License-Identifier: Apache-2.0
//! Making the device nodes that the driver makes only on demand.

/// NVIDIA's own helper, `nvidia-modprobe`.
pub trait ModuleLoader: Send + Sync {
    /// Loads the unified-memory module and makes its nodes (`nvidia-uvm`, `nvidia-uvm-tools`). Takes no longer than its
    /// own time limit.
    ///
    /// # Errors
    /// What was run and why it failed: not installed, its exit status and last words, or out of time.
    fn load_uvm(&self) -> Result<(), String>;
}

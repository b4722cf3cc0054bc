// SPDX-License-Identifier: Apache-2.0
//! The numbers of a MIG device inside its GPU. `nvml-wrapper` loads NVML's two functions for them but has no safe method
//! that calls them, so this is the one place here that calls NVML by hand.
#![allow(unsafe_code)]

use nvml_wrapper::Device;
use nvml_wrapper::error::{NvmlError, nvml_sym, nvml_try};

/// `nvmlDeviceGetGpuInstanceId`.
pub(super) fn gpu_instance(device: &Device<'_>) -> Result<u32, NvmlError> {
    let function = nvml_sym(device.nvml().lib().nvmlDeviceGetGpuInstanceId.as_ref())?;
    let mut id = 0;
    // SAFETY: NVML wants a handle from this very library, still initialised, and a place for one unsigned int. The
    // handle is the `Device`'s, whose lifetime keeps the `Nvml` it came from open; `id` outlives the call, which does
    // not keep the pointer.
    nvml_try(unsafe { function(device.handle(), &mut id) })?;
    Ok(id)
}

/// `nvmlDeviceGetComputeInstanceId`.
pub(super) fn compute_instance(device: &Device<'_>) -> Result<u32, NvmlError> {
    let function = nvml_sym(device.nvml().lib().nvmlDeviceGetComputeInstanceId.as_ref())?;
    let mut id = 0;
    // SAFETY: as in `gpu_instance`: the handle's library is kept open by the `Device`, `id` outlives the call.
    nvml_try(unsafe { function(device.handle(), &mut id) })?;
    Ok(id)
}

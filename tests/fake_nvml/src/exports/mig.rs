// SPDX-License-Identifier: Apache-2.0
//! MIG: whether it is on, and the instances a GPU is split into.

use super::abi::{Handle, Out};
use super::handle::give;
use crate::driver::{call_on, code};
use crate::handles::Target;
use std::ffi::c_uint;

/// Compute instances that a GPU can have at most.
const MOST_INSTANCES: c_uint = 7;

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMigMode(device: Handle, current: Out<c_uint>, pending: Out<c_uint>) -> c_uint {
    call_on("nvmlDeviceGetMigMode", device.value(), |_, unit| {
        let mode = c_uint::from(unit.gpu.mig.as_ref().ok_or(code::NOT_SUPPORTED)?.enabled);
        current.put(mode)?;
        pending.put(mode)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMaxMigDeviceCount(device: Handle, count: Out<c_uint>) -> c_uint {
    call_on("nvmlDeviceGetMaxMigDeviceCount", device.value(), |_, unit| {
        count.put(if unit.gpu.mig_enabled() { MOST_INSTANCES } else { 0 })
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(device: Handle, index: c_uint, out: Out<Handle>) -> c_uint {
    call_on(
        "nvmlDeviceGetMigDeviceHandleByIndex",
        device.value(),
        |_, unit| {
            if unit.mig.is_none() && !unit.gpu.mig_enabled() {
                return Err(code::NOT_FOUND);
            }
            if unit.mig.is_some() || index >= MOST_INSTANCES {
                return Err(code::INVALID_ARGUMENT);
            }
            let found = unit.gpu.instances().find(|(number, _)| *number == index);
            let (_, instance) = found.ok_or(code::NOT_FOUND)?;
            give(&out, &Target::mig(unit.gpu, instance))
        },
    )
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceIsMigDeviceHandle(device: Handle, is: Out<c_uint>) -> c_uint {
    call_on("nvmlDeviceIsMigDeviceHandle", device.value(), |_, unit| {
        is.put(c_uint::from(unit.mig.is_some()))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device: Handle, out: Out<Handle>) -> c_uint {
    call_on(
        "nvmlDeviceGetDeviceHandleFromMigDeviceHandle",
        device.value(),
        |_, unit| match unit.mig {
            None => Err(code::INVALID_ARGUMENT),
            Some(_) => give(&out, &Target::gpu(unit.gpu)),
        },
    )
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetGpuInstanceId(device: Handle, id: Out<c_uint>) -> c_uint {
    call_on("nvmlDeviceGetGpuInstanceId", device.value(), |_, unit| {
        id.put(unit.mig.ok_or(code::INVALID_ARGUMENT)?.1.gpu_instance)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetComputeInstanceId(device: Handle, id: Out<c_uint>) -> c_uint {
    call_on("nvmlDeviceGetComputeInstanceId", device.value(), |_, unit| {
        id.put(unit.mig.ok_or(code::INVALID_ARGUMENT)?.1.compute_instance)
    })
}

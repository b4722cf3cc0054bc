// SPDX-License-Identifier: Apache-2.0
//! What changes from moment to moment: memory, utilization, power, temperature.

use super::abi::{Handle, Out};
use super::layout::{MemoryInfo, MemoryInfoV2, UtilizationRates};
use crate::driver::{call_on, code};
use crate::handles::Unit;
use crate::machine::Memory;
use std::ffi::c_uint;

fn memory(unit: Unit<'_>) -> Result<Memory, u32> {
    let of_gpu = || unit.gpu.memory.ok_or(code::NOT_SUPPORTED);
    unit.mig.map_or_else(of_gpu, |(_, instance)| Ok(instance.memory))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMemoryInfo(device: Handle, info: Out<MemoryInfo>) -> c_uint {
    call_on("nvmlDeviceGetMemoryInfo", device.value(), |_, unit| {
        let Memory { total, used, free } = memory(unit)?;
        info.put(MemoryInfo { total, free, used })
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMemoryInfo_v2(device: Handle, info: Out<MemoryInfoV2>) -> c_uint {
    call_on("nvmlDeviceGetMemoryInfo_v2", device.value(), |_, unit| {
        let version = info.version().get()?;
        if version != MemoryInfoV2::VERSION {
            return Err(code::FUNCTION_NOT_FOUND);
        }
        let Memory { total, used, free } = memory(unit)?;
        let reserved = total.saturating_sub(used).saturating_sub(free);
        info.put(MemoryInfoV2 {
            version,
            total,
            reserved,
            free,
            used,
        })
    })
}

/// Not supported while MIG is on, as with the real driver.
#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetUtilizationRates(device: Handle, rates: Out<UtilizationRates>) -> c_uint {
    call_on("nvmlDeviceGetUtilizationRates", device.value(), |_, unit| {
        let known = unit
            .gpu
            .utilization
            .filter(|_| !unit.gpu.mig_enabled())
            .ok_or(code::NOT_SUPPORTED)?;
        rates.put(UtilizationRates {
            gpu: known.gpu,
            memory: known.memory,
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetPowerUsage(device: Handle, milliwatts: Out<c_uint>) -> c_uint {
    call_on("nvmlDeviceGetPowerUsage", device.value(), |_, unit| {
        milliwatts.put(unit.gpu.power_mw.ok_or(code::NOT_SUPPORTED)?)
    })
}

/// Sensor 0, the GPU's own, is the only one there is.
#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetTemperature(device: Handle, sensor: c_uint, degrees: Out<c_uint>) -> c_uint {
    call_on(
        "nvmlDeviceGetTemperature",
        device.value(),
        |_, unit| match sensor {
            0 => degrees.put(unit.gpu.temperature_c.ok_or(code::NOT_SUPPORTED)?),
            _ => Err(code::INVALID_ARGUMENT),
        },
    )
}

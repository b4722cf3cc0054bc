// SPDX-License-Identifier: Apache-2.0
//! Asks NVML how much each GPU is used and by whom. What one GPU keeps to itself is missing from its entry, and one that is
//! out of reach has none: neither keeps the others from being heard.

use crate::domain::estimate::driver_clock::{DriverClock, RawSample};
use crate::domain::estimate::{GpuSample, MemoryUse, Percent, Power, ProcessUse, Sample, Temperature};
use crate::domain::gpu::UnitId;
use crate::system::gpu_identity;
use crate::system::nvml::calls::{Calls, Trouble};
use crate::system::nvml::gpu::{detail, named};
use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// What is remembered of each GPU from sample to sample.
pub(super) type Clocks = BTreeMap<UnitId, DriverClock>;

/// Asks for everything. `true` when NVML has to be started anew before it can say better.
pub(super) fn sample(nvml: &Nvml, calls: &Calls, clocks: &mut Clocks) -> Result<(Sample, bool), Trouble> {
    let count = calls.make("nvmlDeviceGetCount_v2", || nvml.device_count())?;
    let (mut sample, mut reopen) = (Sample::default(), false);
    for index in 0..count {
        match gpu(nvml, index, calls, clocks) {
            Ok(gpu) => sample.gpus.extend(gpu),
            Err(Trouble::Abandoned) => return Err(Trouble::Abandoned),
            // The survey says what is wrong with it.
            Err(trouble) => reopen |= trouble.is_gpu_out_of_reach(),
        }
    }
    clocks.retain(|uuid, _| sample.gpus.iter().any(|gpu| &gpu.uuid == uuid));
    Ok((sample, reopen))
}

/// One GPU; none when its UUID cannot be one.
fn gpu(nvml: &Nvml, index: u32, calls: &Calls, clocks: &mut Clocks) -> Result<Option<GpuSample>, Trouble> {
    let call = |function: &str| format!("{function} on GPU {index}");
    let device = calls.make(&call("nvmlDeviceGetHandleByIndex_v2"), || {
        nvml.device_by_index(index)
    })?;
    let uuid = calls.make(&call("nvmlDeviceGetUUID"), || device.uuid())?;
    let Ok(uuid) = gpu_identity::gpu_uuid(&uuid) else {
        return Ok(None);
    };
    let utilization = detail(calls.make(&call("nvmlDeviceGetUtilizationRates"), || {
        device.utilization_rates()
    }))?;
    let memory = detail(calls.make(&call("nvmlDeviceGetMemoryInfo_v2"), || device.memory_info()))?;
    let running = detail(calls.make(&call("nvmlDeviceGetComputeRunningProcesses_v3"), || {
        device.running_compute_processes()
    }))?;
    let clock = clocks.entry(uuid.clone()).or_default();
    let shares = shares(&device, &call("nvmlDeviceGetProcessUtilization"), calls, clock)?;
    let power = detail(calls.make(&call("nvmlDeviceGetPowerUsage"), || device.power_usage()))?;
    let temperature = detail(calls.make(&call("nvmlDeviceGetTemperature"), || {
        device.temperature(TemperatureSensor::Gpu)
    }))?;
    let running = running.and_then(|running| {
        named(running, |process| process.pid).map(|named| {
            let memory = |used| match used {
                UsedGpuMemory::Used(bytes) => Some(bytes),
                UsedGpuMemory::Unavailable => None,
            };
            named
                .into_iter()
                .map(|process| (process.pid, memory(process.used_gpu_memory)))
                .collect()
        })
    });
    Ok(Some(GpuSample {
        uuid,
        utilization: utilization.and_then(|told| Percent::told(told.gpu)),
        memory: memory.and_then(|told| MemoryUse::told(told.used, told.total)),
        processes: running.map(|running| joined(&running, shares.as_ref())),
        power: power.and_then(Power::told),
        temperature: temperature.and_then(Temperature::told),
    }))
}

/// How much each process computed since the sample before; none when the GPU does not tell.
fn shares(
    device: &Device<'_>,
    call: &str,
    calls: &Calls,
    clock: &mut DriverClock,
) -> Result<Option<BTreeMap<u32, Percent>>, Trouble> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    let now = now.and_then(|now| u64::try_from(now.as_micros()).ok());
    let told = match calls.make(call, || device.process_utilization_stats(clock.last_seen())) {
        // So it says that there is no sample.
        Err(Trouble::Failed {
            error: NvmlError::NotFound,
            ..
        }) => Some(Vec::new()),
        told => detail(told)?,
    };
    let (Some(now), Some(told)) = (now, told) else {
        return Ok(None);
    };
    let raw: Vec<RawSample> = told
        .iter()
        .map(|sample| RawSample {
            pid: sample.pid,
            time_stamp: sample.timestamp,
            utilization: sample.sm_util,
        })
        .collect();
    Ok(clock.read(now, &raw))
}

/// The processes that run or computed a moment ago. One of which there is no sample did not compute; of one that is not
/// listed any more nobody says what memory it holds.
fn joined(running: &BTreeMap<u32, Option<u64>>, shares: Option<&BTreeMap<u32, Percent>>) -> Vec<ProcessUse> {
    let idle = shares.and_then(|_| Percent::told(0));
    let listed = running.iter().map(|(pid, memory)| ProcessUse {
        pid: *pid,
        utilization: shares.and_then(|shares| shares.get(pid)).copied().or(idle),
        memory: *memory,
    });
    let unlisted = shares.into_iter().flatten();
    let unlisted = unlisted.filter(|(pid, _)| !running.contains_key(pid));
    listed
        .chain(unlisted.map(|(pid, share)| ProcessUse {
            pid: *pid,
            utilization: Some(*share),
            memory: None,
        }))
        .collect()
}

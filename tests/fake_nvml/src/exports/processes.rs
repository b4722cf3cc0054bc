// SPDX-License-Identifier: Apache-2.0
//! Which processes use a GPU, and how much.

use super::abi::{Buffer, Handle, Out};
use super::layout::{NO_INSTANCE, ProcessInfo, ProcessInfoV1, ProcessSample, VALUE_NOT_AVAILABLE};
use crate::driver::{call_on, code};
use crate::handles::Unit;
use crate::machine::Process;
use std::ffi::{c_uint, c_ulonglong};
use std::time::{SystemTime, UNIX_EPOCH};

/// How many samples the real driver asks room for, whatever there is.
const SAMPLE_ROOM: usize = 72;

/// The processes of the GPU, or of the MIG instance.
fn processes(unit: Unit<'_>) -> impl Iterator<Item = &Process> {
    unit.gpu.processes.iter().filter(move |process| match unit.mig {
        None => true,
        Some((_, instance)) => {
            process.gpu_instance == Some(instance.gpu_instance)
                && process.compute_instance == Some(instance.compute_instance)
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetComputeRunningProcesses(
    device: Handle,
    count: Out<c_uint>,
    infos: Buffer<ProcessInfoV1>,
) -> c_uint {
    call_on(
        "nvmlDeviceGetComputeRunningProcesses",
        device.value(),
        |_, unit| {
            let known = processes(unit).map(|process| ProcessInfoV1 {
                pid: process.pid,
                used_gpu_memory: process.used_memory.unwrap_or(VALUE_NOT_AVAILABLE),
            });
            infos.fill(&count, &known.collect::<Vec<_>>())
        },
    )
}

fn running(
    function: &'static str,
    device: Handle,
    count: &Out<c_uint>,
    infos: &Buffer<ProcessInfo>,
) -> c_uint {
    call_on(function, device.value(), |_, unit| {
        let known = processes(unit).map(|process| ProcessInfo {
            pid: process.pid,
            used_gpu_memory: process.used_memory.unwrap_or(VALUE_NOT_AVAILABLE),
            gpu_instance_id: process.gpu_instance.unwrap_or(NO_INSTANCE),
            compute_instance_id: process.compute_instance.unwrap_or(NO_INSTANCE),
        });
        infos.fill(count, &known.collect::<Vec<_>>())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetComputeRunningProcesses_v2(
    device: Handle,
    count: Out<c_uint>,
    infos: Buffer<ProcessInfo>,
) -> c_uint {
    running("nvmlDeviceGetComputeRunningProcesses_v2", device, &count, &infos)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(
    device: Handle,
    count: Out<c_uint>,
    infos: Buffer<ProcessInfo>,
) -> c_uint {
    running("nvmlDeviceGetComputeRunningProcesses_v3", device, &count, &infos)
}

/// Unless the machine says otherwise samples carry the present time, so every process has a new one at each call, an idle
/// one too. As with the real driver there is none for a time that is yet to come, and then the count is left as it is; and
/// none at all while MIG is on.
#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetProcessUtilization(
    device: Handle,
    samples: Buffer<ProcessSample>,
    count: Out<c_uint>,
    last_seen: c_ulonglong,
) -> c_uint {
    call_on("nvmlDeviceGetProcessUtilization", device.value(), |_, unit| {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_err(|_| code::UNKNOWN)?;
        let now = c_ulonglong::try_from(since_epoch.as_micros()).map_err(|_| code::UNKNOWN)?;
        if unit.gpu.no_process_samples || unit.gpu.mig_enabled() {
            return Err(code::NOT_SUPPORTED);
        }
        let time_stamp = unit.gpu.sampled_at.unwrap_or(now);
        let fresh = processes(unit)
            .filter(|_| now > last_seen)
            .map(|process| ProcessSample {
                pid: process.pid,
                time_stamp,
                sm_util: process.sm_util,
                mem_util: process.mem_util,
                enc_util: 0,
                dec_util: 0,
            });
        let fresh: Vec<_> = fresh.collect();
        if samples.is_absent() {
            let room = c_uint::try_from(fresh.len().max(SAMPLE_ROOM)).map_err(|_| code::UNKNOWN)?;
            count.put(room)?;
            return Err(code::INSUFFICIENT_SIZE);
        }
        if fresh.is_empty() {
            return Err(code::NOT_FOUND);
        }
        samples.fill(&count, &fresh)
    })
}

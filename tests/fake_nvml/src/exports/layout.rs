// SPDX-License-Identifier: Apache-2.0
//! NVML's structs, byte for byte. Pinned here by size, because a wrong one would write past the caller's memory.

use super::abi::Handle;
use std::ffi::{c_char, c_uint, c_ulonglong};

/// `nvmlPciInfo_t`.
#[repr(C)]
pub(crate) struct PciInfo {
    pub(crate) bus_id_legacy: [c_char; 16],
    pub(crate) domain: c_uint,
    pub(crate) bus: c_uint,
    pub(crate) device: c_uint,
    pub(crate) pci_device_id: c_uint,
    pub(crate) pci_sub_system_id: c_uint,
    pub(crate) bus_id: [c_char; 32],
}

/// `nvmlMemory_t`.
#[repr(C)]
pub(crate) struct MemoryInfo {
    pub(crate) total: c_ulonglong,
    pub(crate) free: c_ulonglong,
    pub(crate) used: c_ulonglong,
}

/// `nvmlMemory_v2_t`.
#[repr(C)]
pub(crate) struct MemoryInfoV2 {
    pub(crate) version: c_uint,
    pub(crate) total: c_ulonglong,
    pub(crate) reserved: c_ulonglong,
    pub(crate) free: c_ulonglong,
    pub(crate) used: c_ulonglong,
}

impl MemoryInfoV2 {
    /// What the caller must put in front: the struct's size and, in the top byte, its version.
    pub(crate) const VERSION: c_uint = 40 | 2 << 24;
}

/// `nvmlUtilization_t`.
#[repr(C)]
pub(crate) struct UtilizationRates {
    pub(crate) gpu: c_uint,
    pub(crate) memory: c_uint,
}

/// `nvmlProcessInfo_v1_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct ProcessInfoV1 {
    pub(crate) pid: c_uint,
    pub(crate) used_gpu_memory: c_ulonglong,
}

/// `nvmlProcessInfo_v2_t`, which version 3 of the functions uses as well.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct ProcessInfo {
    pub(crate) pid: c_uint,
    pub(crate) used_gpu_memory: c_ulonglong,
    pub(crate) gpu_instance_id: c_uint,
    pub(crate) compute_instance_id: c_uint,
}

/// `nvmlProcessUtilizationSample_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct ProcessSample {
    pub(crate) pid: c_uint,
    pub(crate) time_stamp: c_ulonglong,
    pub(crate) sm_util: c_uint,
    pub(crate) mem_util: c_uint,
    pub(crate) enc_util: c_uint,
    pub(crate) dec_util: c_uint,
}

/// `nvmlEventData_t` before it learned of MIG; what the unversioned wait fills in.
#[repr(C)]
pub(crate) struct EventDataV1 {
    pub(crate) device: Handle,
    pub(crate) event_type: c_ulonglong,
    pub(crate) event_data: c_ulonglong,
}

/// `nvmlEventData_t`.
#[repr(C)]
pub(crate) struct EventData {
    pub(crate) v1: EventDataV1,
    pub(crate) gpu_instance_id: c_uint,
    pub(crate) compute_instance_id: c_uint,
}

/// "No such instance", where an instance number is expected.
pub(crate) const NO_INSTANCE: c_uint = c_uint::MAX;

/// "Not told", where bytes of memory are expected.
pub(crate) const VALUE_NOT_AVAILABLE: c_ulonglong = c_ulonglong::MAX;

const _: () = {
    assert!(size_of::<PciInfo>() == 68);
    assert!(size_of::<MemoryInfo>() == 24);
    assert!(size_of::<MemoryInfoV2>() == 40);
    assert!(size_of::<UtilizationRates>() == 8);
    assert!(size_of::<ProcessInfoV1>() == 16);
    assert!(size_of::<ProcessInfo>() == 24);
    assert!(size_of::<ProcessSample>() == 32);
    assert!(size_of::<EventDataV1>() == 24);
    assert!(size_of::<EventData>() == 32);
};

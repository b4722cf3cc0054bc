// SPDX-License-Identifier: Apache-2.0
//! Who a GPU is and where it sits: what does not change while the machine runs (unless a test makes it).

use super::abi::{Buffer, Handle, Out};
use super::layout::PciInfo;
use crate::driver::{call_on, code, with_state};
use crate::machine::{Gpu, Level};
use std::ffi::{c_char, c_int, c_uint, c_ulong};

/// NVIDIA's vendor number behind the H200's device number, and a board's subsystem number.
const PCI_DEVICE_ID: c_uint = 0x2335_10de;
const PCI_SUB_SYSTEM_ID: c_uint = 0x18bf_10de;

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetIndex(device: Handle, index: Out<c_uint>) -> c_uint {
    call_on("nvmlDeviceGetIndex", device.value(), |_, unit| {
        index.put(unit.mig.map_or(unit.gpu.index, |(number, _)| number))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetUUID(device: Handle, uuid: Buffer<c_char>, length: c_uint) -> c_uint {
    call_on("nvmlDeviceGetUUID", device.value(), |_, unit| {
        uuid.put(
            unit.mig.map_or(&unit.gpu.uuid, |(_, instance)| &instance.uuid),
            length,
        )
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetName(device: Handle, name: Buffer<c_char>, length: c_uint) -> c_uint {
    call_on("nvmlDeviceGetName", device.value(), |_, unit| match unit.mig {
        None => name.put(&unit.gpu.name, length),
        Some((_, instance)) => name.put(&format!("{} MIG {}", unit.gpu.name, instance.profile), length),
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMinorNumber(device: Handle, minor: Out<c_uint>) -> c_uint {
    call_on("nvmlDeviceGetMinorNumber", device.value(), |_, unit| {
        match unit.mig {
            None => minor.put(unit.gpu.minor),
            Some(_) => Err(code::INVALID_ARGUMENT),
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetPciInfo_v2(device: Handle, info: Out<PciInfo>) -> c_uint {
    pci_info("nvmlDeviceGetPciInfo_v2", device, &info)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetPciInfo_v3(device: Handle, info: Out<PciInfo>) -> c_uint {
    pci_info("nvmlDeviceGetPciInfo_v3", device, &info)
}

fn pci_info(function: &'static str, device: Handle, out: &Out<PciInfo>) -> c_uint {
    call_on(function, device.value(), |_, unit| {
        let (domain, bus, device) = pci_parts(&unit.gpu.pci).ok_or(code::UNKNOWN)?;
        out.put(PciInfo {
            bus_id_legacy: characters(&format!("{domain:04X}:{bus:02X}:{device:02X}.0")),
            domain,
            bus,
            device,
            pci_device_id: PCI_DEVICE_ID,
            pci_sub_system_id: PCI_SUB_SYSTEM_ID,
            bus_id: characters(&format!("{domain:08X}:{bus:02X}:{device:02X}.0")),
        })
    })
}

/// Domain, bus and device of an address with or without domain and function.
pub(super) fn pci_parts(address: &str) -> Option<(u32, u32, u32)> {
    let without_function = address.split_once('.').map_or(address, |(parts, _)| parts);
    let parts: Option<Vec<u32>> = without_function
        .split(':')
        .map(|part| u32::from_str_radix(part, 16).ok())
        .collect();
    match parts?[..] {
        [domain, bus, device] => Some((domain, bus, device)),
        [bus, device] => Some((0, bus, device)),
        _ => None,
    }
}

/// A text in a field of fixed size, cut where it would leave no room for the final zero.
fn characters<const N: usize>(text: &str) -> [c_char; N] {
    let mut field = [0; N];
    for (place, byte) in field.iter_mut().take(N - 1).zip(text.bytes()) {
        *place = byte.cast_signed();
    }
    field
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetBrand(device: Handle, brand: Out<c_uint>) -> c_uint {
    call_on("nvmlDeviceGetBrand", device.value(), |_, unit| {
        brand.put(unit.gpu.brand.ok_or(code::NOT_SUPPORTED)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetCudaComputeCapability(
    device: Handle,
    major: Out<c_int>,
    minor: Out<c_int>,
) -> c_uint {
    call_on("nvmlDeviceGetCudaComputeCapability", device.value(), |_, unit| {
        let (whole, part) = unit.gpu.compute_capability.ok_or(code::NOT_SUPPORTED)?;
        major.put(whole)?;
        minor.put(part)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetNumaNodeId(device: Handle, node: Out<c_uint>) -> c_uint {
    // Only GPUs whose memory is a node of its own have one; where the others are near to, the memory affinity says.
    let _ = node;
    call_on("nvmlDeviceGetNumaNodeId", device.value(), |_, _| {
        Err(code::NOT_SUPPORTED)
    })
}

/// A mask of NUMA nodes in words of the machine's size.
#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMemoryAffinity(
    device: Handle,
    words: c_uint,
    nodes: Buffer<c_ulong>,
    _scope: c_uint,
) -> c_uint {
    call_on("nvmlDeviceGetMemoryAffinity", device.value(), |_, unit| {
        let node = unit.gpu.numa_node.ok_or(code::NOT_SUPPORTED)?;
        let word = usize::try_from(node / c_ulong::BITS).map_err(|_| code::UNKNOWN)?;
        let mut mask: Vec<c_ulong> = vec![0; usize::try_from(words).map_err(|_| code::INVALID_ARGUMENT)?];
        *mask.get_mut(word).ok_or(code::INSUFFICIENT_SIZE)? = 1 << (node % c_ulong::BITS);
        nodes.put_all(&mask)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetTopologyCommonAncestor(
    first: Handle,
    second: Handle,
    level: Out<c_uint>,
) -> c_uint {
    call_on(
        "nvmlDeviceGetTopologyCommonAncestor",
        first.value(),
        |machine, unit| {
            let target = with_state(|state| state.handles.target(second.value()));
            let other = machine
                .unit(&target.ok_or(code::INVALID_ARGUMENT)?)
                .ok_or(code::GPU_IS_LOST)?;
            if unit.gpu.uuid == other.gpu.uuid {
                return Err(code::NOT_SUPPORTED);
            }
            level.put(match nearness(unit.gpu, other.gpu) {
                Level::Internal => 0,
                Level::Single => 10,
                Level::Multiple => 20,
                Level::Hostbridge => 30,
                Level::Node => 40,
                Level::System => 50,
            })
        },
    )
}

fn nearness(first: &Gpu, second: &Gpu) -> Level {
    let told = |from: &Gpu, to: &Gpu| {
        from.topology
            .iter()
            .find(|link| link.gpu == to.index)
            .map(|link| link.level)
    };
    if first.index == second.index {
        return Level::Internal;
    }
    let untold = if first.numa_node == second.numa_node {
        Level::Node
    } else {
        Level::System
    };
    told(first, second)
        .or_else(|| told(second, first))
        .unwrap_or(untold)
}

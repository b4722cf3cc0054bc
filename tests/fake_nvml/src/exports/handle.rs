// SPDX-License-Identifier: Apache-2.0
//! How a program gets hold of a GPU: by index, UUID or PCI address.

use super::abi::{Handle, Out, Text};
use super::identity::pci_parts;
use crate::driver::{Answer, call_choosing, code, guarded, with_state};
use crate::handles::Target;
use crate::machine::Machine;
use std::ffi::c_uint;

pub(super) fn give(out: &Out<Handle>, target: &Target) -> Answer {
    let handle = with_state(|state| state.handles.give(target.clone()));
    out.put(Handle::new(handle))
}

fn by_index(function: &'static str, index: c_uint, out: &Out<Handle>) -> c_uint {
    let choose = |machine: &Machine| machine.visible().find(|gpu| gpu.index == index).map(Target::gpu);
    call_choosing(function, code::INVALID_ARGUMENT, choose, |target| {
        give(out, target)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetHandleByIndex(index: c_uint, device: Out<Handle>) -> c_uint {
    by_index("nvmlDeviceGetHandleByIndex", index, &device)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, device: Out<Handle>) -> c_uint {
    by_index("nvmlDeviceGetHandleByIndex_v2", index, &device)
}

/// Of a GPU or of a MIG instance.
fn with_uuid(machine: &Machine, uuid: &str) -> Option<Target> {
    machine.visible().find_map(|gpu| {
        if gpu.uuid == uuid {
            return Some(Target::gpu(gpu));
        }
        let instance = gpu.instances().find(|(_, instance)| instance.uuid == uuid);
        instance.map(|(_, instance)| Target::mig(gpu, instance))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetHandleByUUID(uuid: Text, device: Out<Handle>) -> c_uint {
    nested(|| {
        let uuid = uuid.get()?;
        let choose = |machine: &Machine| with_uuid(machine, &uuid);
        Ok(call_choosing(
            "nvmlDeviceGetHandleByUUID",
            code::NOT_FOUND,
            choose,
            |target| give(&device, target),
        ))
    })
}

fn by_pci(function: &'static str, address: &Text, out: &Out<Handle>) -> c_uint {
    nested(|| {
        let wanted = pci_parts(&address.get()?).ok_or(code::INVALID_ARGUMENT)?;
        let choose = |machine: &Machine| {
            let gpu = machine.visible().find(|gpu| pci_parts(&gpu.pci) == Some(wanted));
            gpu.map(Target::gpu)
        };
        Ok(call_choosing(function, code::NOT_FOUND, choose, |target| {
            give(out, target)
        }))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetHandleByPciBusId(address: Text, device: Out<Handle>) -> c_uint {
    by_pci("nvmlDeviceGetHandleByPciBusId", &address, &device)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(address: Text, device: Out<Handle>) -> c_uint {
    by_pci("nvmlDeviceGetHandleByPciBusId_v2", &address, &device)
}

/// A call whose parameters are read, and may be wrong, before it is known what it is about.
fn nested(work: impl FnOnce() -> Result<c_uint, u32>) -> c_uint {
    guarded(|| match work()? {
        code::SUCCESS => Ok(()),
        other => Err(other),
    })
}

// SPDX-License-Identifier: Apache-2.0
//! Events. The machine file lists what happened; a waiting program is told each entry once, also when it is added while
//! the program waits.

use super::abi::{Handle, Out};
use super::layout::{EventData, EventDataV1, NO_INSTANCE};
use crate::driver::{Answer, State, call, call_on, code, machine, with_state};
use crate::fault::TICK;
use crate::handles::Target;
use crate::machine::{Event, Machine};
use std::collections::BTreeMap;
use std::ffi::{c_uint, c_ulonglong};
use std::time::{Duration, Instant};

/// What an H200 with the driver 580 supports.
const SUPPORTED: c_ulonglong = 0xff9f;

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetSupportedEventTypes(device: Handle, types: Out<c_ulonglong>) -> c_uint {
    call_on("nvmlDeviceGetSupportedEventTypes", device.value(), |_, _| {
        types.put(SUPPORTED)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlEventSetCreate(set: Out<Handle>) -> c_uint {
    call("nvmlEventSetCreate", |_| {
        let number = with_state(|state| {
            state.last_event_set += 1;
            state.event_sets.insert(state.last_event_set, BTreeMap::new());
            state.last_event_set
        });
        set.put(Handle::new(number))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlEventSetFree(set: Handle) -> c_uint {
    call("nvmlEventSetFree", |_| {
        let freed = with_state(|state| state.event_sets.remove(&set.value()));
        freed.map(|_| ()).ok_or(code::INVALID_ARGUMENT)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceRegisterEvents(device: Handle, types: c_ulonglong, set: Handle) -> c_uint {
    call_on("nvmlDeviceRegisterEvents", device.value(), |_, unit| {
        if unit.mig.is_some() || types & !SUPPORTED != 0 {
            return Err(code::NOT_SUPPORTED);
        }
        with_state(|state| {
            let set = state
                .event_sets
                .get_mut(&set.value())
                .ok_or(code::INVALID_ARGUMENT)?;
            *set.entry(unit.gpu.uuid.clone()).or_default() |= types;
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlEventSetWait(set: Handle, data: Out<EventDataV1>, timeout_ms: c_uint) -> c_uint {
    wait("nvmlEventSetWait", set, timeout_ms, |event| data.put(event))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlEventSetWait_v2(set: Handle, data: Out<EventData>, timeout_ms: c_uint) -> c_uint {
    wait("nvmlEventSetWait_v2", set, timeout_ms, |v1| {
        data.put(EventData {
            v1,
            gpu_instance_id: NO_INSTANCE,
            compute_instance_id: NO_INSTANCE,
        })
    })
}

fn wait(
    function: &'static str,
    set: Handle,
    timeout_ms: c_uint,
    tell: impl FnOnce(EventDataV1) -> Answer,
) -> c_uint {
    call(function, |_| {
        let end = Instant::now() + Duration::from_millis(timeout_ms.into());
        loop {
            let machine = machine()?;
            if let Some(fault) = machine.fault_of(function, None).filter(|fault| fault.code != 0) {
                return Err(fault.code);
            }
            if let Some((handle, event)) = with_state(|state| next(state, set.value(), &machine))? {
                let device = Handle::new(handle);
                return tell(EventDataV1 {
                    device,
                    event_type: event.kind,
                    event_data: event.data,
                });
            }
            if Instant::now() >= end {
                return Err(code::TIMEOUT);
            }
            std::thread::sleep(TICK);
        }
    })
}

/// The next event that the set asks for, with its GPU's handle. Events that it does not ask for are passed over.
fn next(state: &mut State, set: usize, machine: &Machine) -> Result<Option<(usize, Event)>, u32> {
    let registered = state.event_sets.get(&set).ok_or(code::INVALID_ARGUMENT)?;
    for gpu in machine.visible() {
        let Some(types) = registered.get(&gpu.uuid) else {
            continue;
        };
        let told = state.told.entry(gpu.uuid.clone()).or_default();
        if !gpu.events.starts_with(told) {
            // Not the old list with something added: a new one.
            told.clear();
        }
        while let Some(event) = gpu.events.get(told.len()).copied() {
            told.push(event);
            if event.kind & types != 0 {
                return Ok(Some((state.handles.give(Target::gpu(gpu)), event)));
            }
        }
    }
    Ok(None)
}

// SPDX-License-Identifier: Apache-2.0
//! Initialisation and what is asked of the driver as a whole.

use super::abi::{Buffer, Out};
use crate::driver::{call, call_uninitialized, code, guarded, with_state};
use std::ffi::{CStr, c_char, c_int, c_uint};

fn init(function: &'static str) -> c_uint {
    call_uninitialized(function, |_| {
        with_state(|state| state.users += 1);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlInit() -> c_uint {
    init("nvmlInit")
}

#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> c_uint {
    init("nvmlInit_v2")
}

#[unsafe(no_mangle)]
extern "C" fn nvmlInitWithFlags(_flags: c_uint) -> c_uint {
    init("nvmlInitWithFlags")
}

#[unsafe(no_mangle)]
extern "C" fn nvmlShutdown() -> c_uint {
    call("nvmlShutdown", |_| {
        with_state(|state| {
            state.users = state.users.saturating_sub(1);
            if state.users == 0 {
                state.event_sets.clear();
            }
        });
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlSystemGetDriverVersion(version: Buffer<c_char>, length: c_uint) -> c_uint {
    call("nvmlSystemGetDriverVersion", |machine| {
        version.put(&machine.driver_version, length)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlSystemGetNVMLVersion(version: Buffer<c_char>, length: c_uint) -> c_uint {
    call("nvmlSystemGetNVMLVersion", |machine| {
        // The library's own number: that of CUDA in front of the driver's.
        let cuda = machine.cuda_version / 1000;
        version.put(&format!("{cuda}.{}", machine.driver_version), length)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlSystemGetCudaDriverVersion(version: Out<c_int>) -> c_uint {
    call("nvmlSystemGetCudaDriverVersion", |machine| {
        version.put(machine.cuda_version)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlSystemGetCudaDriverVersion_v2(version: Out<c_int>) -> c_uint {
    call("nvmlSystemGetCudaDriverVersion_v2", |machine| {
        version.put(machine.cuda_version)
    })
}

fn count(function: &'static str, out: &Out<c_uint>) -> c_uint {
    call(function, |machine| {
        out.put(c_uint::try_from(machine.visible().count()).map_err(|_| code::UNKNOWN)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetCount(out: Out<c_uint>) -> c_uint {
    count("nvmlDeviceGetCount", &out)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetCount_v2(out: Out<c_uint>) -> c_uint {
    count("nvmlDeviceGetCount_v2", &out)
}

/// Never faulty: it is what faults are told with.
#[unsafe(no_mangle)]
extern "C" fn nvmlErrorString(result: c_uint) -> *const c_char {
    let mut text: &'static CStr = c"unknown code";
    guarded(|| {
        text = error_text(result);
        Ok(())
    });
    text.as_ptr()
}

fn error_text(result: c_uint) -> &'static CStr {
    match result {
        0 => c"success",
        1 => c"uninitialized",
        2 => c"invalid argument",
        3 => c"not supported",
        4 => c"no permission",
        6 => c"not found",
        7 => c"insufficient size",
        8 => c"insufficient power",
        9 => c"driver not loaded",
        10 => c"timeout",
        11 => c"interrupt request issue",
        12 => c"library not found",
        13 => c"function not found",
        14 => c"corrupted infoROM",
        15 => c"GPU is lost",
        16 => c"GPU requires reset",
        17 => c"operating system refused",
        18 => c"driver and library versions differ",
        19 => c"in use",
        20 => c"out of memory",
        21 => c"no data",
        23 => c"insufficient resources",
        25 => c"argument version mismatch",
        27 => c"not ready",
        28 => c"GPU not found",
        29 => c"invalid state",
        999 => c"unknown error",
        _ => c"unknown code",
    }
}

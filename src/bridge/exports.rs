// SPDX-License-Identifier: Apache-2.0
//! The module records: what Mesos finds by `dlsym`, under the module's name.
//!
//! They are Rust statics because a Rust `cdylib` exports nothing else; they point at texts and factories that C++ holds.
//! `cpp/module_record.cpp` proves that eight pointers in this order are what Mesos reads (`mesos::modules::Module`).

use std::ffi::{c_char, c_void};

// Only the records leave the library; build.rs says how.
std::arch::global_asm!(include_str!(concat!(env!("OUT_DIR"), "/hidden.s")), options(raw));

#[repr(C)]
struct ModuleRecord {
    module_api_version: *const c_char,
    mesos_version: *const c_char,
    kind: *const c_char,
    author_name: *const c_char,
    author_email: *const c_char,
    description: *const c_char,
    /// None asks Mesos for equal versions, which is what a library bound to object layouts needs.
    compatible: Option<unsafe extern "C" fn() -> bool>,
    create: unsafe extern "C" fn(parameters: *const c_void) -> *mut c_void,
}

// SAFETY: `Sync` asks that shared references may be used from any thread; the fields are link-time addresses of constants
// and functions, and nothing writes them.
unsafe impl Sync for ModuleRecord {}

unsafe extern "C" {
    static mesos_gpu_module_api_version: c_char;
    static mesos_gpu_mesos_version: c_char;
    fn mesos_gpu_create_isolator(parameters: *const c_void) -> *mut c_void;
    fn mesos_gpu_create_hook(parameters: *const c_void) -> *mut c_void;
    fn mesos_gpu_create_allocator(parameters: *const c_void) -> *mut c_void;
    fn mesos_gpu_create_resource_estimator(parameters: *const c_void) -> *mut c_void;
    fn mesos_gpu_create_qos_controller(parameters: *const c_void) -> *mut c_void;
}

const fn record(
    kind: &'static std::ffi::CStr,
    description: &'static std::ffi::CStr,
    create: unsafe extern "C" fn(parameters: *const c_void) -> *mut c_void,
) -> ModuleRecord {
    ModuleRecord {
        module_api_version: &raw const mesos_gpu_module_api_version,
        mesos_version: &raw const mesos_gpu_mesos_version,
        kind: kind.as_ptr(),
        author_name: c"mesos-gpu".as_ptr(),
        // Mesos refuses a record without an address; the project has no mail box.
        author_email: c"mesos-gpu@localhost".as_ptr(),
        description: description.as_ptr(),
        compatible: None,
        create,
    }
}

#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)] // The name is the module's name.
static mesos_gpu_Isolator: ModuleRecord = record(
    c"Isolator",
    c"gives containers exclusive NVIDIA GPUs",
    mesos_gpu_create_isolator,
);

#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)] // The name is the module's name.
static mesos_gpu_Hook: ModuleRecord = record(
    c"Hook",
    c"advertises the NVIDIA GPUs of an agent",
    mesos_gpu_create_hook,
);

#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)] // The name is the module's name.
static mesos_gpu_Allocator: ModuleRecord = record(
    c"Allocator",
    c"decides what of an agent with NVIDIA GPUs a framework is offered",
    mesos_gpu_create_allocator,
);

#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)] // The name is the module's name.
static mesos_gpu_ResourceEstimator: ModuleRecord = record(
    c"ResourceEstimator",
    c"offers NVIDIA GPUs that their holders leave idle a second time, as revocable",
    mesos_gpu_create_resource_estimator,
);

#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)] // The name is the module's name.
static mesos_gpu_QoSController: ModuleRecord = record(
    c"QoSController",
    c"ends those who use an NVIDIA GPU that its holder wants back",
    mesos_gpu_create_qos_controller,
);

// SPDX-License-Identifier: Apache-2.0
//! The functions that `nvml-wrapper` does not call, by their bare symbols: what Mesos's built-in `gpu/nvidia` uses, and
//! the older versions of others.

// The helpers outside of the test functions are tests as well.
#![allow(clippy::unwrap_used)]

use fake_nvml::{Fault, Machine, Process, Simulation};
use libloading::{Library, Symbol};
use std::ffi::{CStr, c_char, c_uint, c_ulonglong, c_void};
use std::ptr::null_mut;

type Handle = *mut c_void;
type Ask<T> = extern "C" fn(Handle, *mut T) -> c_uint;

/// A simulated library, opened as a program without a wrapper does.
struct Raw {
    library: Library,
    simulation: Simulation,
    _folder: tempfile::TempDir,
}

impl Raw {
    fn open(machine: &Machine) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let simulation = Simulation::lay_out(folder.path(), machine).unwrap();
        // SAFETY: `new` asks that the library's initialisers are sound: a Rust library has none of its own.
        let library = unsafe { Library::new(simulation.library()) }.unwrap();
        Self {
            library,
            simulation,
            _folder: folder,
        }
    }

    fn function<T>(&self, name: &str) -> Symbol<'_, T> {
        // SAFETY: `get` asks that the symbol has the type `T`: each test writes NVML's signature of the name.
        unsafe { self.library.get(name.as_bytes()) }.unwrap()
    }

    fn init(&self) -> c_uint {
        self.function::<extern "C" fn() -> c_uint>("nvmlInit_v2")()
    }

    fn handle(&self, index: c_uint) -> Handle {
        let mut handle = null_mut();
        let by_index: Symbol<'_, extern "C" fn(c_uint, *mut Handle) -> c_uint> =
            self.function("nvmlDeviceGetHandleByIndex");
        assert_eq!(by_index(index, &raw mut handle), 0);
        handle
    }

    fn ask<T: Default>(&self, name: &str, handle: Handle) -> (c_uint, T) {
        let mut value = T::default();
        let code = self.function::<Ask<T>>(name)(handle, &raw mut value);
        (code, value)
    }
}

#[test]
fn the_six_functions_of_the_built_in_isolator_work_without_a_wrapper() {
    let raw = Raw::open(&Machine::with_gpus(3));
    let count: Symbol<'_, extern "C" fn(*mut c_uint) -> c_uint> = raw.function("nvmlDeviceGetCount");
    let mut number = 0;
    assert_eq!(count(&raw mut number), 1, "not initialised yet");
    assert_eq!(raw.init(), 0);
    assert_eq!((count(&raw mut number), number), (0, 3));
    assert_eq!(count(null_mut()), 2);

    let mut text: [c_char; 80] = [1; 80];
    let version: Symbol<'_, extern "C" fn(*mut c_char, c_uint) -> c_uint> =
        raw.function("nvmlSystemGetDriverVersion");
    assert_eq!(version(text.as_mut_ptr(), 10), 7);
    assert_eq!(version(text.as_mut_ptr(), 80), 0);
    // SAFETY: `from_ptr` asks for a text with a final zero: the call above succeeded, so there is one.
    assert_eq!(unsafe { CStr::from_ptr(text.as_ptr()) }, c"580.159.04");

    assert_eq!(
        raw.ask::<c_uint>("nvmlDeviceGetMinorNumber", raw.handle(0)),
        (0, 2)
    );
    let error: Symbol<'_, extern "C" fn(c_uint) -> *const c_char> = raw.function("nvmlErrorString");
    // SAFETY: `from_ptr` asks for a text with a final zero that lasts: NVML's error texts do.
    assert_eq!(unsafe { CStr::from_ptr(error(15)) }, c"GPU is lost");
    // SAFETY: as above.
    assert_eq!(unsafe { CStr::from_ptr(error(4242)) }, c"unknown code");
}

#[test]
fn handles_that_never_were_given_out_are_invalid() {
    let raw = Raw::open(&Machine::with_gpus(1));
    assert_eq!(raw.init(), 0);
    let known = raw.handle(0);
    for wrong in [
        null_mut(),
        known.wrapping_byte_add(1),
        known.wrapping_byte_add(0x100),
    ] {
        assert_eq!(raw.ask::<c_uint>("nvmlDeviceGetIndex", wrong).0, 2);
    }
}

#[test]
fn mig_instances_have_their_numbers() {
    let mut machine = Machine::with_gpus(1);
    machine.gpus[0] = machine.gpus[0].clone().with_mig(&["1g.18gb", "1g.18gb"]);
    let raw = Raw::open(&machine);
    assert_eq!(raw.init(), 0);
    let whole = raw.handle(0);
    let mut instance = null_mut();
    let by_index: Symbol<'_, extern "C" fn(Handle, c_uint, *mut Handle) -> c_uint> =
        raw.function("nvmlDeviceGetMigDeviceHandleByIndex");
    assert_eq!(by_index(whole, 1, &raw mut instance), 0);
    assert_eq!(raw.ask::<c_uint>("nvmlDeviceGetGpuInstanceId", instance), (0, 2));
    assert_eq!(
        raw.ask::<c_uint>("nvmlDeviceGetComputeInstanceId", instance),
        (0, 0)
    );
    assert_eq!(raw.ask::<c_uint>("nvmlDeviceGetMinorNumber", instance).0, 2);
    assert_eq!(raw.ask::<c_uint>("nvmlDeviceGetGpuInstanceId", whole).0, 2);
}

/// As driver 580 was seen to answer on an H200 without MIG.
#[test]
fn what_a_gpu_does_not_have_is_refused_by_the_code_of_the_real_driver() {
    let raw = Raw::open(&Machine::with_gpus(2));
    assert_eq!(raw.init(), 0);
    let (gpu, other) = (raw.handle(0), raw.handle(1));
    let mut instance = null_mut();
    let by_index: Symbol<'_, extern "C" fn(Handle, c_uint, *mut Handle) -> c_uint> =
        raw.function("nvmlDeviceGetMigDeviceHandleByIndex");
    assert_eq!(by_index(gpu, 0, &raw mut instance), 6);
    assert_eq!(by_index(gpu, 99, &raw mut instance), 6);
    assert_eq!(raw.ask::<c_uint>("nvmlDeviceGetNumaNodeId", gpu).0, 3);
    let mut level = 0;
    let ancestor: Symbol<'_, extern "C" fn(Handle, Handle, *mut c_uint) -> c_uint> =
        raw.function("nvmlDeviceGetTopologyCommonAncestor");
    assert_eq!(ancestor(gpu, gpu, &raw mut level), 3);
    assert_eq!(ancestor(gpu, other, &raw mut level), 0);
}

#[test]
fn older_versions_fill_the_older_layouts() {
    let mut machine = Machine::with_gpus(1);
    let process = |pid| Process {
        pid,
        used_memory: Some(64),
        sm_util: 1,
        mem_util: 1,
        gpu_instance: None,
        compute_instance: None,
    };
    machine.gpus[0].processes = vec![process(11), process(12)];
    let raw = Raw::open(&machine);
    assert_eq!(raw.init(), 0);
    let gpu = raw.handle(0);

    let total = 143_771 << 20;
    assert_eq!(
        raw.ask::<[c_ulonglong; 3]>("nvmlDeviceGetMemoryInfo", gpu),
        (0, [total, total, 0])
    );
    let mut versioned = [1 << 24 | 40, 0, 0, 0, 0];
    let memory = raw.function::<Ask<[c_ulonglong; 5]>>("nvmlDeviceGetMemoryInfo_v2");
    assert_eq!(memory(gpu, &raw mut versioned), 13, "a version that is not known");
    versioned[0] = 2 << 24 | 40;
    assert_eq!((memory(gpu, &raw mut versioned), versioned[1]), (0, total));

    type Running = extern "C" fn(Handle, *mut c_uint, *mut c_ulonglong) -> c_uint;
    let running: Symbol<'_, Running> = raw.function("nvmlDeviceGetComputeRunningProcesses");
    let (mut count, mut infos) = (0, [u64::MAX; 5]);
    assert_eq!((running(gpu, &raw mut count, null_mut()), count), (7, 2));
    assert_eq!((running(gpu, &raw mut count, infos.as_mut_ptr()), count), (0, 2));
    assert_eq!(
        (infos[0] & 0xffff_ffff, infos[1], infos[2] & 0xffff_ffff, infos[3]),
        (11, 64, 12, 64)
    );
    assert_eq!(infos[4], u64::MAX, "wrote past two elements of the older size");
}

#[test]
fn a_shutdown_ends_what_its_init_began() {
    let raw = Raw::open(&Machine::with_gpus(1));
    let shutdown: Symbol<'_, extern "C" fn() -> c_uint> = raw.function("nvmlShutdown");
    assert_eq!(shutdown(), 1);
    assert_eq!((raw.init(), raw.init()), (0, 0));
    assert_eq!(shutdown(), 0);
    let gpu = raw.handle(0);
    assert_eq!(shutdown(), 0);
    assert_eq!(raw.ask::<c_uint>("nvmlDeviceGetIndex", gpu).0, 1);
    assert_eq!(raw.init(), 0);
    raw.simulation
        .update(&Machine::with_gpus(1).fault(Fault::code("nvmlDeviceGetIndex", 15)))
        .unwrap();
    assert_eq!(raw.ask::<c_uint>("nvmlDeviceGetIndex", gpu).0, 15);
}

/// Runs itself once more: the environment must be there before the process starts, and it would be seen by other tests.
#[test]
fn the_environment_names_the_library_and_the_machine() {
    const NAME: &str = "the_environment_names_the_library_and_the_machine";
    if std::env::var_os(fake_nvml::MACHINE_VARIABLE).is_some() {
        // SAFETY: as in `Raw::open`.
        let library = unsafe { Library::new("libnvidia-ml.so.1") }.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let simulation = Simulation::lay_out(folder.path(), &Machine::default()).unwrap();
        let raw = Raw {
            library,
            simulation,
            _folder: folder,
        };
        assert_eq!(raw.init(), 0);
        assert_eq!(
            raw.ask::<c_uint>("nvmlDeviceGetMinorNumber", raw.handle(2)),
            (0, 0)
        );
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let simulation = Simulation::lay_out(folder.path(), &Machine::with_gpus(1)).unwrap();
    let other = folder.path().join("other.json");
    Machine::with_gpus(3).save(&other).unwrap();
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME])
        .envs(simulation.environment())
        .env(fake_nvml::MACHINE_VARIABLE, &other)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

// SPDX-License-Identifier: Apache-2.0
//! The process in which C++ tests run: it enters the simulated machine, opens Mesos with all its names, then the tests, and
//! leaves the rest to them. Started by the test runner (`src/run.rs`), once for each test, because the modules of a process
//! share one agent.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int};
use std::path::Path;
use std::process::ExitCode;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW, Symbol};
use testbed::base::Base;

/// What the library of the tests exports.
type Main = unsafe extern "C" fn(c_int, *mut *mut c_char) -> c_int;

fn main() -> ExitCode {
    match run() {
        Ok(status) => ExitCode::from(status.to_le_bytes()[0]),
        Err(error) => {
            eprintln!("harness: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<c_int, String> {
    if let Some(folder) = std::env::var_os(harness::SIMULATION) {
        // Before anything else: a process can enter while it has one thread.
        fake_nvml::enter(Path::new(&folder)).map_err(|error| error.to_string())?;
    }
    let tests = harness::tests().ok_or(harness::NO_GOOGLETEST)?;
    let base = Base::obtain().map_err(|error| error.to_string())?;
    for library in base.libraries() {
        open(&library, RTLD_NOW | RTLD_GLOBAL)?;
    }
    let tests = open(tests, RTLD_NOW)?;
    // SAFETY: `get` requires that the symbol has the type asked for: cpp/main.cpp defines it so.
    let main: Symbol<Main> = unsafe { tests.get(b"harness_main\0") }.map_err(|error| error.to_string())?;
    let arguments: Result<Vec<CString>, _> = std::env::args().map(CString::new).collect();
    let arguments = arguments.map_err(|error| error.to_string())?;
    let mut pointers: Vec<*mut c_char> = arguments.iter().map(|text| text.as_ptr().cast_mut()).collect();
    let count = c_int::try_from(pointers.len()).map_err(|error| error.to_string())?;
    pointers.push(std::ptr::null_mut());
    // SAFETY: `main` takes that many NUL-terminated strings, and a null behind them; GoogleTest moves the pointers about but
    // writes to no string. Strings and pointers outlive the call.
    Ok(unsafe { main(count, pointers.as_mut_ptr()) })
}

/// Opens a library for as long as the process lives.
fn open(path: &Path, flags: c_int) -> Result<&'static Library, String> {
    // SAFETY: `open` requires that the library's constructors are sound: they are those of the digest-checked Mesos, of its
    // stubs, and of our own tests.
    let library = unsafe { Library::open(Some(path), flags) };
    let library = library.map_err(|error| format!("cannot open {}: {error}", path.display()))?;
    Ok(Box::leak(Box::new(library)))
}

// SPDX-License-Identifier: Apache-2.0
//! The timed calls of cpp/isolator_bench.cpp.

use std::ffi::{c_char, c_double, c_int, c_void};

use super::strings::c_string;
use super::{Mesos, done};
use crate::error::Error;

unsafe extern "C" {
    fn testbed_isolator(
        library: *const c_char,
        module: *const c_char,
        parameters: *const c_char,
        size: usize,
        isolator: *mut *mut c_void,
        taken: *mut c_double,
    ) -> c_int;
    fn testbed_isolator_recover(
        isolator: *mut c_void,
        states: *const c_char,
        sizes: *const usize,
        count: usize,
        taken: *mut c_double,
    ) -> c_int;
    fn testbed_isolator_prepare(
        isolator: *mut c_void,
        id: *const c_char,
        config: *const c_char,
        size: usize,
        taken: *mut c_double,
    ) -> c_int;
    fn testbed_isolator_isolate(
        isolator: *mut c_void,
        id: *const c_char,
        pid: c_int,
        taken: *mut c_double,
    ) -> c_int;
    fn testbed_isolator_update(
        isolator: *mut c_void,
        id: *const c_char,
        gpus: c_double,
        taken: *mut c_double,
    ) -> c_int;
    fn testbed_isolator_cleanup(isolator: *mut c_void, id: *const c_char, taken: *mut c_double) -> c_int;
}

/// An isolator that a module made, which lives as long as the process. Each call gives back the microseconds from the
/// call until its answer was there; an answer that is a failure is an error.
pub(crate) struct Isolator(*mut c_void);

impl Mesos {
    /// Makes the isolator of a module that is loaded, and tells what that took.
    pub(crate) fn isolator(
        &self,
        library: &str,
        module: &str,
        parameters: &[u8],
    ) -> Result<(Isolator, f64), Error> {
        let (library, module) = (c_string(library)?, c_string(module)?);
        let (mut isolator, mut taken) = (std::ptr::null_mut(), 0.0);
        // SAFETY: the strings are NUL-terminated and live for the call, the parameters have the length given with them, and
        // there is room for both results. It lets no exception out.
        done("make the isolator", unsafe {
            testbed_isolator(
                library.as_ptr(),
                module.as_ptr(),
                parameters.as_ptr().cast(),
                parameters.len(),
                &raw mut isolator,
                &raw mut taken,
            )
        })?;
        Ok((Isolator(isolator), taken))
    }
}

impl Isolator {
    /// `recover`; each state is a serialized `ContainerState`.
    pub(crate) fn recover(&self, states: &[Vec<u8>]) -> Result<f64, Error> {
        let sizes: Vec<usize> = states.iter().map(Vec::len).collect();
        let bytes = states.concat();
        let mut taken = 0.0;
        // SAFETY: the isolator is one that `testbed_isolator` made; the bytes are as many as all sizes together, there are
        // `count` sizes, and there is room for the result. It lets no exception out.
        done("recover containers", unsafe {
            testbed_isolator_recover(
                self.0,
                bytes.as_ptr().cast(),
                sizes.as_ptr(),
                sizes.len(),
                &raw mut taken,
            )
        })?;
        Ok(taken)
    }

    /// `prepare` with a serialized `ContainerConfig`.
    pub(crate) fn prepare(&self, id: &str, config: &[u8]) -> Result<f64, Error> {
        let (name, mut taken) = (c_string(id)?, 0.0);
        // SAFETY: as in `recover`; the name is NUL-terminated and lives for the call.
        done(&format!("prepare container {id}"), unsafe {
            testbed_isolator_prepare(
                self.0,
                name.as_ptr(),
                config.as_ptr().cast(),
                config.len(),
                &raw mut taken,
            )
        })?;
        Ok(taken)
    }

    /// `isolate` with the container's first process.
    pub(crate) fn isolate(&self, id: &str, pid: i32) -> Result<f64, Error> {
        let (name, mut taken) = (c_string(id)?, 0.0);
        // SAFETY: as in `prepare`.
        done(&format!("isolate container {id}"), unsafe {
            testbed_isolator_isolate(self.0, name.as_ptr(), pid, &raw mut taken)
        })?;
        Ok(taken)
    }

    /// `update` to so many GPUs, with some cpus and memory.
    pub(crate) fn update(&self, id: &str, gpus: f64) -> Result<f64, Error> {
        let (name, mut taken) = (c_string(id)?, 0.0);
        // SAFETY: as in `prepare`.
        done(&format!("update container {id}"), unsafe {
            testbed_isolator_update(self.0, name.as_ptr(), gpus, &raw mut taken)
        })?;
        Ok(taken)
    }

    /// `cleanup`.
    pub(crate) fn cleanup(&self, id: &str) -> Result<f64, Error> {
        let (name, mut taken) = (c_string(id)?, 0.0);
        // SAFETY: as in `prepare`.
        done(&format!("clean up container {id}"), unsafe {
            testbed_isolator_cleanup(self.0, name.as_ptr(), &raw mut taken)
        })?;
        Ok(taken)
    }
}

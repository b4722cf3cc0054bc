// SPDX-License-Identifier: Apache-2.0
//! The agents that go and come back of cpp/allocator_race.cpp.

use std::ffi::{c_char, c_int};

use super::strings::{c_option, pointer};
use super::{Mesos, done};
use crate::error::Error;

/// What races.
pub(crate) struct Settings<'a> {
    /// Library, module and serialized parameters.
    pub(crate) allocator: (&'a str, &'a str, &'a [u8]),
    pub(crate) agents: usize,
    /// Without `GPU_RESOURCES`, each in a role of its own.
    pub(crate) frameworks: usize,
    /// How often every agent goes and comes back.
    pub(crate) rounds: usize,
}

/// Mirrors `testbed_AllocatorRace`.
#[repr(C)]
struct Given {
    library: *const c_char,
    module: *const c_char,
    parameters: *const c_char,
    parameters_size: usize,
    agents: usize,
    frameworks: usize,
    rounds: usize,
    offered: *mut usize,
    gpus: *mut usize,
}

unsafe extern "C" {
    fn testbed_allocator_race(given: *const Given) -> c_int;
}

impl Mesos {
    /// Runs it and answers how many agents were in all offers, and how many GPUs can be had in the end. Mesos ends the process when the allocator gives back what an
    /// agent does not hold. The allocator stays until the process ends, so once is enough.
    pub(crate) fn allocator_race(&self, settings: &Settings<'_>) -> Result<(usize, usize), Error> {
        let (library, module, parameters) = settings.allocator;
        let (library, module) = (c_option(Some(library))?, c_option(Some(module))?);
        let (mut offered, mut gpus) = (0, 0);
        // The C++ goes on referring to it from the allocator's callbacks.
        let given: &'static Given = Box::leak(Box::new(Given {
            library: pointer(library.as_ref()),
            module: pointer(module.as_ref()),
            parameters: parameters.as_ptr().cast(),
            parameters_size: parameters.len(),
            agents: settings.agents,
            frameworks: settings.frameworks,
            rounds: settings.rounds,
            offered: &raw mut offered,
            gpus: &raw mut gpus,
        }));
        // SAFETY: `given` lives for ever; its strings are NUL-terminated, the parameters have the length given with them,
        // and these, `offered` and `gpus` are looked at only until it returns. It lets no exception out.
        done("race the allocator", unsafe { testbed_allocator_race(given) })?;
        Ok((offered, gpus))
    }
}

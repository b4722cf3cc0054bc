// SPDX-License-Identifier: Apache-2.0
//! The timed allocation cycles of cpp/allocator_bench.cpp.

use std::ffi::{c_char, c_int};

use serde::Serialize;

use super::strings::{c_option, pointer};
use super::{Mesos, done};
use crate::error::Error;

/// What is measured.
pub(crate) struct Settings<'a> {
    /// Library, module and serialized parameters; without them Mesos's own allocator.
    pub(crate) allocator: Option<(&'a str, &'a str, &'a [u8])>,
    pub(crate) filter_gpu_resources: bool,
    /// Frameworks decline at once with a filter; otherwise they do so in the warm-up only, and then hold their offers until
    /// the cycle is over.
    pub(crate) decline: bool,
    pub(crate) agents: usize,
    pub(crate) frameworks: usize,
    pub(crate) roles: usize,
    /// Cycles that are not measured, in which frameworks decline in any case.
    pub(crate) warm_up: usize,
    pub(crate) cycles: usize,
    /// Whether Mesos's own allocator runs the same cycles in turns with this one, and whether with its GPU filter.
    pub(crate) beside: Option<bool>,
    /// Whether that one is made before the other: the first has the better memory.
    pub(crate) beside_is_first: bool,
}

/// One cycle. Mirrors `testbed_Cycle`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Cycle {
    pub(crate) to_last_callback: f64,
    pub(crate) to_drained: f64,
    pub(crate) cpu: f64,
    pub(crate) callbacks: usize,
    pub(crate) agents: usize,
}

/// Amounts over all agents. Mirrors `testbed_Totals`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Totals {
    pub(crate) cpus: f64,
    pub(crate) mem: f64,
    pub(crate) gpus: f64,
}

/// What came of one allocator.
#[derive(Debug, Serialize)]
pub(crate) struct Measured {
    /// Times in microseconds.
    pub(crate) cycles: Vec<Cycle>,
    pub(crate) total: Totals,
    /// Offered to a last framework when all others want nothing.
    pub(crate) free: Totals,
}

/// Of all allocators, for whoever started the process.
#[derive(Debug, Serialize)]
pub(crate) struct Both {
    #[serde(flatten)]
    pub(crate) own: Measured,
    pub(crate) beside: Option<Measured>,
}

/// Mirrors `testbed_Measured`.
#[repr(C)]
struct Room {
    cycles: *mut Cycle,
    total: Totals,
    free: Totals,
}

/// Mirrors `testbed_AllocatorBench`.
#[repr(C)]
struct Given {
    library: *const c_char,
    module: *const c_char,
    parameters: *const c_char,
    parameters_size: usize,
    filter_gpu_resources: c_int,
    decline: c_int,
    agents: usize,
    frameworks: usize,
    roles: usize,
    warm_up: usize,
    cycles: usize,
    measured: *mut Room,
    beside: *mut Room,
    beside_filters_gpu_resources: c_int,
    beside_is_first: c_int,
}

unsafe extern "C" {
    fn testbed_allocator_bench(given: *const Given) -> c_int;
}

impl Mesos {
    /// Runs the cycles. The allocators and what they refer to stay until the process ends, so once is enough.
    pub(crate) fn allocator_bench(&self, settings: &Settings<'_>) -> Result<Both, Error> {
        let library = c_option(settings.allocator.map(|(library, _, _)| library))?;
        let module = c_option(settings.allocator.map(|(_, module, _)| module))?;
        let parameters = settings
            .allocator
            .map_or(&[][..], |(_, _, parameters)| parameters);
        let mut cycles = [(); 2].map(|()| vec![Cycle::default(); settings.cycles]);
        let rooms = cycles.each_mut().map(|cycles| Room {
            cycles: cycles.as_mut_ptr(),
            total: Totals::default(),
            free: Totals::default(),
        });
        // The C++ goes on referring to both from the allocators' callbacks.
        let [own, beside] = Box::leak(Box::new(rooms)).each_mut().map(std::ptr::from_mut);
        let given: &'static Given = Box::leak(Box::new(Given {
            library: pointer(library.as_ref()),
            module: pointer(module.as_ref()),
            parameters: parameters.as_ptr().cast(),
            parameters_size: parameters.len(),
            filter_gpu_resources: settings.filter_gpu_resources.into(),
            decline: settings.decline.into(),
            agents: settings.agents,
            frameworks: settings.frameworks,
            roles: settings.roles,
            warm_up: settings.warm_up,
            cycles: settings.cycles,
            measured: own,
            beside: settings.beside.map_or(std::ptr::null_mut(), |_| beside),
            beside_filters_gpu_resources: settings.beside.unwrap_or_default().into(),
            beside_is_first: settings.beside_is_first.into(),
        }));
        // SAFETY: `given` and the rooms live for ever; its strings are NUL-terminated or null where null is allowed, and
        // each room's `cycles` has room for `cycles` and is written only until it returns. It lets no exception out.
        done("measure the allocator", unsafe { testbed_allocator_bench(given) })?;
        let [own_cycles, beside_cycles] = cycles;
        // SAFETY: both rooms live for ever, and nothing writes to them any more.
        let (own, beside) = unsafe { (&*own, &*beside) };
        let measured = |cycles, room: &Room| Measured {
            cycles,
            total: room.total,
            free: room.free,
        };
        Ok(Both {
            own: measured(own_cycles, own),
            beside: settings.beside.map(|_| measured(beside_cycles, beside)),
        })
    }
}

// SPDX-License-Identifier: Apache-2.0
//! What the library remembers in a process, and the one way through which every call goes: initialised? which GPU? any
//! fault? then the answer. No lock is held while a call waits, so that one that hangs holds up no other.

use crate::fault::suffer;
use crate::handles::{Handles, Target, Unit};
use crate::machine::{Event, Machine};
use crate::machine_file::{Watched, located};
use std::collections::BTreeMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// NVML's return codes that the simulation gives by itself.
pub(crate) mod code {
    pub(crate) const SUCCESS: u32 = 0;
    pub(crate) const UNINITIALIZED: u32 = 1;
    pub(crate) const INVALID_ARGUMENT: u32 = 2;
    pub(crate) const NOT_SUPPORTED: u32 = 3;
    pub(crate) const NOT_FOUND: u32 = 6;
    pub(crate) const INSUFFICIENT_SIZE: u32 = 7;
    pub(crate) const DRIVER_NOT_LOADED: u32 = 9;
    pub(crate) const TIMEOUT: u32 = 10;
    pub(crate) const FUNCTION_NOT_FOUND: u32 = 13;
    pub(crate) const GPU_IS_LOST: u32 = 15;
    pub(crate) const UNKNOWN: u32 = 999;
}

/// Success, or the code to return.
pub(crate) type Answer = Result<(), u32>;

/// The state of one process.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// `nvmlInit` less `nvmlShutdown`.
    pub(crate) users: u32,
    /// The machine file.
    watched: Watched,
    /// Handles given out.
    pub(crate) handles: Handles,
    /// Event sets: for each GPU's UUID the event types registered.
    pub(crate) event_sets: BTreeMap<usize, BTreeMap<String, u64>>,
    /// The number of the last event set.
    pub(crate) last_event_set: usize,
    /// Events told already, by the GPU's UUID.
    pub(crate) told: BTreeMap<String, Vec<Event>>,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// Works on the state. A panic of another call does not matter to it: each leaves it whole.
pub(crate) fn with_state<T>(work: impl FnOnce(&mut State) -> T) -> T {
    let mut state: MutexGuard<'_, Option<State>> = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    work(state.get_or_insert_default())
}

/// The machine as it is now.
///
/// # Errors
/// There is none, or its driver is not loaded.
pub(crate) fn machine() -> Result<Arc<Machine>, u32> {
    let machine = with_state(|state| state.watched.read());
    machine
        .filter(|machine| machine.driver_loaded)
        .ok_or(code::DRIVER_NOT_LOADED)
}

/// A call that needs no initialisation.
pub(crate) fn call_uninitialized(function: &'static str, work: impl FnOnce(&Machine) -> Answer) -> u32 {
    guarded(|| {
        log_call(function);
        work(&*suffer(function, None, machine)?)
    })
}

/// A call about the whole machine.
pub(crate) fn call(function: &'static str, work: impl FnOnce(&Machine) -> Answer) -> u32 {
    guarded(|| {
        log_call(function);
        initialized()?;
        work(&*suffer(function, None, machine)?)
    })
}

/// A call about the GPU that `choose` finds by other means than a handle.
pub(crate) fn call_choosing(
    function: &'static str,
    none: u32,
    choose: impl Fn(&Machine) -> Option<Target>,
    work: impl FnOnce(&Target) -> Answer,
) -> u32 {
    guarded(|| {
        log_call(function);
        initialized()?;
        let index = |machine: &Machine| machine.unit(&choose(machine)?).map(|unit| unit.gpu.index);
        let gpu = index(&*machine()?);
        let machine = suffer(function, gpu, machine)?;
        work(&choose(&machine).ok_or(none)?)
    })
}

/// A call about the unit behind a handle.
pub(crate) fn call_on(
    function: &'static str,
    handle: usize,
    work: impl FnOnce(&Machine, Unit<'_>) -> Answer,
) -> u32 {
    guarded(|| {
        log_call(function);
        initialized()?;
        let target = with_state(|state| state.handles.target(handle)).ok_or(code::INVALID_ARGUMENT)?;
        let gpu = machine()?
            .gpus
            .iter()
            .find(|gpu| gpu.uuid == target.gpu)
            .map(|gpu| gpu.index);
        let machine = suffer(function, gpu, machine)?;
        let unit = machine.unit(&target).ok_or(code::GPU_IS_LOST)?;
        work(&machine, unit)
    })
}

/// Runs a call; no panic gets into the C program that made it.
pub(crate) fn guarded(work: impl FnOnce() -> Answer) -> u32 {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => code::SUCCESS,
        Ok(Err(code)) => code,
        Err(_) => code::UNKNOWN,
    }
}

fn initialized() -> Answer {
    with_state(|state| {
        if state.users > 0 {
            Ok(())
        } else {
            Err(code::UNINITIALIZED)
        }
    })
}

/// Adds the call to the machine's call log, before any fault of it. A log that cannot be written is not the caller's problem.
fn log_call(function: &str) {
    let machine = with_state(|state| state.watched.read());
    if let Some(name) = machine.as_ref().and_then(|machine| machine.call_log.as_ref())
        && let Some(folder) = located().and_then(|file| file.parent())
        && let Ok(mut log) = std::fs::File::options()
            .append(true)
            .create(true)
            .open(folder.join(name))
    {
        // One write, so that lines of several processes do not mix.
        let _ = log.write_all(format!("{} {function}\n", std::process::id()).as_bytes());
    }
}

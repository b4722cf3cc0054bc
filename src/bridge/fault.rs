// SPDX-License-Identifier: Apache-2.0
//! Failing on purpose, in debug builds only: the file named by `MESOS_GPU_FAULTS` lists entries, one a line, each
//! `<entry> panic` (in the core, on the agent thread) or `<entry> throw` (in the C++ adapter). It is read at each entry,
//! so that a test can switch a fault on and off in a running agent. A release build has none of this.

/// Panics if the core was told to, at this entry.
pub(super) fn panic_if_told(entry: &str) {
    #[allow(clippy::panic)] // That is what it is for.
    if cfg!(debug_assertions) && told(entry, "panic") {
        panic!("told to panic in {entry}");
    }
}

/// Whether the C++ adapter was told to throw at this entry.
pub(super) fn fault_told(entry: &str) -> bool {
    cfg!(debug_assertions) && told(entry, "throw")
}

#[cfg(debug_assertions)]
fn told(entry: &str, how: &str) -> bool {
    let Some(path) = std::env::var_os("MESOS_GPU_FAULTS") else {
        return false;
    };
    let Ok(text) = std::fs::read_to_string(path) else {
        return false;
    };
    text.lines().any(|line| line.split_whitespace().eq([entry, how]))
}

#[cfg(not(debug_assertions))]
fn told(_: &str, _: &str) -> bool {
    false
}

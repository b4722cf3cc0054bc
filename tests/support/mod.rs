// SPDX-License-Identifier: Apache-2.0
//! The fake side of every port, and the loud way to skip: shared by the tests of this folder, of which each uses a part.
//! (`mod.rs`, because `tests/support.rs` would be a test program of its own.)
#![allow(dead_code, unused_imports)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod agent;
pub mod dev_nodes;
pub mod device_cgroup;
pub mod driver_proc;
pub mod nvml;
pub mod own_cgroup;
pub mod simulated_nvml;

pub use dev_nodes::FakeDevNodes;
pub use device_cgroup::FakeDeviceCgroup;
pub use driver_proc::FakeDriverProc;
pub use nvml::FakeNvml;

use std::fs::OpenOptions;
use std::io::Write;

/// Says that the calling test is skipped and what it misses: on the standard error, past the test runner's capture, and
/// as a line of the file that the variable `MESOS_GPU_SKIPS` names. The caller returns then.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let line = format!("SKIPPED: {}: {reason}\n", thread.name().unwrap_or("a test"));
    // The macros that print are captured; this handle is not. One write, so that lines of parallel tests stay whole.
    std::io::stderr()
        .write_all(line.as_bytes())
        .expect("the standard error takes a line");
    if let Some(file) = std::env::var_os("MESOS_GPU_SKIPS") {
        let opened = OpenOptions::new().create(true).append(true).open(&file);
        opened
            .expect("MESOS_GPU_SKIPS names a file")
            .write_all(line.as_bytes())
            .expect("it takes a line");
    }
}

/// Whether the test runs as root; says SKIPPED if not.
pub fn is_root() -> bool {
    let root = nix::unistd::geteuid().is_root();
    if !root {
        skip("root");
    }
    root
}

// SPDX-License-Identifier: Apache-2.0
//! The fake side of every port, and the loud way to skip: shared by the tests of this folder, of which each uses a part.
//! (`mod.rs`, because `tests/support.rs` would be a test program of its own.)
#![allow(dead_code, unused_imports)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod agent;
pub mod checkpoint;
pub mod containers;
pub mod dev_nodes;
pub mod device_cgroup;
pub mod driver_proc;
pub mod exposition;
pub mod images;
pub mod jobs;
pub mod machine;
pub mod metrics;
pub mod module_loader;
pub mod nvml;
pub mod own_cgroup;
pub mod own_mounts;
pub mod simulated_nvml;

pub use checkpoint::FakeCheckpoint;
pub use dev_nodes::FakeDevNodes;
pub use device_cgroup::FakeDeviceCgroup;
pub use driver_proc::FakeDriverProc;
pub use fake_nvml::skip;
pub use module_loader::FakeModuleLoader;
pub use nvml::FakeNvml;

/// Whether the test runs as root; says SKIPPED if not.
pub fn is_root() -> bool {
    let root = nix::unistd::geteuid().is_root();
    if !root {
        skip("root");
    }
    root
}

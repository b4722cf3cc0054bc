// SPDX-License-Identifier: Apache-2.0
//! C++ unit tests of the modules, in GoogleTest, inside the real libmesos: `modules.json` is loaded by Mesos's own module
//! manager, and the modules are made by their names and called through Mesos's own virtual interfaces, messages and
//! futures. `cpp/` has the tests; this crate gives each a process, and a world to run in:
//!
//! * [`world`] is a simulated NVIDIA machine, a private folder, cgroups, and the manifests;
//! * [`cluster`] adds a real master and agent where a test launches tasks;
//! * [`run`] runs one test in a process of its own and tells its outcome;
//! * the program `harness` is that process.

pub mod cluster;
pub mod run;
pub mod world;

use std::path::Path;

/// The variable that names the folder of the simulated machine to enter.
pub const SIMULATION: &str = "HARNESS_SIMULATION";

/// What is missing where the tests could not be compiled.
pub const NO_GOOGLETEST: &str = "the sources of GoogleTest (Debian and Ubuntu: the package googletest; else a copy that GOOGLETEST_DIR names)";

/// The library with the tests; none where GoogleTest was not there to compile them with.
pub fn tests() -> Option<&'static Path> {
    let path = env!("HARNESS_TESTS");
    (!path.is_empty()).then_some(Path::new(path))
}

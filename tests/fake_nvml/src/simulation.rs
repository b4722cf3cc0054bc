// SPDX-License-Identifier: Apache-2.0
//! A folder that holds a whole simulated driver: the library with its machine file, what stands under `/proc/driver`, and
//! a `/dev`. Changing the machine changes them in place, so that an agent that runs over the folder sees it.

mod nodes;
mod proc_texts;
mod proc_tree;

use crate::library::{LIBRARY_NAME, built_library, install_library};
use crate::machine::Machine;
use crate::machine_file::{MACHINE_FILE, MACHINE_VARIABLE, failed};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A simulated driver in a folder.
#[derive(Debug, Clone)]
pub struct Simulation {
    folder: PathBuf,
}

impl Simulation {
    /// Lays out `machine` in `folder`, which is made if need be:
    /// `machine.json`, `lib/libnvidia-ml.so.1`, `proc-driver/nvidia/…` and `dev/…`.
    /// Device nodes can be made by root only; other users get a `dev` without them (see [`Self::has_nodes`]).
    ///
    /// # Errors
    /// The folder cannot be written to, or the built library is not found.
    pub fn lay_out(folder: &Path, machine: &Machine) -> io::Result<Self> {
        fs::create_dir_all(folder).map_err(|e| failed("make the folder", folder, &e))?;
        let folder = folder.canonicalize().map_err(|e| failed("find", folder, &e))?;
        let simulation = Self { folder };
        install_library(&built_library()?, &simulation.library_folder(), &[])?;
        proc_tree::prepare(&simulation.proc_driver())?;
        nodes::prepare(&simulation.dev())?;
        simulation.update(machine)?;
        Ok(simulation)
    }

    /// Replaces the machine: first what NVML says, then the proc tree, then the nodes.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn update(&self, machine: &Machine) -> io::Result<()> {
        machine.save(&self.machine_file())?;
        proc_tree::update(&self.proc_driver(), machine)?;
        nodes::update(&self.dev(), machine)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The description that the library reads.
    pub fn machine_file(&self) -> PathBuf {
        self.folder.join(MACHINE_FILE)
    }

    /// What belongs on the loader's path.
    pub fn library_folder(&self) -> PathBuf {
        self.folder.join("lib")
    }

    /// The library. Loaded by this path it finds its machine without help from the environment.
    pub fn library(&self) -> PathBuf {
        self.library_folder().join(LIBRARY_NAME)
    }

    /// What [`crate::enter`] puts over `/proc/driver`; the tree itself is `nvidia` in it.
    pub fn proc_driver(&self) -> PathBuf {
        self.folder.join("proc-driver")
    }

    /// What [`crate::enter`] puts over `/dev`.
    pub fn dev(&self) -> PathBuf {
        self.folder.join("dev")
    }

    /// What [`crate::enter`] puts over `/etc/ld.so.cache`, if the file exists; see [`crate::trimmed_loader_cache`].
    pub fn loader_cache(&self) -> PathBuf {
        self.folder.join("ld.so.cache")
    }

    /// Whether `dev` has its nodes: whether it was laid out by root.
    pub fn has_nodes(&self) -> bool {
        self.dev().join("null").exists()
    }

    /// The environment for a program that finds NVML by name, as Mesos does.
    pub fn environment(&self) -> [(&'static str, PathBuf); 2] {
        [
            (MACHINE_VARIABLE, self.machine_file()),
            ("LD_LIBRARY_PATH", self.library_folder()),
        ]
    }
}

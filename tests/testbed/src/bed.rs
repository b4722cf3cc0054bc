// SPDX-License-Identifier: Apache-2.0
//! Masters and agents for a test: private folders, ports and cgroups, and nothing left behind.

mod agent;
mod agent_builder;
pub mod cgroups;
pub mod images;
pub(crate) mod launcher;
mod loader;
mod master;
mod ports;
mod process;
mod room;
mod simulation;
mod stale;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use agent::Agent;
pub use agent_builder::{AgentBuilder, IsolatorBench};
pub use master::{Master, MasterBuilder};
pub use stale::clean_stale;

use crate::base::Base;
use crate::error::{Error, Tried};
use room::Room;

/// A private Mesos cluster. Whatever it started ends, and whatever it made goes, when it and every master and agent of
/// it are dropped, in any order; with `TESTBED_KEEP` set, its folder stays.
#[derive(Debug)]
pub struct Testbed {
    room: Arc<Room>,
}

impl Testbed {
    /// Obtains Mesos where needed and makes an empty cluster.
    pub fn new() -> Result<Self, Error> {
        Ok(Self {
            room: Arc::new(Room::new(Base::obtain()?)?),
        })
    }

    /// A master to set up and start. A cluster has one.
    pub fn master(&self) -> MasterBuilder {
        MasterBuilder::new(Arc::clone(&self.room))
    }

    /// An agent to set up and start. It looks for this cluster's master, which may be started later.
    pub fn agent(&self) -> AgentBuilder {
        AgentBuilder::new(Arc::clone(&self.room))
    }

    /// The address of the master, started or not: `127.0.0.1:<port>`.
    pub fn master_address(&self) -> String {
        self.room.master_address()
    }

    /// The private folder; a test may keep its own files in it.
    pub fn folder(&self) -> &Path {
        self.room.folder()
    }

    /// The testbed program: this one, or the one that cargo built beside this test.
    pub fn program() -> Result<PathBuf, Error> {
        let current = std::env::current_exe().tried(|| "find the running program".to_owned())?;
        if current.file_name().is_some_and(|name| name == "testbed") {
            return Ok(current);
        }
        // Programs lie beside it, tests one folder deeper.
        let mut places = current
            .ancestors()
            .skip(1)
            .take(2)
            .map(|folder| folder.join("testbed"));
        existing(
            places.find(|place| place.is_file()),
            "find the testbed program (cargo build -p mesos-gpu-testbed makes it)",
        )
    }

    /// The program that says what it sees in an image, to be put into one (see [`crate::image_probe`]).
    pub fn image_probe() -> Result<PathBuf, Error> {
        let program = Self::program()?.with_file_name("image-probe");
        existing(Some(program), "find the image probe beside the testbed program")
    }

    /// The repository's own modules.json: beside the program where it was carried along, else where it was built.
    pub fn manifest() -> PathBuf {
        let carried = Self::program().map(|program| program.with_file_name("modules.json"));
        match carried {
            Ok(carried) if carried.is_file() => carried,
            _ => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../modules.json"),
        }
    }

    /// The module library of mesos-gpu that cargo built together with the testbed.
    pub fn module_library() -> Result<PathBuf, Error> {
        let program = Self::program()?;
        let folder = program.parent().unwrap_or(Path::new("."));
        let places = [
            folder.join("deps/libmesos_gpu.so"),
            folder.join("libmesos_gpu.so"),
        ];
        existing(
            places.into_iter().find(|path| path.is_file()),
            "find libmesos_gpu.so beside the testbed program",
        )
    }
}

fn existing(path: Option<PathBuf>, tried: &str) -> Result<PathBuf, Error> {
    match path {
        Some(path) if path.is_file() => Ok(path),
        Some(path) => Err(Error::new(tried, format!("{} is not there", path.display()))),
        None => Err(Error::new(tried, "it is not there")),
    }
}

// SPDX-License-Identifier: Apache-2.0
//! A running master.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::Testbed;
use super::process::{Process, Program};
use super::room::Room;
use crate::error::Error;
use crate::operator::MasterOperator;

/// How to start the master.
#[derive(Debug)]
#[must_use]
pub struct MasterBuilder {
    room: Arc<Room>,
    flags: Vec<(String, String)>,
    environment: Vec<(String, String)>,
}

impl MasterBuilder {
    pub(super) fn new(room: Arc<Room>) -> Self {
        let defaults = [
            ("ip", "127.0.0.1".to_owned()),
            ("port", room.master_port().to_string()),
            ("hostname", "localhost".to_owned()),
            ("work_dir", room.folder().join("master").display().to_string()),
            // No files and no quorum to wait for.
            ("registry", "in_memory".to_owned()),
        ];
        let flags = defaults.map(|(name, value)| (name.to_owned(), value)).into();
        Self {
            room,
            flags,
            environment: Vec::new(),
        }
    }

    /// Sets one of Mesos's own flags, `--name=value`, also over a default of the testbed.
    pub fn flag(mut self, name: &str, value: impl Into<String>) -> Self {
        self.flags.retain(|(known, _)| known != name);
        self.flags.push((name.to_owned(), value.into()));
        self
    }

    /// `--allocator` with a module of the library that cargo built, and the module's parameters.
    pub fn allocator(self, name: &str, parameters: &[(&str, &str)]) -> Result<Self, Error> {
        let parameters: Vec<_> = parameters
            .iter()
            .map(|(key, value)| json!({"key": key, "value": value}))
            .collect();
        let modules = json!([{"name": name, "parameters": parameters}]);
        let manifest = json!({"libraries": [{"file": Testbed::module_library()?, "modules": modules}]});
        Ok(self.flag("modules", manifest.to_string()).flag("allocator", name))
    }

    /// A registry that outlives the master's death.
    pub fn lasting_registry(self) -> Self {
        self.flag("registry", "replicated_log").flag("quorum", "1")
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// Starts it; [`Master::wait_ready`] tells when it answers.
    pub fn start(self) -> Result<Master, Error> {
        let flags = self.flags.iter().map(|(name, value)| format!("--{name}={value}"));
        let process = Process::start(Program {
            path: Testbed::program()?,
            arguments: ["master".to_owned()].into_iter().chain(flags).collect(),
            environment: self.environment,
            user: None,
            log: self.room.folder().join("master.log"),
            name: "master",
            address: self.room.master_address(),
        })?;
        Ok(Master {
            process,
            room: self.room,
        })
    }
}

/// A running master. It ends when this is dropped.
#[derive(Debug)]
pub struct Master {
    process: Process,
    room: Arc<Room>,
}

impl Master {
    /// Its process.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// `127.0.0.1:<port>`.
    pub fn address(&self) -> &str {
        self.process.address()
    }

    /// All that it has printed, over all its starts.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// The private folder of its testbed.
    pub fn folder(&self) -> &Path {
        self.room.folder()
    }

    /// Waits until its operator API answers.
    pub fn wait_ready(&mut self, patience: Duration) -> Result<(), Error> {
        self.process.wait_for(&["GET_HEALTH", "GET_AGENTS"], patience)
    }

    /// Its operator API.
    pub fn operator(&self) -> MasterOperator {
        MasterOperator::new(self.address())
    }

    /// `kill -9`.
    pub fn kill9(&mut self) -> Result<(), Error> {
        self.process.kill9()
    }

    /// SIGTERM, and waits for its end.
    pub fn terminate(&mut self) -> Result<(), Error> {
        self.process.terminate(Duration::from_secs(10))
    }

    /// Starts it again with the same flags, after killing it where it still runs.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.process.restart()
    }
}

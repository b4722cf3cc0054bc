// SPDX-License-Identifier: Apache-2.0
//! A running agent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::unistd::Pid;
use serde_json::json;

use super::cgroups::Hierarchies;
use super::ports::Port;
use super::process::Process;
use super::room::Room;
use super::simulation::Simulated;
use crate::error::Error;
use crate::operator::Operator;

/// A running agent. It ends when this is dropped; its containers end with the testbed.
#[derive(Debug)]
pub struct Agent {
    process: Process,
    name: String,
    folder: PathBuf,
    simulation: Option<Simulated>,
    _port: Port,
    // Last, so that the process has ended when the room goes.
    _room: Arc<Room>,
}

impl Agent {
    pub(super) fn new(
        process: Process,
        room: Arc<Room>,
        port: Port,
        name: String,
        folder: PathBuf,
        simulation: Option<Simulated>,
    ) -> Self {
        Self {
            process,
            name,
            folder,
            simulation,
            _port: port,
            _room: room,
        }
    }

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

    /// `--work_dir`, as the testbed sets it.
    pub fn work_dir(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// `--runtime_dir`, as the testbed sets it.
    pub fn runtime_dir(&self) -> PathBuf {
        self.folder.join("run")
    }

    /// `--cgroups_root`, as the testbed sets it.
    pub fn cgroups_root(&self) -> &str {
        &self.name
    }

    /// The agent's private folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The simulated NVIDIA machine, for an agent that runs on one.
    pub fn simulation(&self) -> Option<&fake_nvml::Simulation> {
        self.simulation.as_ref().map(Simulated::get)
    }

    /// Waits until it has recovered and its operator API answers. An early death is an error with the log's end.
    pub fn wait_ready(&mut self, patience: Duration) -> Result<(), Error> {
        self.process.wait_for(&["GET_HEALTH", "GET_CONTAINERS"], patience)
    }

    /// The id that the master gave it, once it is registered.
    pub fn id(&self) -> Option<String> {
        let answer = self.operator().call(&json!({"type": "GET_AGENT"})).ok()?;
        Some(
            answer
                .pointer("/get_agent/agent_info/id/value")?
                .as_str()?
                .to_owned(),
        )
    }

    /// Whether the master has it now. After a restart it knows its id before it is registered again.
    fn is_registered(&self) -> bool {
        // Without a limit it would wait for every metric.
        let limit = json!({"timeout": {"nanoseconds": 1_000_000_000}});
        let ask = json!({"type": "GET_METRICS", "get_metrics": limit});
        let answer = self.operator().call(&ask);
        let metrics = answer.map(|answer| answer["get_metrics"]["metrics"].clone());
        metrics.is_ok_and(|metrics| {
            let mut metrics = metrics.as_array().into_iter().flatten();
            metrics.any(|metric| metric["name"] == "slave/registered" && metric["value"] == 1.0)
        })
    }

    /// Waits until it is ready and registered, and gives back its id.
    pub fn wait_registered(&mut self, patience: Duration) -> Result<String, Error> {
        let until = Instant::now() + patience;
        self.wait_ready(patience)?;
        loop {
            if let (Some(id), true) = (self.id(), self.is_registered()) {
                return Ok(id);
            }
            self.process.check_alive()?;
            if Instant::now() >= until {
                let why = format!("{} s are over\n{}", patience.as_secs_f32(), self.process.tail());
                return Err(Error::new("wait for the agent to register", why));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Its operator API.
    pub fn operator(&self) -> Operator {
        Operator::new(self.address())
    }

    /// The device rules of every container, by its path below the cgroups root (`c1`, `c1/mesos/kid`).
    pub fn device_rules(&self) -> Result<BTreeMap<PathBuf, Vec<String>>, Error> {
        Ok(Hierarchies::find()?.device_rules(&self.name))
    }

    /// Every process in its containers.
    pub fn container_processes(&self) -> Result<Vec<Pid>, Error> {
        Ok(Hierarchies::find()?.processes(&self.name))
    }

    /// `kill -9`.
    pub fn kill9(&mut self) -> Result<(), Error> {
        self.process.kill9()
    }

    /// SIGTERM, and waits for its end.
    pub fn terminate(&mut self) -> Result<(), Error> {
        self.process.terminate(Duration::from_secs(10))
    }

    /// Waits until it has ended by itself; an end without success is an error with the log's end.
    pub(super) fn wait_end(&mut self, patience: Duration) -> Result<(), Error> {
        self.process.wait_end(patience)
    }

    /// Starts it again with the same flags, after killing it where it still runs.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.process.restart()
    }

    /// The same with some flags set to something else, and those without a value left out.
    pub fn restart_with(&mut self, flags: &[(&str, Option<&str>)]) -> Result<(), Error> {
        self.process.restart_with(flags)
    }
}

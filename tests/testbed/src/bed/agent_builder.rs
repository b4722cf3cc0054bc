// SPDX-License-Identifier: Apache-2.0
//! How to start an agent: Mesos's flags with defaults that keep it from every other agent on the machine.

mod images;
mod isolator_bench;

pub use isolator_bench::IsolatorBench;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::unistd::{Gid, Uid, chown, geteuid};
use serde_json::json;

use super::agent::Agent;
use super::cgroups::Hierarchies;
use super::ports::Port;
use super::process::{Process, Program};
use super::room::{Room, unique_name};
use super::simulation::Simulated;
use super::{Testbed, launcher, loader};
use crate::base::copy_file;
use crate::error::{Error, Tried};
use crate::program::LOADER_CACHE;

/// How to start an agent. Without anything set it is one with device cgroups and Linux filesystem isolation, or, where
/// the user is not root, one that isolates nothing.
#[derive(Debug)]
#[must_use]
pub struct AgentBuilder {
    room: Arc<Room>,
    flags: Vec<(String, String)>,
    environment: Vec<(String, String)>,
    library: Option<PathBuf>,
    modules: Vec<serde_json::Value>,
    machine: Option<fake_nvml::Machine>,
    /// More folders of its loader cache; none for no cache of its own.
    driver_libraries: Option<Vec<PathBuf>>,
    /// Whether the machine's own driver is seen with a loader cache of its own.
    own_cache: bool,
    images: images::Images,
    repository: bool,
    user: Option<(u32, u32)>,
}

impl AgentBuilder {
    pub(super) fn new(room: Arc<Room>) -> Self {
        Self {
            room,
            flags: Vec::new(),
            environment: Vec::new(),
            library: None,
            modules: Vec::new(),
            machine: None,
            driver_libraries: None,
            own_cache: false,
            images: images::Images::default(),
            repository: false,
            user: None,
        }
    }

    /// Sets one of Mesos's own flags, `--name=value`, also over a default of the testbed.
    pub fn flag(mut self, name: &str, value: impl Into<String>) -> Self {
        self.flags.retain(|(known, _)| known != name);
        self.flags.push((name.to_owned(), value.into()));
        self
    }

    /// `--isolation`.
    pub fn isolation(self, isolators: &str) -> Self {
        self.flag("isolation", isolators)
    }

    /// `--hooks`.
    pub fn hooks(self, hooks: &str) -> Self {
        self.flag("hooks", hooks)
    }

    /// `--resources`.
    pub fn resources(self, resources: &str) -> Self {
        self.flag("resources", resources)
    }

    /// `--modules`, as JSON.
    pub fn modules_json(self, json: impl Into<String>) -> Self {
        self.flag("modules", json)
    }

    /// The library of the modules named with [`AgentBuilder::module`]; by default the one that cargo built.
    pub fn module_library(mut self, path: &Path) -> Self {
        self.library = Some(path.to_owned());
        self
    }

    /// Adds a module of the library to `--modules`, with its parameters.
    pub fn module(mut self, name: &str, parameters: &[(&str, &str)]) -> Self {
        let parameters: Vec<_> = parameters
            .iter()
            .map(|(key, value)| json!({"key": key, "value": value}))
            .collect();
        self.modules.push(json!({"name": name, "parameters": parameters}));
        self
    }

    /// `--modules` with the repository's own modules.json, and the library where the loader finds it by its name.
    pub fn repository_modules(mut self) -> Self {
        self.repository = true;
        let manifest = Testbed::manifest();
        self.modules_json(format!("file://{}", manifest.display()))
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// Runs the agent on a simulated NVIDIA machine.
    pub fn machine(mut self, machine: &fake_nvml::Machine) -> Self {
        self.machine = Some(machine.clone());
        self
    }

    /// Gives the simulated machine a loader cache that Mesos's own `gpu/nvidia` can read.
    pub fn loader_cache(mut self) -> Self {
        self.driver_libraries.get_or_insert_default();
        self
    }

    /// The same on the machine's own driver: this agent alone sees such a cache, and has its own `/var/run/mesos`.
    pub fn own_loader_cache(mut self) -> Self {
        self.own_cache = true;
        self
    }

    /// Runs the agent as another user, which only root can do. The user gets a copy of the program and of Mesos, since
    /// neither need be in a folder that it may enter.
    pub fn user(mut self, user: u32, group: u32) -> Self {
        self.user = Some((user, group));
        self
    }

    /// Starts it; [`Agent::wait_ready`] tells when it answers.
    pub fn start(self) -> Result<Agent, Error> {
        self.start_as("agent")
    }

    /// Starts another of the testbed's programs that takes an agent's flags.
    fn start_as(mut self, program_name: &str) -> Result<Agent, Error> {
        let name = unique_name();
        let folder = self.room.folder().join(&name);
        let port = Port::reserve()?;
        std::fs::create_dir(&folder).tried(|| format!("make the folder {}", folder.display()))?;
        let (program, base) = self.lent(&folder)?;
        launcher::make(&folder.join("launcher"), &program, &base)?;
        let simulation = match self.machine.take() {
            Some(machine) => Some(Simulated::lay_out(
                &folder.join("machine"),
                &machine,
                self.driver_libraries.as_deref(),
            )?),
            None => None,
        };
        self.environment
            .extend(simulation.iter().flat_map(Simulated::environment));
        if self.own_cache {
            let cache = folder.join("ld.so.cache");
            fake_nvml::trimmed_loader_cache(&cache).tried(|| format!("write {}", cache.display()))?;
            self.environment
                .push((LOADER_CACHE.to_owned(), cache.display().to_string()));
        }
        if self.repository {
            loader::add(
                &Testbed::module_library()?,
                &folder.join("lib"),
                &mut self.environment,
            )?;
        }
        let flags = self.all_flags(&name, &folder, &port)?;
        self.room.owns_cgroup_root(&name);
        self.give(&folder)?;
        let process = Process::start(Program {
            path: program,
            arguments: [program_name.to_owned()].into_iter().chain(flags).collect(),
            environment: self.environment,
            user: self.user,
            log: folder.with_extension("log"),
            name: "agent",
            address: port.address(),
        })?;
        Ok(Agent::new(process, self.room, port, name, folder, simulation))
    }

    fn all_flags(&self, name: &str, folder: &Path, port: &Port) -> Result<Vec<String>, Error> {
        let path = |name: &str| folder.join(name).display().to_string();
        let mut flags = vec![
            ("master", self.room.master_address()),
            ("ip", "127.0.0.1".to_owned()),
            ("port", port.number().to_string()),
            ("hostname", "localhost".to_owned()),
            ("work_dir", path("work")),
            ("runtime_dir", path("run")),
            ("fetcher_cache_dir", path("fetch")),
            ("docker_store_dir", path("store")),
            ("launcher_dir", path("launcher")),
            ("resources", "cpus:4;mem:4096;disk:4096".to_owned()),
            ("systemd_enable_support", "false".to_owned()),
        ];
        let is_root = geteuid().is_root() && self.user.is_none();
        match Hierarchies::find() {
            Ok(hierarchies) if is_root => flags.extend([
                ("launcher", "linux".to_owned()),
                ("isolation", "cgroups/devices,filesystem/linux".to_owned()),
                ("cgroups_root", name.to_owned()),
                ("cgroups_hierarchy", hierarchies.folder().display().to_string()),
            ]),
            _ => flags.extend([
                ("launcher", "posix".to_owned()),
                ("isolation", "filesystem/posix".to_owned()),
                // Only root can become another user.
                ("switch_user", "false".to_owned()),
            ]),
        }
        if !self.modules.is_empty() {
            let library = self.library.clone().map_or_else(Testbed::module_library, Ok)?;
            flags.push((
                "modules",
                json!({"libraries": [{"file": library, "modules": self.modules}]}).to_string(),
            ));
        }
        let is_set = |name: &str| self.flags.iter().any(|(set, _)| set == name);
        let defaults = flags.into_iter().filter(|(name, _)| !is_set(name));
        let mut all: Vec<_> = defaults.map(|(name, value)| (name.to_owned(), value)).collect();
        all.extend(self.flags.iter().cloned());
        self.images.add_to(&mut all);
        let written = all.iter().map(|(name, value)| format!("--{name}={value}"));
        Ok(written.collect())
    }

    /// The program and the base: the test's own, or copies that another user may read.
    fn lent(&mut self, folder: &Path) -> Result<(PathBuf, crate::base::Base), Error> {
        let program = Testbed::program()?;
        if self.user.is_none() {
            // The test may have moved the cache after it made the testbed.
            return Ok((program, self.room.base().clone()));
        }
        let (lent, cache) = (folder.join("testbed"), folder.join("cache"));
        copy_file(&program, &lent)?;
        let base = self.room.base().copy_to(&cache.join(self.room.base().name()))?;
        self.environment
            .push(("MESOS_GPU_CACHE".to_owned(), cache.display().to_string()));
        Ok((lent, base))
    }

    /// Makes the agent's folder its user's.
    fn give(&self, folder: &Path) -> Result<(), Error> {
        let Some((user, group)) = self.user else {
            return Ok(());
        };
        let (user, group) = (Some(Uid::from_raw(user)), Some(Gid::from_raw(group)));
        for path in [self.room.folder(), folder] {
            chown(path, user, group).tried(|| format!("give {} to user {user:?}", path.display()))?;
        }
        Ok(())
    }
}

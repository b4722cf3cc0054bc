// SPDX-License-Identifier: Apache-2.0
//! Composes the agent of this process: parameters of all its modules, the real machine, one thread.

use crate::agent::Agent;
use crate::agent::discovery::{self, Source, describe, discover};
use crate::agent::machine::Machine;
use crate::agent::state::State;
use crate::config::flags::MesosFlags;
use crate::config::parameters::SharedParameters;
use crate::config::{Config, rules};
use crate::error::{Error, Kind};
use crate::ports::device_cgroup::DeviceCgroup;
use crate::system::cgroup_v1::DevicesHierarchy;
use crate::system::dev_nodes::DevDir;
use crate::system::driver_proc::ProcDriver;
use crate::system::mesos_flags;
use crate::system::nvml::NvmlThread;
use crate::wire::{Parameters, decode};
use once_cell::sync::Lazy;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The isolator's name in `--isolation`.
const ISOLATOR: &str = "mesos_gpu_Isolator";
/// The hook's name in `--hooks`.
const HOOK: &str = "mesos_gpu_Hook";

/// What the modules of this process share.
#[derive(Default)]
struct Process {
    parameters: SharedParameters,
    running: Option<Running>,
}

struct Running {
    agent: Agent,
    advertised: usize,
}

fn process() -> MutexGuard<'static, Process> {
    static PROCESS: Lazy<Mutex<Process>> = Lazy::new(Mutex::default);
    PROCESS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds the isolator's parameters, checks the agent's flags, and returns the agent.
pub(super) fn isolator(parameters: &[u8]) -> Result<Agent, Error> {
    super::logger::install();
    let mut process = process();
    let flags = mesos_flags::of_this_process();
    process.add(ISOLATOR, parameters, &flags)?;
    rules::check_isolation(&flags, ISOLATOR).map_err(wrong)?;
    Ok(process.running(&flags)?.agent.clone())
}

/// Adds the hook's parameters.
pub(super) fn hook(parameters: &[u8]) -> Result<(), Error> {
    super::logger::install();
    process().add(HOOK, parameters, &mesos_flags::of_this_process())
}

/// How many GPUs this agent advertises.
pub(super) fn advertised() -> Result<usize, Error> {
    Ok(process().running(&mesos_flags::of_this_process())?.advertised)
}

impl Process {
    fn add(&mut self, module: &str, parameters: &[u8], flags: &MesosFlags) -> Result<(), Error> {
        let parameters: Parameters =
            decode("Parameters", parameters).map_err(|e| Error::defect(e.to_string()))?;
        let pairs: Vec<_> = parameters
            .parameter
            .into_iter()
            .map(|one| (one.key, one.value))
            .collect();
        self.parameters.merge(module, &pairs).map_err(wrong)?;
        Config::from_parts(&self.parameters.pairs(), flags).map_err(wrong)?;
        Ok(())
    }

    fn running(&mut self, flags: &MesosFlags) -> Result<&Running, Error> {
        if self.running.is_none() {
            let config = Config::from_parts(&self.parameters.pairs(), flags).map_err(wrong)?;
            self.running = Some(start(&config, flags)?);
        }
        self.running
            .as_ref()
            .ok_or_else(|| Error::defect("the agent did not start"))
    }
}

fn start(config: &Config, flags: &MesosFlags) -> Result<Running, Error> {
    log::info!("mesos-gpu {}", env!("CARGO_PKG_VERSION"));
    let driver = ProcDriver::new(config.proc_dir.clone());
    let nvml = NvmlThread::start(config.nvml_library.clone(), config.nvml_timeout);
    let found = discover(&driver, &nvml, config.discovery_wait);
    let mut inventory = found.inventory;
    for problem in &inventory.problems {
        log::warn!("{problem}");
    }
    match found.source {
        Source::Nobody(why) => log::warn!("this machine has no GPU to hand out: {why}"),
        Source::Driver | Source::Nvml => {
            let chosen = config
                .gpus
                .choose(inventory.units())
                .map_err(|e| Error::new(Kind::Configuration, format!("parameter gpus: {e}")))?;
            inventory.retain(&chosen);
        }
    }
    for unit in inventory.units() {
        log::info!("managing {}", describe(unit));
    }
    let advertised = inventory.units().len();
    rules::check_resources(flags, advertised).map_err(wrong)?;
    let cgroup = DevicesHierarchy::find(&config.cgroups_hierarchy)
        .map(|found| Box::new(found) as Box<dyn DeviceCgroup>);
    let machine = Machine {
        driver: Box::new(driver),
        nvml: Box::new(nvml),
        nodes: Box::new(DevDir::new(config.dev_dir.clone())),
        cgroup,
    };
    let agent = Agent::start(State::new(machine, inventory, config.cgroups_root.clone()))?;
    discovery::enrich_later(&agent);
    Ok(Running { agent, advertised })
}

fn wrong(error: impl std::fmt::Display) -> Error {
    Error::new(Kind::Configuration, error.to_string())
}

// SPDX-License-Identifier: Apache-2.0
//! What the modules of this process share: their parameters, and the agent that the first question starts.

use super::compose::{Running, start, wrong};
use super::message::read;
use crate::agent::Agent;
use crate::agent::board::Board;
use crate::config::allocator::AllocatorConfig;
use crate::config::flags::MesosFlags;
use crate::config::parameters::SharedParameters;
use crate::config::{AttributeChoice, Config, Mode, rules};
use crate::error::Error;
use crate::system::mesos_flags;
use crate::wire::Parameters;
use once_cell::sync::Lazy;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The isolator's name in `--isolation`.
const ISOLATOR: &str = "mesos_gpu_Isolator";
/// The hook's name in `--hooks`.
const HOOK: &str = "mesos_gpu_Hook";
/// The resource estimator's name in `--resource_estimator`.
const ESTIMATOR: &str = "mesos_gpu_ResourceEstimator";
/// The QoS controller's name in `--qos_controller`.
const CONTROLLER: &str = "mesos_gpu_QoSController";

/// What the modules of this process share.
#[derive(Default)]
struct Process {
    parameters: SharedParameters,
    running: Option<Running>,
}

fn process() -> MutexGuard<'static, Process> {
    static PROCESS: Lazy<Mutex<Process>> = Lazy::new(Mutex::default);
    PROCESS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The agent's own flags, read once.
fn flags() -> &'static MesosFlags {
    static FLAGS: Lazy<MesosFlags> = Lazy::new(mesos_flags::of_this_process);
    &FLAGS
}

/// Adds the isolator's parameters, checks the agent's flags, and returns the agent.
pub(super) fn isolator(parameters: &[u8]) -> Result<Agent, Error> {
    super::logger::install();
    let mut process = process();
    let flags = flags();
    process.add(ISOLATOR, parameters, flags)?;
    let config = process.config(flags)?;
    rules::check_isolation(flags, ISOLATOR, config.mode).map_err(wrong)?;
    if config.oversubscription.on
        && let Some(missing) = rules::no_estimator(flags, ESTIMATOR).map_err(wrong)?
    {
        log::warn!("{missing}");
    }
    Ok(process.running(flags)?.agent.clone())
}

/// Adds the hook's parameters.
pub(super) fn hook(parameters: &[u8]) -> Result<(), Error> {
    super::logger::install();
    process().add(HOOK, parameters, flags())
}

/// Adds the resource estimator's parameters.
pub(super) fn estimator(parameters: &[u8]) -> Result<(), Error> {
    super::logger::install();
    process().add(ESTIMATOR, parameters, flags())
}

/// Adds the QoS controller's parameters.
pub(super) fn controller(parameters: &[u8]) -> Result<(), Error> {
    super::logger::install();
    process().add(CONTROLLER, parameters, flags())
}

/// The agent, for the resource estimator.
pub(super) fn estimating() -> Result<Agent, Error> {
    let (agent, is_on) = beside_isolator(ESTIMATOR)?;
    if let Some(idle) = rules::estimator_off(is_on) {
        log::info!("{idle}");
    }
    Ok(agent)
}

/// The agent, for the QoS controller.
pub(super) fn controlling() -> Result<Agent, Error> {
    beside_isolator(CONTROLLER).map(|(agent, _)| agent)
}

/// The agent, for a module that is nothing without the isolator, and whether oversubscription is on.
fn beside_isolator(module: &str) -> Result<(Agent, bool), Error> {
    let flags = flags();
    rules::check_beside_isolator(flags, module, ISOLATOR).map_err(wrong)?;
    let mut process = process();
    let running = process.running(flags)?;
    Ok((running.agent.clone(), running.config.oversubscription.on))
}

/// The allocator's settings, which are its own: it runs in the master, where no agent starts.
pub(super) fn allocator(parameters: &[u8]) -> Result<AllocatorConfig, Error> {
    super::logger::install();
    let parameters: Parameters = read("Parameters", parameters)?;
    AllocatorConfig::from_parts(&parameters.into_pairs()).map_err(wrong)
}

/// How many GPUs the hook advertises: none where Mesos's own isolator does.
pub(super) fn advertised() -> Result<usize, Error> {
    let mut process = process();
    let running = process.running(flags())?;
    Ok(if running.config.mode == Mode::Observe {
        0
    } else {
        running.advertised
    })
}

/// What hooks may read of the books.
pub(super) fn board() -> Result<Board, Error> {
    Ok(process().running(flags())?.board.clone())
}

/// What the agent's attributes are to say of its GPUs.
pub(super) struct Wanted {
    /// Which of them.
    pub choice: AttributeChoice,
    /// How long NVML may be waited for.
    pub wait: Duration,
    /// The driver's version, when it is known.
    pub driver_version: Option<String>,
}

/// The attributes that the operator wants.
pub(super) fn attributes() -> Result<Wanted, Error> {
    let mut process = process();
    let running = process.running(flags())?;
    Ok(Wanted {
        choice: running.config.attributes,
        wait: running.config.discovery_wait,
        driver_version: running.driver_version.clone(),
    })
}

impl Process {
    fn add(&mut self, module: &str, parameters: &[u8], flags: &MesosFlags) -> Result<(), Error> {
        let parameters: Parameters = read("Parameters", parameters)?;
        self.parameters
            .merge(module, &parameters.into_pairs())
            .map_err(wrong)?;
        let config = self.config(flags)?;
        match &self.running {
            Some(running) => {
                rules::check_in_time(&running.config, &config, module, [ISOLATOR, HOOK]).map_err(wrong)
            }
            None => Ok(()),
        }
    }

    fn config(&self, flags: &MesosFlags) -> Result<Config, Error> {
        Config::from_parts(&self.parameters.pairs(), flags).map_err(wrong)
    }

    fn running(&mut self, flags: &MesosFlags) -> Result<&Running, Error> {
        if self.running.is_none() {
            self.running = Some(start(self.config(flags)?, flags)?);
        }
        self.running
            .as_ref()
            .ok_or_else(|| Error::defect("the agent did not start"))
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Composes the agent of this process: the real machine behind its ports, what was found on it, one thread.

use crate::agent::Agent;
use crate::agent::board::Board;
use crate::agent::discovery::{self, Discovery, Source, describe, discover};
use crate::agent::machine::Machine;
use crate::agent::mailbox::mailbox;
use crate::agent::sampling::{self, Estimation, Readings};
use crate::agent::settings::{ImageSettings, Patience, Settings};
use crate::agent::state::State;
use crate::config::flags::MesosFlags;
use crate::config::{Config, Mode, rules};
use crate::domain::gpu::UnitId;
use crate::domain::record::Advertised;
use crate::domain::{advertising, dev_entries};
use crate::error::{Error, Kind};
use crate::isolator::reconcile;
use crate::ports::checkpoint::{Checkpoint, Loaded};
use crate::ports::dev_nodes::DevNodes;
use crate::ports::device_cgroup::DeviceCgroup;
use crate::ports::jobs::Jobs;
use crate::ports::metrics::Metrics;
use crate::system::cgroup_v1::DevicesHierarchy;
use crate::system::checkpoint_file::CheckpointFile;
use crate::system::dev_nodes::DevDir;
use crate::system::driver_files::DriverSearch;
use crate::system::driver_proc::ProcDriver;
use crate::system::images::ImagesThread;
use crate::system::job_folder::JobFolder;
use crate::system::latest::Latest;
use crate::system::metrics_file::MetricsFile;
use crate::system::module_loader::{DEFAULT_LIMIT, DEFAULT_PROGRAM, NvidiaModprobe};
use crate::system::nvml::NvmlThread;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// What runs.
pub(super) struct Running {
    /// The agent thread.
    pub agent: Agent,
    /// How many GPUs it advertises.
    pub advertised: usize,
    /// What hooks may read.
    pub board: Board,
    /// The settings.
    pub config: Config,
    /// The driver's version, when it is known.
    pub driver_version: Option<String>,
}

/// Finds the GPUs and starts the agent thread.
pub(super) fn start(config: Config, flags: &MesosFlags) -> Result<Running, Error> {
    log::info!("mesos-gpu {}", env!("CARGO_PKG_VERSION"));
    let driver = ProcDriver::new(config.proc_dir.clone());
    let nvml = NvmlThread::start(config.nvml_library.clone(), config.nvml_timeout);
    let found = discover(&driver, &nvml, config.discovery_wait);
    let nodes = DevDir::new(config.dev_dir.clone());
    for problem in found.inventory.problems.iter().cloned().chain(odd_nodes(&nodes)) {
        log::warn!("{problem}");
    }
    let folder = config.checkpoint_dir.as_deref().ok_or_else(|| {
        wrong("cannot tell where to write down who holds which GPU: neither --work_dir nor the parameter checkpoint_dir is given")
    })?;
    let checkpoint = CheckpointFile::new(folder.join("checkpoint.json"));
    let advertised = advertise(&config, flags, &checkpoint, &found)?;
    let mut inventory = found.inventory;
    inventory.retain(&advertised.units);
    for unit in inventory.units() {
        log::info!("managing {}", describe(unit));
    }
    if config.mode == Mode::Exclusive {
        rules::check_resources(flags, advertised.units.len()).map_err(wrong)?;
    }
    let cgroup = DevicesHierarchy::find(&config.cgroups_hierarchy)
        .map(|found| Box::new(found) as Box<dyn DeviceCgroup>);
    let machine = Machine {
        driver: Box::new(driver),
        nvml: Box::new(nvml),
        nodes: Box::new(nodes),
        cgroup,
        modules: Arc::new(NvidiaModprobe::new(DEFAULT_PROGRAM.into(), DEFAULT_LIMIT)),
        images: Box::new(images(&config)?),
        metrics: metrics(&config)?,
        jobs: jobs(&config)?,
        checkpoint: Box::new(checkpoint),
    };
    let patience = Patience {
        release_wait: config.release_wait,
        release_limit: config.release_limit,
        health_interval: config.health_interval,
        check_processes: config.process_check,
        control_nodes_for_all: config.control_nodes_for_all,
    };
    let (mailbox, inbox) = mailbox();
    let (count, driver_version) = (advertised.units.len(), inventory.driver_version.clone());
    let settings = Settings {
        cgroups_root: config.cgroups_root.clone(),
        patience,
        mode: config.mode,
        images: ImageSettings {
            driver_files: config.driver_files,
            cuda_compat: config.cuda_compat,
            requirements: config.nvidia_requirements,
            sandbox: config.sandbox_directory.clone(),
        },
    };
    let mut state = State::new(machine, inventory, advertised, settings, mailbox);
    let begin = Instant::now();
    let clock = move || begin.elapsed();
    if config.oversubscription.on {
        state.estimate = Estimation::on(config.oversubscription.thresholds, Box::new(clock));
    }
    if state.machine.metrics.is_some() {
        state.readings = Readings::on(config.oversubscription.thresholds.interval, Box::new(clock));
    }
    let board = state.board.clone();
    let agent = Agent::start(state, inbox)?;
    discovery::enrich_later(&agent);
    agent.post("sampling", |state| {
        state.later(discovery::AFTER_START, "sampling", sampling::watch)
    });
    agent.post("reconcile", |state| {
        // Recovery comes first.
        state.later(state.patience.health_interval, "reconcile", reconcile::watch);
    });
    Ok(Running {
        agent,
        advertised: count,
        board,
        config,
        driver_version,
    })
}

fn images(config: &Config) -> Result<ImagesThread, Error> {
    let search = DriverSearch::new(Some(config.driver_root.clone()), config.cdi_spec.clone());
    ImagesThread::start(config.image_dir.clone(), search).map_err(Error::machine)
}

/// Where the numbers go.
fn metrics(config: &Config) -> Result<Option<Box<dyn Metrics>>, Error> {
    let Some(path) = &config.metrics_file else {
        return Ok(None);
    };
    let file = MetricsFile::new(Some(path.clone()));
    let latest = Latest::start(move |text: &String| file.publish(text)).map_err(no_thread)?;
    Ok(Some(Box::new(latest)))
}

/// Where it goes which containers are on which GPU.
fn jobs(config: &Config) -> Result<Option<Box<dyn Jobs>>, Error> {
    let Some(path) = &config.dcgm_job_dir else {
        return Ok(None);
    };
    let folder = JobFolder::new(path.clone());
    let latest = Latest::start(move |jobs| folder.publish(jobs)).map_err(no_thread)?;
    Ok(Some(Box::new(latest)))
}

fn no_thread(error: std::io::Error) -> Error {
    Error::machine(format!("cannot start a thread for files: {error}"))
}

/// What was advertised when this agent first registered, else what is found and selected now.
fn advertise(
    config: &Config,
    flags: &MesosFlags,
    checkpoint: &CheckpointFile,
    found: &Discovery,
) -> Result<Advertised, Error> {
    let selection = config.gpus.to_string();
    let units = found.inventory.units();
    let ids: Vec<UnitId> = units.iter().map(|unit| unit.id.clone()).collect();
    let before = match checkpoint.load() {
        Loaded::Present(record) if is_registered(flags) => record.advertised,
        _ => None,
    };
    if let Some(kept) = advertising::remembered(before.as_ref(), &selection, &ids) {
        for note in kept.notes {
            log::warn!("{note}");
        }
        return Ok(kept.advertised);
    }
    let units = match &found.source {
        Source::Nobody(why) => {
            log::warn!("this machine has no GPU to hand out: {why}");
            Vec::new()
        }
        Source::Driver | Source::Nvml => config
            .gpus
            .choose(units)
            .map_err(|e| Error::new(Kind::Configuration, format!("parameter gpus: {e}")))?,
    };
    Ok(Advertised { selection, units })
}

/// What stands in the device directory under NVIDIA's name and is nothing of the driver's: said once, and left alone.
fn odd_nodes(nodes: &DevDir) -> Vec<String> {
    let names = match nodes.list() {
        Ok(names) => names,
        Err(why) => return vec![why],
    };
    let states: Vec<_> = names.iter().map(|name| nodes.stat(name)).collect();
    dev_entries::oddities(names.iter().map(String::as_str).zip(&states))
}

/// Whether Mesos will compare this agent with the one before: it has registered, and its meta folder is still there.
fn is_registered(flags: &MesosFlags) -> bool {
    flags
        .get("work_dir")
        .is_some_and(|work_dir| Path::new(work_dir).join("meta/slaves/latest").exists())
}

pub(super) fn wrong(error: impl std::fmt::Display) -> Error {
    Error::new(Kind::Configuration, error.to_string())
}

// SPDX-License-Identifier: Apache-2.0
//! Collects the facts that the rules of `check` must know, and no more: what the settings do not ask for is not looked at.

use super::{gpus, library, loader, places};
use crate::config::Config;
use crate::domain::device::gpu_node;
use crate::domain::record::Advertised;
use crate::ports::checkpoint::{Checkpoint, Loaded};
use crate::ports::dev_nodes::{DevNodes, NodeState};
use crate::system::cgroup_v1::DevicesHierarchy;
use crate::system::checkpoint_file::CheckpointFile;
use crate::system::dev_nodes::DevDir;
use crate::system::driver_files::cdi;
use crate::system::module_loader::DEFAULT_PROGRAM;
use crate::system::nvml::DEFAULT_LIBRARY;
use crate::tool::check::facts::{DriverFacts, Facts, LibraryFacts};
use crate::tool::check::manifest::Library;
use crate::tool::check::settings::Settings;
use crate::tool::check::subject::{Mesos, Subject};
use nix::sys::statfs::{CGROUP2_SUPER_MAGIC, statfs};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The nodes without which no container can use a GPU.
const CONTROL: [&str; 2] = ["nvidiactl", "nvidia-uvm"];

/// The facts of this machine.
pub fn of_this_machine(subject: &Subject, settings: &Settings) -> Facts {
    let mesos = subject.mesos.as_ref();
    let library_path = mesos.and_then(|mesos| mesos.library_path.as_deref());
    let libraries = settings.manifest.libraries.iter();
    let program = mesos
        .map(|mesos| mesos.program.as_str())
        .filter(|program| !program.is_empty());
    let mut facts = Facts {
        libraries: libraries.map(|one| library_facts(one, library_path)).collect(),
        mesos_release: program
            .and_then(loader::program)
            .and_then(|path| library::mesos_release(&path)),
        new_loader_cache: loader::has_new_cache(),
        only_cgroup_v2: statfs("/sys/fs/cgroup")
            .is_ok_and(|found| found.filesystem_type() == CGROUP2_SUPER_MAGIC),
        ..Facts::default()
    };
    for path in settings.paths() {
        let place = places::place(&path);
        facts.places.insert(path, place);
    }
    if let Some(config) = &settings.agent {
        let hierarchy = DevicesHierarchy::find(&config.cgroups_hierarchy);
        facts.devices_hierarchy = Some(hierarchy.map(|found| found.root().to_owned()));
        facts.cdi_problem = config.cdi_spec.as_deref().and_then(cdi_problem);
        facts.advertised_before = subject.agent().and_then(|agent| advertised_before(agent, config));
        facts.driver = driver(config, library_path);
    }
    facts
}

fn library_facts(one: &Library, library_path: Option<&str>) -> LibraryFacts {
    let Some(asked) = one.asked_for().filter(|_| one.is_ours()) else {
        return LibraryFacts::Unknown;
    };
    if asked.contains('/') {
        return library::facts(Path::new(&asked));
    }
    match loader::library(&asked, library_path) {
        Some(path) => library::facts(&path),
        None => LibraryFacts::NotFound,
    }
}

fn cdi_problem(path: &Path) -> Option<String> {
    match fs::read(path) {
        Ok(text) => cdi::parse(&text).err(),
        Err(error) => Some(format!("cannot read it: {error}")),
    }
}

/// As an agent does it: only one that registered with Mesos is held to what it advertised.
fn advertised_before(agent: &Mesos, config: &Config) -> Option<Advertised> {
    let work_dir = Path::new(agent.flags.get("work_dir")?);
    if !work_dir.join("meta/slaves/latest").exists() {
        return None;
    }
    let file = CheckpointFile::new(config.checkpoint_dir.as_ref()?.join("checkpoint.json"));
    match file.load() {
        Loaded::Present(record) => record.advertised,
        Loaded::Absent | Loaded::Unusable(_) => None,
    }
}

fn driver(config: &Config, library_path: Option<&str>) -> DriverFacts {
    let found = gpus::find(config);
    let library = config.nvml_library.clone().filter(|path| path.is_file());
    let on_loader_path = loader::library(DEFAULT_LIBRARY, library_path);
    let has_nvml_on_loader_path = on_loader_path.is_some();
    let library = library.or(on_loader_path);
    let units = found.inventory.units().to_vec();
    let nodes = DevDir::new(config.dev_dir.clone());
    let loaded = found.report.driver_version.clone();
    let mut wanted: Vec<String> = CONTROL.map(str::to_owned).into();
    wanted.extend(units.iter().map(|unit| gpu_node(unit.minor)));
    let stat = |node: String| {
        let state = nodes.stat(&node).unwrap_or_else(NodeState::Other);
        (node, state)
    };
    DriverFacts {
        known: true,
        has_nvml_on_loader_path,
        nodes: if loaded.is_some() {
            wanted.into_iter().map(stat).collect()
        } else {
            BTreeMap::new()
        },
        loaded,
        library: library.map(|path| path.canonicalize().unwrap_or(path)),
        nvml_failure: found.survey.err(),
        units,
        // What the operator told the driver to leave alone is no surprise.
        problems: found
            .inventory
            .problems
            .into_iter()
            .filter(|problem| !problem.ends_with("is excluded by the driver"))
            .collect(),
        can_make_nodes: loader::program(DEFAULT_PROGRAM).is_some(),
    }
}

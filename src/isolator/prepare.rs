// SPDX-License-Identifier: Apache-2.0
//! `prepare`: before a container is launched, it gets its GPUs, or the launch fails and says why.

use crate::agent::reply::Reply;
use crate::agent::state::State;
use crate::domain::container::ContainerId;
use crate::domain::gpu::UnitId;
use crate::domain::launch_plan;
use crate::domain::request::gpus_wanted;
use crate::error::Error;
use crate::isolator::devices;
use crate::wire::resource::gpu_shares;
use crate::wire::{ContainerConfig, ContainerLaunchInfo, Environment, Resource};

/// What Mesos is to add to the launch; none for nothing.
pub type Launch = Option<ContainerLaunchInfo>;

/// Takes GPUs for a new container, grants them, and names them in its environment.
pub fn prepare(state: &mut State, container: &ContainerId, config: &ContainerConfig, reply: &Reply<Launch>) {
    let granted = if container.is_nested() {
        nested(state, container, config)
    } else {
        root(state, container, config)
    };
    reply.answer(granted.map(|granted| granted.map(|units| launch_info(&units, config))));
}

/// A child runs in its root's grant. One that only looks into its parent inherits the parent's environment as it is.
fn nested(
    state: &mut State,
    container: &ContainerId,
    config: &ContainerConfig,
) -> Result<Option<Vec<UnitId>>, Error> {
    state.containers.entry(container.clone()).or_default();
    if config.is_debug() {
        return Ok(None);
    }
    Ok(Some(state.ledger.held_by(&container.root()).to_vec()))
}

fn root(
    state: &mut State,
    container: &ContainerId,
    config: &ContainerConfig,
) -> Result<Option<Vec<UnitId>>, Error> {
    let wanted = wanted(&config.resources)?;
    if state.containers.contains_key(container) {
        return Err(Error::defect(format!(
            "container {container} was prepared before"
        )));
    }
    let units = give(state, container, wanted)?;
    state.containers.entry(container.clone()).or_default();
    if !units.is_empty() {
        log::info!("container {container} got {}", list(&units));
    }
    Ok(Some(units))
}

/// Takes `more` free units for a container and grants them, all or none. Returns them.
///
/// # Errors
/// Fewer are free, or the machine refuses; then the container has what it had.
pub(super) fn give(state: &mut State, container: &ContainerId, more: usize) -> Result<Vec<UnitId>, Error> {
    if more == 0 {
        return Ok(Vec::new());
    }
    state.sound()?;
    let cgroup = container.cgroup(&state.cgroups_root);
    if !devices::controller(state)?.exists(&cgroup) {
        return Err(Error::machine(format!(
            "cannot grant GPUs to container {container}: it has no devices cgroup {cgroup}; name cgroups/devices or \
             cgroups/all in --isolation"
        )));
    }
    let units = state
        .ledger
        .take(state.inventory.units(), container, more)
        .map_err(|shortage| {
            Error::request(format!("cannot give GPUs to container {container}: {shortage}"))
        })?;
    if let Err(error) = devices::grant(state, &cgroup, &units) {
        state.ledger.give_back(container, &units);
        return Err(error);
    }
    Ok(units)
}

/// How many GPUs resources ask for.
///
/// # Errors
/// A number that is not a whole one, with the number.
pub(super) fn wanted(resources: &[Resource]) -> Result<usize, Error> {
    let shares = gpu_shares(resources).map_err(|e| Error::request(e.to_string()))?;
    let wanted = gpus_wanted(&shares).map_err(|e| Error::request(e.to_string()))?;
    usize::try_from(wanted).map_err(|e| Error::request(format!("cannot count {wanted} GPUs: {e}")))
}

/// The environment goes to the container's own process, and for a command task to the task as well: with an image the
/// executor stays outside and does not hand its own on.
fn launch_info(units: &[UnitId], config: &ContainerConfig) -> ContainerLaunchInfo {
    let image = config
        .docker
        .as_ref()
        .and_then(|docker| docker.manifest.as_ref()?.config.as_ref());
    let is_set = |name: &str| {
        image.is_some_and(|image| image.env.iter().any(|pair| pair.split('=').next() == Some(name)))
    };
    let environment = Environment::of(launch_plan::environment(units, is_set));
    ContainerLaunchInfo {
        task_environment: config.task_info.as_ref().map(|_| environment.clone()),
        environment: Some(environment),
        ..ContainerLaunchInfo::default()
    }
}

/// Units in words.
pub(super) fn list(units: &[UnitId]) -> String {
    units.iter().map(UnitId::as_str).collect::<Vec<_>>().join(", ")
}

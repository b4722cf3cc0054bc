// SPDX-License-Identifier: Apache-2.0
//! `prepare`: before a container is launched, it gets its GPUs, or the launch fails and says why.

use crate::agent::reply::Reply;
use crate::agent::state::State;
use crate::domain::container::{ContainerId, Executor};
use crate::domain::gpu::UnitId;
use crate::domain::launch_plan;
use crate::domain::request::gpus_wanted;
use crate::error::Error;
use crate::isolator::{children, grant, observe};
use crate::wire::container::ExecutorInfo;
use crate::wire::resource::gpu_shares;
use crate::wire::{ContainerConfig, ContainerLaunchInfo, Environment, Resource};

/// What Mesos is to add to the launch; none for nothing.
pub type Launch = Option<ContainerLaunchInfo>;

/// Takes GPUs for a new container, grants them, and names them in its environment.
pub fn prepare(state: &mut State, container: &ContainerId, config: ContainerConfig, reply: Reply<Launch>) {
    if state.containers.contains_key(container) {
        return reply.fail(&Error::defect(format!(
            "container {container} was prepared before"
        )));
    }
    let wanted = match wanted(&config.resources) {
        Ok(wanted) => wanted,
        Err(error) => return reply.fail(&error),
    };
    let executor = config.executor_info.as_ref().and_then(executor);
    state.containers.entry(container.clone()).or_default().executor = executor;
    if container.is_nested() {
        let given = children::prepare(state, container, &config, wanted);
        return reply.answer(given.map(|given| given.map(|units| launch_info(&units, &config))));
    }
    if observe::is_on(state) {
        return reply.answer(observe::look(state, container).map(|units| Some(launch_info(&units, &config))));
    }
    let id = container.clone();
    let then = move |state: &mut State, given: Result<Vec<UnitId>, Error>| {
        match &given {
            Ok(units) if units.is_empty() => {}
            Ok(units) => log::info!("container {id} got {}", list(units)),
            // Mesos cleans up after a failed launch; a second try under the same id must not be taken for a repeat.
            Err(_) => drop(state.containers.remove(&id)),
        }
        let given = given.and_then(|units| grant::control_nodes(state, &id).map(|()| units));
        reply.answer(given.map(|units| Some(launch_info(&units, &config))));
    };
    grant::give(state, container, wanted, Box::new(then));
}

/// Which executor a message describes; none where its framework is not told.
pub fn executor(info: &ExecutorInfo) -> Option<Executor> {
    let framework = info.framework_id.as_ref()?;
    Some(Executor {
        framework: framework.value.clone(),
        id: info.executor_id.value.clone(),
    })
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

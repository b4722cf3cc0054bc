// SPDX-License-Identifier: Apache-2.0
//! `prepare`: before a container is launched, it gets its GPUs, or the launch fails and says why.

use crate::agent::reply::Reply;
use crate::agent::state::State;
use crate::domain::container::{ContainerId, Executor};
use crate::domain::gpu::UnitId;
use crate::domain::launch_plan;
use crate::domain::mount::Mount;
use crate::domain::request::Wanted;
use crate::domain::words::listed;
use crate::error::Error;
use crate::isolator::fitting::Fitting;
use crate::isolator::image::Fitted;
use crate::isolator::{children, grant, guest, observe};
use crate::wire::container::ExecutorInfo;
use crate::wire::resource::gpu_shares;
use crate::wire::{ContainerConfig, ContainerLaunchInfo, ContainerMountInfo, Environment, Resource};
use std::sync::Arc;

/// What Mesos is to add to the launch; none for nothing.
pub type Launch = Option<ContainerLaunchInfo>;

/// Takes GPUs for a new container, grants them, and names them in its environment.
pub fn prepare(state: &mut State, container: &ContainerId, config: ContainerConfig, reply: Reply<Launch>) {
    if state.containers.contains_key(container) {
        return reply.fail(&Error::defect(format!(
            "container {container} was prepared before"
        )));
    }
    let wanted = wanted(&config.resources).and_then(|wanted| {
        // A child lives on what its root has.
        let revocable = if container.is_nested() {
            0
        } else {
            wanted.revocable
        };
        guest::allowed(state, container, revocable).map(|()| wanted)
    });
    let wanted = match wanted {
        Ok(wanted) => wanted,
        Err(error) => return reply.fail(&error),
    };
    let executor = config.executor_info.as_ref().and_then(executor);
    state.containers.entry(container.clone()).or_default().executor = executor;
    if container.is_nested() {
        let given = children::prepare(state, container, &config, wanted);
        return launch(state, container, &config, &Fitting::default(), given, reply);
    }
    if observe::is_on(state) {
        // Mesos's own isolator fits images itself.
        let units = observe::look(state, container);
        return reply.answer(units.map(|units| Some(Told::of(&units, &[], &config).with(Fitted::default()))));
    }
    let (id, config, fitting) = (container.clone(), Arc::new(config), Fitting::default());
    let first = {
        let (id, config, fitting) = (id.clone(), Arc::clone(&config), fitting.clone());
        move |state: &mut State, units: &[UnitId]| fitting.begin(state, &id, &config, units)
    };
    let then = move |state: &mut State, given: Result<Vec<UnitId>, Error>| {
        match &given {
            Ok(units) if units.is_empty() => {}
            Ok(units) => log::info!("container {id} got {}", listed(units)),
            // Mesos cleans up after a failed launch; a second try under the same id must not be taken for a repeat.
            Err(_) => drop(state.containers.remove(&id)),
        }
        let given = given.and_then(|units| grant::control_nodes(state, &id).map(|()| units));
        launch(state, &id, &config, &fitting, given.map(Some), reply);
    };
    grant::give(state, container, wanted, first, Box::new(then));
}

/// Fits the image, where there is one, and answers. Where nothing was given the child inherits its parent's environment.
fn launch(
    state: &mut State,
    container: &ContainerId,
    config: &ContainerConfig,
    fitting: &Fitting,
    given: Result<Option<Vec<UnitId>>, Error>,
    reply: Reply<Launch>,
) {
    let given = match given {
        Ok(given) => given,
        Err(error) => return reply.fail(&error),
    };
    let shared = state.guests.of(&container.root());
    let told = given.as_deref().map(|units| Told::of(units, &shared, config));
    let then = move |_: &mut State, fitted: Result<Fitted, Error>| {
        let info = fitted.map(|fitted| match told {
            None if fitted == Fitted::default() => None,
            None => Some(inherited(fitted)),
            Some(told) => Some(told.with(fitted)),
        });
        reply.answer(info);
    };
    let units = given.as_deref().unwrap_or_default();
    fitting.wait(state, container, config, units, Box::new(then));
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
pub(super) fn wanted(resources: &[Resource]) -> Result<Wanted, Error> {
    let shares = gpu_shares(resources).map_err(|e| Error::request(e.to_string()))?;
    Wanted::of(&shares).map_err(|e| Error::request(e.to_string()))
}

/// What a container is told of its GPUs.
struct Told {
    variables: Vec<(String, String)>,
    is_command_task: bool,
}

impl Told {
    fn of(units: &[UnitId], shared: &[UnitId], config: &ContainerConfig) -> Self {
        let is_set = |name: &str| {
            config
                .image()
                .is_some_and(|image| image.env.iter().any(|pair| pair.split('=').next() == Some(name)))
        };
        Self {
            variables: launch_plan::environment(units, shared, is_set),
            is_command_task: config.task_info.is_some(),
        }
    }

    /// The environment goes to the container's own process, and for a command task to the task as well: with an image the
    /// executor stays outside and does not hand its own on. For the same reason the way to the driver inside the image goes
    /// to the task alone.
    fn with(self, fitted: Fitted) -> ContainerLaunchInfo {
        let inside = self.variables.iter().cloned().chain(fitted.environment);
        let inside = Environment::of(inside);
        let (environment, task_environment) = if self.is_command_task {
            (Environment::of(self.variables), Some(inside))
        } else {
            (inside, None)
        };
        ContainerLaunchInfo {
            environment: Some(environment),
            task_environment,
            mounts: fitted.mounts.iter().map(mount_info).collect(),
        }
    }
}

/// What a child that looks into its parent is told.
fn inherited(fitted: Fitted) -> ContainerLaunchInfo {
    ContainerLaunchInfo {
        environment: Some(Environment::of(fitted.environment)),
        ..ContainerLaunchInfo::default()
    }
}

fn mount_info(mount: &Mount) -> ContainerMountInfo {
    ContainerMountInfo {
        target: mount.target.display().to_string(),
        source: Some(mount.source.display().to_string()),
        flags: Some(launch_plan::mount_flags(mount)),
        ..ContainerMountInfo::default()
    }
}

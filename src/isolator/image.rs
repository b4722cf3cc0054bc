// SPDX-License-Identifier: Apache-2.0
//! Containers with an image: the driver's files and the granted device nodes go into its root file system. What an image
//! says decides whether it gets the driver where nobody granted it a GPU, and never what it may open.

use crate::agent::state::State;
use crate::domain::container::ContainerId;
use crate::domain::gpu::UnitId;
use crate::domain::image::facts::Facts;
use crate::domain::image::{Wishes, injection, requirement};
use crate::domain::mount::Mount;
use crate::domain::search_path;
use crate::error::Error;
use crate::isolator::devices;
use crate::ports::images::{DriverWant, Outfit, Want};
use crate::wire::ContainerConfig;
use std::fmt::Display;

/// What a container with an image is launched with on top.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Fitted {
    /// Mounts, in order.
    pub mounts: Vec<Mount>,
    /// How its programs find the driver.
    pub environment: Vec<(String, String)>,
}

/// What goes on when the image is fitted, or cannot be.
pub(super) type Then = Box<dyn FnOnce(&mut State, Result<Fitted, Error>) + Send>;

/// Fits the image of a container that has these units; one without an image is left as it is. `then` runs exactly once.
pub(super) fn fit(
    state: &mut State,
    container: &ContainerId,
    config: &ContainerConfig,
    units: &[UnitId],
    then: Then,
) {
    if config.is_debug() {
        // It looks into its parent: the mounts are there, and only the way to them has to be told.
        let environment = container.parent().and_then(|parent| {
            let known = state.containers.get(&parent)?;
            Some(known.driver_environment.clone())
        });
        let fitted = Fitted {
            environment: environment.unwrap_or_default(),
            ..Fitted::default()
        };
        return then(state, Ok(fitted));
    }
    let wishes = wishes(config);
    for warning in wishes.iter().flat_map(|wishes| &wishes.warnings) {
        log::warn!("image of container {container}: {warning}");
    }
    let want = match want(state, container, config, units, wishes.as_ref()) {
        Ok(Some(want)) => want,
        Ok(None) => return then(state, Ok(Fitted::default())),
        Err(error) => return then(state, Err(error)),
    };
    let (mailbox, id) = (state.mailbox.clone(), container.clone());
    state.machine.images.fit(
        want,
        Box::new(move |outfit| {
            mailbox.post("isolator.image", move |state| {
                let fitted = outfit
                    .map(|outfit| fitted(state, &id, wishes.as_ref(), outfit))
                    .map_err(|why| Error::machine(format!("cannot fit the image of container {id}: {why}")));
                then(state, fitted);
            });
        }),
    );
}

/// Shows a running container the nodes of GPUs that it got on top, and goes on: with them, so that the task for which they
/// are finds them, or, for a failure would end all its tasks, without.
pub(super) fn show(
    state: &mut State,
    container: &ContainerId,
    more: &[UnitId],
    then: Box<dyn FnOnce(&mut State) + Send>,
) {
    let unseen = |container: &ContainerId, why: &dyn Display| {
        log::error!("container {container} may open its new GPUs and does not see them: {why}");
    };
    let known = state.containers.get(container);
    let Some(process) = known.and_then(|known| known.pid) else {
        return then(state);
    };
    match devices::nodes(state, more) {
        Ok(nodes) => {
            let (mailbox, id) = (state.mailbox.clone(), container.clone());
            let shown = move |shown: Result<(), String>| {
                if let Err(why) = shown {
                    unseen(&id, &why);
                }
                mailbox.post("isolator.image", then);
            };
            state.machine.images.show(process, nodes, Box::new(shown));
        }
        Err(error) => {
            unseen(container, &error);
            then(state);
        }
    }
}

/// What the image's manifest says; none for a root file system without one.
fn wishes(config: &ContainerConfig) -> Option<Wishes> {
    let image = config.image()?;
    let labels = image.labels.iter();
    Some(Wishes::read(
        image.env.iter().map(String::as_str),
        labels.map(|label| (label.key(), label.value())),
    ))
}

fn want(
    state: &State,
    container: &ContainerId,
    config: &ContainerConfig,
    units: &[UnitId],
    wishes: Option<&Wishes>,
) -> Result<Option<Want>, Error> {
    let Some(root) = config.rootfs.as_deref() else {
        return Ok(None);
    };
    let has_gpus = !units.is_empty();
    let gets_nodes = has_gpus || state.patience.control_nodes_for_all;
    let gets_driver = injection::gets_driver(state.images.driver_files, has_gpus, wishes);
    if !gets_nodes && !gets_driver {
        return Ok(None);
    }
    let nodes = if gets_nodes {
        devices::nodes(state, units)?
    } else {
        Vec::new()
    };
    let version = state.driver_version();
    let version = version.or_else(|| state.inventory.driver_version.clone());
    if has_gpus && state.images.requirements {
        check_requirements(state, container, units, wishes, version.as_deref())?;
    }
    Ok(Some(Want {
        container: container.to_string(),
        root: root.into(),
        driver: gets_driver.then(|| DriverWant {
            version,
            compat: state.images.cuda_compat,
            models: models(state, units),
        }),
        nodes,
        volumes: config
            .volumes()
            .chain([state.images.sandbox.as_str()])
            .map(ToOwned::to_owned)
            .collect(),
    }))
}

fn models(state: &State, units: &[UnitId]) -> Vec<String> {
    let units = units.iter().filter_map(|unit| state.inventory.get(unit));
    units.filter_map(|unit| unit.model.clone()).collect()
}

/// An image says which driver and which GPUs it cannot do without. Better told at the launch than by CUDA later.
fn check_requirements(
    state: &State,
    container: &ContainerId,
    units: &[UnitId],
    wishes: Option<&Wishes>,
    driver: Option<&str>,
) -> Result<(), Error> {
    let Some(wishes) = wishes else {
        return Ok(());
    };
    let mut facts = Facts::of(driver, &models(state, units));
    let gpus = units.iter().filter_map(|unit| state.inventory.get(unit));
    let products: Vec<_> = gpus.filter_map(|unit| state.products.of(unit.gpu_id())).collect();
    // NVML's word goes before what names tell.
    let brands: Option<Vec<String>> = products.iter().map(|product| product.brand.clone()).collect();
    if let Some(brands) = brands.filter(|brands| !brands.is_empty()) {
        facts.brands = brands;
    }
    let version = |(major, minor): (u32, u32)| format!("{major}.{minor}");
    facts.cuda = state.products.cuda_version.map(version).or(facts.cuda);
    let arch = products
        .iter()
        .filter_map(|product| product.compute_capability)
        .min();
    facts.arch = arch.map(version).or(facts.arch);
    let warnings = requirement::check(wishes, &facts)
        .map_err(|unmet| Error::request(format!("container {container} cannot run here: {unmet}")))?;
    for warning in warnings {
        log::warn!("image of container {container}: {warning}");
    }
    Ok(())
}

fn fitted(state: &mut State, container: &ContainerId, wishes: Option<&Wishes>, outfit: Outfit) -> Fitted {
    for note in outfit.notes {
        log::warn!("image of container {container}: {note}");
    }
    let environment = outfit
        .driver
        .map(|driver| search_path::environment(wishes, driver.compat.as_deref(), &driver.shares));
    let environment = environment.unwrap_or_default();
    if let Some(known) = state.containers.get_mut(container) {
        known.driver_environment.clone_from(&environment);
    }
    Fitted {
        mounts: outfit.mounts,
        environment,
    }
}

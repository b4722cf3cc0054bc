// SPDX-License-Identifier: Apache-2.0
//! Containers inside a container: they live on the root's grant, and each is told its own part of it.
//!
//! Mesos books GPUs for the root only, as the sum of what its tasks use; an executor that runs each task in a container of
//! its own (the default executor) names the task's resources when it launches that. So a child with resources is bound to
//! as many of the root's GPUs, and one without shares what the container above it has.

use crate::agent::state::State;
use crate::domain::container::ContainerId;
use crate::domain::gpu::UnitId;
use crate::domain::request::Wanted;
use crate::domain::words::listed;
use crate::error::Error;
use crate::isolator::{devices, observe};
use crate::wire::ContainerConfig;

/// Binds a child; none when it inherits its parent's environment as it is.
pub(super) fn prepare(
    state: &mut State,
    child: &ContainerId,
    config: &ContainerConfig,
    wanted: Wanted,
) -> Result<Option<Vec<UnitId>>, Error> {
    if config.is_debug() {
        return Ok(None);
    }
    if config.resources.is_empty() || observe::is_on(state) {
        return Ok(Some(state.units_of(child)));
    }
    let units = bind(state, child, wanted)?;
    if let Some(known) = state.containers.get_mut(child) {
        known.given = Some(units.clone());
    }
    state.record();
    if !config.shares_cgroups() && !units.is_empty() {
        grant_own_cgroup(state, child, &units)?;
    }
    if !units.is_empty() {
        log::info!("container {child} uses {} of its root's GPUs", listed(&units));
    }
    Ok(Some(units))
}

/// The kernel lets a cgroup have only what every cgroup above it has, and what a cgroup is granted does not reach those
/// below that are there already. Between the root's and the child's cgroup lies an empty one, made with the first child.
fn grant_own_cgroup(state: &State, child: &ContainerId, units: &[UnitId]) -> Result<(), Error> {
    let cgroup = child.cgroup(&state.cgroups_root);
    let between = cgroup.rsplit_once('/').map_or("", |(above, _)| above).to_owned();
    for cgroup in [between, cgroup] {
        if devices::controller(state)?.exists(&cgroup) {
            devices::grant(state, &cgroup, units)?;
        }
    }
    Ok(())
}

/// The first of the GPUs above that no sibling was given, of each kind.
fn bind(state: &State, child: &ContainerId, wanted: Wanted) -> Result<Vec<UnitId>, Error> {
    let Some(parent) = child.parent() else {
        return Ok(Vec::new());
    };
    let is_guest_on = state.guests.of(&child.root());
    let (shared, held): (Vec<_>, Vec<_>) = state
        .units_of(&parent)
        .into_iter()
        .partition(|unit| is_guest_on.contains(unit));
    let given = given_below(state, &parent);
    let first_of = |above: Vec<UnitId>, wanted: usize, kind: &str| {
        let left: Vec<&UnitId> = above.iter().filter(|unit| !given.contains(unit)).collect();
        if left.len() < wanted {
            return Err(Error::request(format!(
                "cannot give GPUs to container {child}: {wanted} {kind}wanted, container {parent} has {} and {} of them are \
                 not given to other children",
                above.len(),
                left.len()
            )));
        }
        Ok(left.into_iter().take(wanted).cloned().collect::<Vec<_>>())
    };
    let mut units = first_of(held, wanted.regular, "")?;
    units.extend(first_of(shared, wanted.revocable, "revocable ones ")?);
    Ok(units)
}

/// What the children of a container were given.
pub(super) fn given_below(state: &State, parent: &ContainerId) -> Vec<UnitId> {
    let children = state
        .containers
        .iter()
        .filter(|(id, _)| id.parent().as_ref() == Some(parent));
    children
        .flat_map(|(_, known)| known.given.iter().flatten().cloned())
        .collect()
}

/// A child ended: what it was given is its root's to give again, or to give back.
pub(super) fn cleanup(state: &mut State, child: &ContainerId) {
    let ended = state.containers.remove(child);
    if let Some(units) = ended
        .and_then(|known| known.given)
        .filter(|units| !units.is_empty())
    {
        for failure in devices::revoke(state, &child.cgroup(&state.cgroups_root), &units, &[]) {
            log::warn!("container {child} is gone, but {failure}");
        }
    }
    state.record();
}

// SPDX-License-Identifier: Apache-2.0
//! Giving devices to a container's cgroup and taking them back.
//!
//! The minors are asked afresh each time: they can change while the agent runs (a driver that is loaded again), and only
//! the UUID names a GPU.

use crate::agent::state::State;
use crate::domain::device::{CONTROL_NODES, DeviceNumber, NVIDIA_MAJOR, capability_node, gpu_node};
use crate::domain::device_rules::DeviceRule;
use crate::domain::gpu::{Unit, UnitId, UnitKind};
use crate::error::Error;
use crate::ports::dev_nodes::NodeState;
use crate::ports::device_cgroup::DeviceCgroup;
use crate::ports::images::NodeWant;

/// Lets the cgroup open these units and, with them, the control nodes. All or nothing: what was granted is taken back
/// when a later step fails.
///
/// # Errors
/// A node that is needed and not there, a unit whose driver no longer lists it, or the kernel's refusal.
pub fn grant(state: &State, cgroup: &str, units: &[UnitId]) -> Result<(), Error> {
    allow_all(state, cgroup, &needed(state, units)?)
}

/// What a cgroup with these units must be able to open and cannot; nothing for a cgroup that is gone.
///
/// # Errors
/// A unit whose driver no longer lists it, a node that is gone, or the kernel's refusal to tell.
pub fn missing(state: &State, cgroup: &str, units: &[UnitId]) -> Result<Vec<DeviceNumber>, Error> {
    let control = controller(state)?;
    if units.is_empty() || !control.exists(cgroup) {
        return Ok(Vec::new());
    }
    let rules = control.list(cgroup).map_err(Error::machine)?;
    let open: Vec<DeviceNumber> = rules.iter().filter_map(DeviceRule::opens).collect();
    let mut needed = needed(state, units)?;
    needed.retain(|device| !open.contains(device));
    Ok(needed)
}

/// What a container with these units must be able to open.
///
/// # Errors
/// A node that is needed and not there, or a unit whose driver no longer lists it.
pub fn nodes(state: &State, units: &[UnitId]) -> Result<Vec<NodeWant>, Error> {
    let mut nodes = control_nodes(state)?;
    for unit in units {
        for node in unit_nodes(state, unit)? {
            // MIG instances of one GPU share its node.
            if !nodes.contains(&node) {
                nodes.push(node);
            }
        }
    }
    Ok(nodes)
}

fn needed(state: &State, units: &[UnitId]) -> Result<Vec<DeviceNumber>, Error> {
    Ok(numbers(nodes(state, units)?))
}

fn numbers(nodes: Vec<NodeWant>) -> Vec<DeviceNumber> {
    nodes.into_iter().map(|node| node.number).collect()
}

/// Lets the cgroup open these devices. All or nothing.
///
/// # Errors
/// The kernel's refusal.
pub fn allow_all(state: &State, cgroup: &str, devices: &[DeviceNumber]) -> Result<(), Error> {
    let control = controller(state)?;
    for (done, device) in devices.iter().enumerate() {
        if let Err(why) = control.allow(cgroup, DeviceRule::grant(*device)) {
            take_back(control, cgroup, &devices[..done]);
            return Err(Error::machine(why));
        }
    }
    Ok(())
}

/// Takes units from a cgroup that keeps others; the control nodes go with the last. MIG instances of one GPU share its
/// node, which stays as long as one of them does. Goes on after a failure, and returns each one in words; a cgroup that is
/// gone is none.
pub fn revoke(state: &State, cgroup: &str, units: &[UnitId], kept: &[UnitId]) -> Vec<String> {
    let Ok(control) = controller(state) else {
        return Vec::new();
    };
    if !control.exists(cgroup) {
        return Vec::new();
    }
    let mut failures = Vec::new();
    // A node that is gone went with its device; the number it had is still what the cgroup knows.
    let devices_of = |unit| unit_devices(state, unit).unwrap_or_else(|_| last_known(state, unit));
    let still_used: Vec<DeviceNumber> = kept.iter().flat_map(devices_of).collect();
    let mut devices: Vec<DeviceNumber> = units.iter().flat_map(devices_of).collect();
    devices.retain(|device| !still_used.contains(device));
    if kept.is_empty() && !state.patience.control_nodes_for_all {
        match control_nodes(state) {
            Ok(found) => devices.extend(numbers(found)),
            Err(error) => failures.push(error.to_string()),
        }
    }
    failures.extend(take_back(control, cgroup, &devices));
    failures
}

/// The managed units that the kernel lets the cgroup open.
///
/// # Errors
/// The kernel's refusal to tell.
pub fn granted(state: &State, cgroup: &str) -> Result<Vec<UnitId>, Error> {
    let rules = controller(state)?.list(cgroup).map_err(Error::machine)?;
    let open: Vec<DeviceNumber> = rules.iter().filter_map(DeviceRule::opens).collect();
    let mut units = Vec::new();
    for unit in state.inventory.units() {
        let devices = unit_devices(state, &unit.id).unwrap_or_else(|_| last_known(state, &unit.id));
        if !devices.is_empty() && devices.iter().all(|device| open.contains(device)) {
            units.push(unit.id.clone());
        }
    }
    Ok(units)
}

/// The device controller.
///
/// # Errors
/// When this agent has none.
pub fn controller(state: &State) -> Result<&dyn DeviceCgroup, Error> {
    let cgroup = state.machine.cgroup.as_deref();
    cgroup.map_err(|why| Error::machine(format!("cannot control devices: {why}")))
}

fn take_back(control: &dyn DeviceCgroup, cgroup: &str, devices: &[DeviceNumber]) -> Vec<String> {
    devices
        .iter()
        .filter_map(|device| control.deny(cgroup, DeviceRule::revoke(*device)).err())
        .collect()
}

fn control_nodes(state: &State) -> Result<Vec<NodeWant>, Error> {
    let nodes = CONTROL_NODES
        .iter()
        .map(|node| (node.needed, node_at(state, node.path)));
    nodes
        .filter(|(needed, node)| *needed || node.is_ok())
        .map(|(_, node)| node)
        .collect()
}

/// The node of the GPU, and for a MIG instance those that guard it.
fn unit_devices(state: &State, id: &UnitId) -> Result<Vec<DeviceNumber>, Error> {
    unit_nodes(state, id).map(numbers)
}

fn unit_nodes(state: &State, id: &UnitId) -> Result<Vec<NodeWant>, Error> {
    let unit = state
        .inventory
        .get(id)
        .ok_or_else(|| Error::defect(format!("{id} is not a unit of this agent")))?;
    nodes_of(state, unit)?
        .iter()
        .map(|node| node_at(state, node))
        .collect()
}

/// The driver's own word where it lists its GPUs, else what NVML told at the start.
fn nodes_of(state: &State, unit: &Unit) -> Result<Vec<String>, Error> {
    let now = state.gpu_now(unit);
    if now.is_none() && !state.driver().gpus.is_empty() {
        return Err(Error::machine(format!(
            "the driver no longer lists {} at {}",
            unit.gpu_id(),
            unit.pci
        )));
    }
    let mut nodes = vec![gpu_node(now.as_ref().map_or(unit.minor, |gpu| gpu.minor))];
    if let UnitKind::Mig {
        gpu_instance,
        compute_instance,
        ..
    } = unit.kind
    {
        let accesses = now.as_ref().map(|gpu| gpu.mig.as_slice()).unwrap_or_default();
        for wanted in [None, Some(compute_instance)] {
            let access = accesses
                .iter()
                .find(|access| (access.gpu_instance, access.compute_instance) == (gpu_instance, wanted))
                .ok_or_else(|| Error::machine(format!("the driver names no node that guards {}", unit.id)))?;
            nodes.push(capability_node(access.minor));
        }
    }
    Ok(nodes)
}

fn node_at(state: &State, node: &str) -> Result<NodeWant, Error> {
    match state.machine.nodes.stat(node) {
        Ok(NodeState::Device(number)) => Ok(NodeWant {
            path: node.to_owned(),
            number,
        }),
        Ok(NodeState::Missing) => Err(cannot_grant(node, "there is no such node")),
        Ok(NodeState::Other(what)) => Err(cannot_grant(node, &format!("it is {what}"))),
        Err(why) => Err(cannot_grant(node, &why)),
    }
}

fn last_known(state: &State, id: &UnitId) -> Vec<DeviceNumber> {
    let unit = state.inventory.get(id);
    unit.map(|unit| DeviceNumber {
        major: NVIDIA_MAJOR,
        minor: unit.minor,
    })
    .into_iter()
    .collect()
}

fn cannot_grant(node: &str, why: &str) -> Error {
    Error::machine(format!("cannot grant the device {node}: {why}"))
}

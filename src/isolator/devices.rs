// SPDX-License-Identifier: Apache-2.0
//! Giving devices to a container's cgroup and taking them back.
//!
//! The minors are asked afresh each time: they can change while the agent runs (a driver that is loaded again), and only
//! the UUID names a GPU.

use crate::agent::state::State;
use crate::domain::device::{CONTROL_NODES, DeviceNumber, NVIDIA_MAJOR, gpu_node};
use crate::domain::device_rules::DeviceRule;
use crate::domain::gpu::UnitId;
use crate::error::Error;
use crate::ports::dev_nodes::NodeState;
use crate::ports::device_cgroup::DeviceCgroup;

/// Lets the cgroup open these units and, with them, the control nodes. All or nothing: what was granted is taken back
/// when a later step fails.
///
/// # Errors
/// A node that is needed and not there, a unit whose driver no longer lists it, or the kernel's refusal.
pub fn grant(state: &State, cgroup: &str, units: &[UnitId]) -> Result<(), Error> {
    let mut devices = control_devices(state)?;
    for unit in units {
        devices.extend(unit_devices(state, unit)?);
    }
    let control = controller(state)?;
    for (done, device) in devices.iter().enumerate() {
        if let Err(why) = control.allow(cgroup, DeviceRule::grant(*device)) {
            take_back(control, cgroup, &devices[..done]);
            return Err(Error::machine(why));
        }
    }
    Ok(())
}

/// Takes units from the cgroup, and the control nodes with the last of them. Goes on after a failure, and returns each
/// one in words; a cgroup that is gone is none.
pub fn revoke(state: &State, cgroup: &str, units: &[UnitId], also_control: bool) -> Vec<String> {
    let Ok(control) = controller(state) else { return Vec::new() };
    if !control.exists(cgroup) {
        return Vec::new();
    }
    let mut devices = Vec::new();
    let mut failures = Vec::new();
    for unit in units {
        match unit_devices(state, unit) {
            Ok(found) => devices.extend(found),
            // Its node is gone with the device; the number it had is still what the cgroup knows.
            Err(_) => devices.extend(last_known(state, unit)),
        }
    }
    if also_control {
        match control_devices(state) {
            Ok(found) => devices.extend(found),
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
    devices.iter().filter_map(|device| control.deny(cgroup, DeviceRule::revoke(*device)).err()).collect()
}

fn control_devices(state: &State) -> Result<Vec<DeviceNumber>, Error> {
    let mut devices = Vec::new();
    for node in CONTROL_NODES {
        match state.machine.nodes.stat(node.path) {
            Ok(NodeState::Device(number)) => devices.push(number),
            Ok(_) if !node.needed => {}
            Ok(NodeState::Missing) => return Err(cannot_grant(node.path, "there is no such node")),
            Ok(NodeState::Other(what)) => return Err(cannot_grant(node.path, &format!("it is {what}"))),
            Err(_) if !node.needed => {}
            Err(why) => return Err(cannot_grant(node.path, &why)),
        }
    }
    Ok(devices)
}

fn unit_devices(state: &State, id: &UnitId) -> Result<Vec<DeviceNumber>, Error> {
    let minor = current_minor(state, id)?;
    let node = gpu_node(minor);
    match state.machine.nodes.stat(&node) {
        Ok(NodeState::Device(number)) => Ok(vec![number]),
        Ok(NodeState::Missing) => Err(cannot_grant(&node, "there is no such node")),
        Ok(NodeState::Other(what)) => Err(cannot_grant(&node, &format!("it is {what}"))),
        Err(why) => Err(cannot_grant(&node, &why)),
    }
}

fn last_known(state: &State, id: &UnitId) -> Vec<DeviceNumber> {
    let unit = state.inventory.get(id);
    unit.map(|unit| DeviceNumber { major: NVIDIA_MAJOR, minor: unit.minor }).into_iter().collect()
}

/// The driver's own word where it lists its GPUs, else what NVML told at the start.
fn current_minor(state: &State, id: &UnitId) -> Result<u32, Error> {
    let known = state.inventory.get(id).ok_or_else(|| Error::defect(format!("{id} is not a unit of this agent")))?;
    let report = state.machine.driver.read();
    if report.gpus.is_empty() {
        return Ok(known.minor);
    }
    let now = report.gpus.iter().find(|gpu| &gpu.uuid == known.gpu_id());
    now.map(|gpu| gpu.minor).ok_or_else(|| Error::machine(format!("the driver no longer lists {id} at {}", known.pci)))
}

fn cannot_grant(node: &str, why: &str) -> Error {
    Error::machine(format!("cannot grant the device {node}: {why}"))
}

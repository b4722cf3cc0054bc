// SPDX-License-Identifier: Apache-2.0
//! Containers and what they ask for, in short words.

use mesos_gpu::domain::container::ContainerId;
use mesos_gpu::wire::{ContainerConfig, Resource};

/// A container by its values, `root.child`.
pub fn id(name: &str) -> ContainerId {
    ContainerId::from_path(name.split('.').map(str::to_owned).collect()).unwrap()
}

/// Resources as Mesos tells them: no `gpus` entry for none.
pub fn resources(gpus: f64) -> Vec<Resource> {
    let mut resources = vec![Resource::scalar("cpus", 0.1)];
    if gpus != 0.0 {
        resources.push(Resource::scalar("gpus", gpus));
    }
    resources
}

/// A container's configuration with so many GPUs.
pub fn config(gpus: f64) -> ContainerConfig {
    ContainerConfig {
        resources: resources(gpus),
        ..ContainerConfig::default()
    }
}

// SPDX-License-Identifier: Apache-2.0
//! A device directory in memory: nodes come, go and change their numbers, as with a driver that is loaded again.

use mesos_gpu::domain::device::{A_DIRECTORY, CONTROL_NODES, DeviceNumber, NVIDIA_MAJOR, gpu_node};
use mesos_gpu::ports::dev_nodes::{DevNodes, NodeState};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// What stands where, or why that cannot be told.
type Nodes = BTreeMap<String, Result<NodeState, String>>;

/// A device directory. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct FakeDevNodes {
    nodes: Arc<Mutex<Nodes>>,
}

impl FakeDevNodes {
    /// Nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// What NVIDIA's driver makes for GPUs with these minor numbers: they, and every control node.
    pub fn with_gpus(minors: &[u32]) -> Self {
        let fake = Self::new();
        for minor in minors {
            fake.put(&gpu_node(*minor), NVIDIA_MAJOR, *minor);
        }
        for (node, (major, minor)) in CONTROL_NODES
            .iter()
            .zip([(195, 255), (238, 0), (238, 1), (195, 254)])
        {
            fake.put(node.path, major, minor);
        }
        fake
    }

    /// Puts a character device.
    pub fn put(&self, path: &str, major: u32, minor: u32) {
        self.set(path, Ok(NodeState::Device(DeviceNumber { major, minor })));
    }

    /// Puts anything, or a reason why it cannot be looked at.
    pub fn set(&self, path: &str, state: Result<NodeState, String>) {
        self.nodes.lock().unwrap().insert(path.to_owned(), state);
    }

    /// Takes away what stands at the path.
    pub fn remove(&self, path: &str) {
        self.nodes.lock().unwrap().remove(path);
    }
}

impl DevNodes for FakeDevNodes {
    fn stat(&self, path: &str) -> Result<NodeState, String> {
        if path.is_empty() || path.starts_with('/') || path.split('/').any(|part| part == "..") {
            return Err(format!(
                "cannot look at device node {path:?}: it is not inside the device directory"
            ));
        }
        let nodes = self.nodes.lock().unwrap();
        let below = format!("{path}/");
        match nodes.get(path) {
            Some(state) => state.clone(),
            None if nodes.keys().any(|node| node.starts_with(&below)) => {
                Ok(NodeState::Other(A_DIRECTORY.to_owned()))
            }
            None => Ok(NodeState::Missing),
        }
    }

    fn list(&self) -> Result<Vec<String>, String> {
        let nodes = self.nodes.lock().unwrap();
        let names = nodes.keys().filter_map(|path| path.split('/').next());
        let nvidia = names.filter(|name| name.starts_with("nvidia"));
        let once: BTreeSet<String> = nvidia.map(str::to_owned).collect();
        Ok(once.into_iter().collect())
    }
}

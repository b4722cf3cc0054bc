// SPDX-License-Identifier: Apache-2.0
//! Who has what of an agent, as Mesos's agent itself counts it.

use super::resource::Resource;
use super::{ContainerID, WireError};
use crate::domain::container::ContainerId;

/// `mesos.ResourceUsage`, as far as it says what was given out.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ResourceUsage {
    /// The executors that have not ended.
    #[prost(message, repeated, tag = "1")]
    pub executors: Vec<ExecutorUsage>,
}

/// `mesos.ResourceUsage.Executor`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ExecutorUsage {
    /// What it and its tasks have.
    #[prost(message, repeated, tag = "2")]
    pub allocated: Vec<Resource>,
    /// Its container.
    #[prost(message, required, tag = "4")]
    pub container_id: ContainerID,
}

impl ExecutorUsage {
    /// The container that the executor lives in.
    ///
    /// # Errors
    /// Its id cannot be one.
    pub fn container(&self) -> Result<ContainerId, WireError> {
        ContainerId::try_from(&self.container_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::decode;

    #[test]
    fn the_usage_of_an_agent_is_read_by_number() {
        // 1 executors { 1 executor_info, 2 allocated { 1 name, 2 type, 9 revocable }, 3 statistics, 4 container_id }, 2 total
        let bytes = b"\x0a\x19\x0a\x02\x0a\x00\x12\x0a\x0a\x04gpus\x10\x00\x4a\x00\x1a\x00\x22\x05\x0a\x03abc\x12\x00".as_slice();
        let usage: ResourceUsage = decode("ResourceUsage", bytes).unwrap();
        let [executor] = usage.executors.try_into().unwrap();
        assert_eq!(executor.container(), Ok(ContainerId::root_of("abc")));
        let [gpus] = executor.allocated.try_into().unwrap();
        assert!(gpus.name == "gpus" && gpus.revocable.is_some());
    }
}

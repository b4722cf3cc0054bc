// SPDX-License-Identifier: Apache-2.0
//! What a QoS controller wants of the agent.

use super::ContainerID;
use crate::domain::container::{ContainerId, Executor};

/// `mesos.slave.QoSCorrection.Type`: end an executor, the only one there is.
const KILL: i32 = 1;

/// `mesos.slave.QoSCorrection`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct QoSCorrection {
    /// `mesos.slave.QoSCorrection.Type`.
    #[prost(int32, required, tag = "1")]
    pub r#type: i32,
    /// Which executor.
    #[prost(message, optional, tag = "2")]
    pub kill: Option<Kill>,
}

/// `mesos.slave.QoSCorrection.Kill`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Kill {
    /// Its framework.
    #[prost(message, optional, tag = "1")]
    pub framework_id: Option<Id>,
    /// The executor.
    #[prost(message, optional, tag = "2")]
    pub executor_id: Option<Id>,
    /// Its container, so that a later executor with the same id is left alone.
    #[prost(message, optional, tag = "3")]
    pub container_id: Option<ContainerID>,
}

/// `mesos.FrameworkID` and `mesos.ExecutorID`.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct Id {
    /// Its value.
    #[prost(string, required, tag = "1")]
    pub value: String,
}

impl QoSCorrection {
    /// Ends the executor of this container.
    pub fn kill(executor: &Executor, container: &ContainerId) -> Self {
        let id = |value: &str| {
            Some(Id {
                value: value.to_owned(),
            })
        };
        Self {
            r#type: KILL,
            kill: Some(Kill {
                framework_id: id(&executor.framework),
                executor_id: id(&executor.id),
                container_id: Some(container.into()),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;

    #[test]
    fn a_kill_is_written_by_number() {
        let executor = Executor {
            framework: "f".to_owned(),
            id: "ex".to_owned(),
        };
        let correction = QoSCorrection::kill(&executor, &ContainerId::root_of("c"));
        assert_eq!(
            correction.encode_to_vec(),
            b"\x08\x01\x12\x10\x0a\x03\x0a\x01f\x12\x04\x0a\x02ex\x1a\x03\x0a\x01c"
        );
    }
}

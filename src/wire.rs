// SPDX-License-Identifier: Apache-2.0
//! Mesos's messages as data. They cross the bridge as protobuf bytes, because their C++ classes belong to the Mesos that
//! happens to be running, and a second protobuf library in the same process must never meet them.
//!
//! Only the fields that this library reads or writes are declared. **A field that is not declared is dropped on reading:**
//! a message that was read here and is written again has lost it. So nothing that must go back to Mesos unchanged (the
//! resources of an offer or of the agent, the rest of a task status) is read, changed and written here: those stay in
//! C++, or bytes are appended to the original's.
//!
//! The numbers are those of Mesos 1.11, as the descriptors inside its library state them. `required` means what it means
//! there for writing; a required field that is missing on reading is its type's empty value, so whoever needs it checks.

pub mod container;
pub mod container_id;
pub mod correction;
pub mod framework;
pub mod launch;
pub mod refusal;
pub mod resource;
pub mod task;
pub mod usage;

pub use container::{ContainerClass, ContainerConfig, ContainerState};
pub use container_id::ContainerID;
pub use launch::{
    ContainerLaunchInfo, ContainerLimitation, ContainerMountInfo, ContainerStatus, Environment,
    ResourceStatistics,
};
pub use resource::{Attribute, Resource, Resources, SlaveInfo};
pub use task::{Labels, Parameters, TaskStatus};

/// Why a message could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The bytes are no message of that kind.
    #[error("cannot read {size} bytes as a {message}: {reason}")]
    Malformed {
        /// The message's name.
        message: &'static str,
        /// How many bytes there were.
        size: usize,
        /// What the decoder found.
        reason: String,
    },
    /// A container's id has a value that cannot be one.
    #[error("container id {id:?} cannot be used: {reason}")]
    ContainerId {
        /// The value at fault.
        id: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A container lies deeper than any that is supported.
    #[error("container is nested more than {limit} levels deep")]
    TooDeep {
        /// The deepest level that is supported.
        limit: usize,
    },
    /// A resource that is counted has no number.
    #[error("resource {name:?} has no scalar value")]
    NotScalar {
        /// The resource's name.
        name: String,
    },
}

/// Reads a message; `message` is its name, for the error.
pub fn decode<M: prost::Message + Default>(message: &'static str, bytes: &[u8]) -> Result<M, WireError> {
    M::decode(bytes).map_err(|error| WireError::Malformed {
        message,
        size: bytes.len(),
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreadable_message_is_named() {
        // Field 13 announces 5 bytes and there is one.
        let error = decode::<ContainerConfig>("ContainerConfig", &[0x6a, 5, 1]).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("cannot read 3 bytes as a ContainerConfig: "),
            "{text}"
        );
        assert!(!text.contains('\n'), "{text}");
    }

    #[test]
    fn fields_that_are_not_declared_are_dropped() {
        // Field 4 of SlaveInfo is not among those we read. This is the reason for the rule in the head comment.
        let info: SlaveInfo = decode("SlaveInfo", &[0x0a, 1, b'h', 0x20, 7]).unwrap();
        assert_eq!(prost::Message::encode_to_vec(&info), [0x0a, 1, b'h']);
    }
}

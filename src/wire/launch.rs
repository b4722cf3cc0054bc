// SPDX-License-Identifier: Apache-2.0
//! What an isolator answers: how to launch the container, why it must die, what it uses.

use super::container_id::ContainerID;
use super::resource::Resource;

/// `mesos.Environment`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Environment {
    /// The variables, in order; a later one of the same name wins.
    #[prost(message, repeated, tag = "1")]
    pub variables: Vec<Variable>,
}

impl Environment {
    /// Plain variables.
    pub fn of<N: Into<String>, V: Into<String>>(variables: impl IntoIterator<Item = (N, V)>) -> Self {
        let variable = |(name, value): (N, V)| Variable {
            name: name.into(),
            value: Some(value.into()),
            r#type: Some(VariableType::Value as i32),
        };
        Self {
            variables: variables.into_iter().map(variable).collect(),
        }
    }
}

/// `mesos.Environment.Variable.Type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum VariableType {
    /// Not said.
    Unknown = 0,
    /// The value is in the message.
    Value = 1,
    /// The value is a secret that the agent looks up.
    Secret = 2,
}

/// `mesos.Environment.Variable`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Variable {
    /// Its name.
    #[prost(string, required, tag = "1")]
    pub name: String,
    /// Its value; none for a secret.
    #[prost(string, optional, tag = "2")]
    pub value: Option<String>,
    /// Where its value is.
    #[prost(enumeration = "VariableType", optional, tag = "3")]
    pub r#type: Option<i32>,
}

/// `mesos.slave.ContainerMountInfo`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerMountInfo {
    /// Where, absolute on the host.
    #[prost(string, required, tag = "1")]
    pub target: String,
    /// What, absolute on the host.
    #[prost(string, optional, tag = "2")]
    pub source: Option<String>,
    /// The file system's type.
    #[prost(string, optional, tag = "3")]
    pub r#type: Option<String>,
    /// The flags of mount(2).
    #[prost(uint32, optional, tag = "4")]
    pub flags: Option<u32>,
    /// The file system's own options.
    #[prost(string, optional, tag = "5")]
    pub options: Option<String>,
}

/// `mesos.slave.ContainerLaunchInfo`: what `prepare` answers. Mesos merges it with the other isolators' answers.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerLaunchInfo {
    /// Environment of the container's own process: the executor, or the command of a container without one.
    #[prost(message, optional, tag = "2")]
    pub environment: Option<Environment>,
    /// Environment of a command task only.
    #[prost(message, optional, tag = "15")]
    pub task_environment: Option<Environment>,
    /// Mounts, made in order.
    #[prost(message, repeated, tag = "17")]
    pub mounts: Vec<ContainerMountInfo>,
}

/// `mesos.slave.ContainerLimitation`: why a container must die; what completes `watch`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerLimitation {
    /// The resources at fault.
    #[prost(message, repeated, tag = "1")]
    pub resources: Vec<Resource>,
    /// What the task's status will say.
    #[prost(string, optional, tag = "2")]
    pub message: Option<String>,
    /// `mesos.TaskStatus.Reason`, for example [`REASON_CONTAINER_LIMITATION`].
    #[prost(int32, optional, tag = "3")]
    pub reason: Option<i32>,
}

/// `mesos.TaskStatus.Reason`: the container broke a limit of no more special kind.
pub const REASON_CONTAINER_LIMITATION: i32 = 19;

/// `mesos.TaskStatus.Reason`: somebody else needs what the container was lent.
pub const REASON_CONTAINER_PREEMPTED: i32 = 17;

/// `mesos.ContainerStatus`, as far as it names the container.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerStatus {
    /// Which container.
    #[prost(message, optional, tag = "4")]
    pub container_id: Option<ContainerID>,
}

/// `mesos.ResourceStatistics`: the answer to `usage`. Mesos has no field for a GPU's use.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ResourceStatistics {
    /// Seconds since 1970.
    #[prost(double, required, tag = "1")]
    pub timestamp: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;

    #[test]
    fn what_prepare_answers_is_written_by_number() {
        let answer = ContainerLaunchInfo {
            environment: Some(Environment::of([("A", "b")])),
            task_environment: Some(Environment::of([("C", "")])),
            mounts: vec![ContainerMountInfo {
                target: "/t".into(),
                source: Some("/s".into()),
                r#type: None,
                flags: Some(4096),
                options: None,
            }],
        };
        let mut want = b"\x12\x0a\x0a\x08\x0a\x01A\x12\x01b\x18\x01".to_vec();
        want.extend_from_slice(b"\x7a\x09\x0a\x07\x0a\x01C\x12\x00\x18\x01");
        want.extend_from_slice(b"\x8a\x01\x0b\x0a\x02/t\x12\x02/s\x20\x80\x20");
        assert_eq!(answer.encode_to_vec(), want);
        assert_eq!(ContainerLaunchInfo::default().encode_to_vec(), b"");
    }

    #[test]
    fn the_small_answers_are_written_by_number() {
        let limitation = ContainerLimitation {
            resources: Vec::new(),
            message: Some("m".into()),
            reason: Some(REASON_CONTAINER_LIMITATION),
        };
        assert_eq!(limitation.encode_to_vec(), b"\x12\x01m\x18\x13");
        let statistics = ResourceStatistics { timestamp: 1.0 };
        assert_eq!(
            statistics.encode_to_vec(),
            [&b"\x09"[..], &1f64.to_le_bytes()].concat()
        );
    }
}

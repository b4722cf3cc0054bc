// SPDX-License-Identifier: Apache-2.0
//! Module parameters, labels, ids and task statuses.

use super::launch::ContainerStatus;

/// `mesos.Parameters`: what modules.json gives a module.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct Parameters {
    /// The parameters, in the order of the file.
    #[prost(message, repeated, tag = "1")]
    pub parameter: Vec<Parameter>,
}

impl Parameters {
    /// The parameters as pairs of key and value.
    pub fn into_pairs(self) -> Vec<(String, String)> {
        self.parameter
            .into_iter()
            .map(|parameter| (parameter.key, parameter.value))
            .collect()
    }
}

/// `mesos.Parameter`.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct Parameter {
    /// Its key.
    #[prost(string, required, tag = "1")]
    pub key: String,
    /// Its value.
    #[prost(string, required, tag = "2")]
    pub value: String,
}

/// `mesos.Labels`.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct Labels {
    /// The labels; a key may come more than once.
    #[prost(message, repeated, tag = "1")]
    pub labels: Vec<Label>,
}

/// `mesos.Label`.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct Label {
    /// Its key.
    #[prost(string, required, tag = "1")]
    pub key: String,
    /// Its value.
    #[prost(string, optional, tag = "2")]
    pub value: Option<String>,
}

/// `mesos.TaskID`.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct TaskID {
    /// The id.
    #[prost(string, required, tag = "1")]
    pub value: String,
}

/// `mesos.ExecutorID`.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ExecutorID {
    /// The id.
    #[prost(string, required, tag = "1")]
    pub value: String,
}

/// `mesos.FrameworkID`.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct FrameworkID {
    /// The id.
    #[prost(string, required, tag = "1")]
    pub value: String,
}

/// `mesos.TaskStatus`, as far as a status is decorated. Of a decorator's answer Mesos takes the labels (all of them, in
/// place of the old ones) and the container status; the required fields must only be there.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TaskStatus {
    /// Which task.
    #[prost(message, required, tag = "1")]
    pub task_id: TaskID,
    /// `mesos.TaskState`, for example [`TASK_RUNNING`].
    #[prost(int32, required, tag = "2")]
    pub state: i32,
    /// Its executor.
    #[prost(message, optional, tag = "7")]
    pub executor_id: Option<ExecutorID>,
    /// The labels.
    #[prost(message, optional, tag = "12")]
    pub labels: Option<Labels>,
    /// Its container.
    #[prost(message, optional, tag = "13")]
    pub container_status: Option<ContainerStatus>,
}

/// `mesos.TaskState`: the task runs.
pub const TASK_RUNNING: i32 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::container_id::ContainerID;
    use crate::wire::decode;
    use prost::Message;

    #[test]
    fn parameters_are_read_by_number() {
        let bytes = b"\x0a\x0b\x0a\x04gpus\x12\x03all\x0a\x05\x0a\x01k\x12\x00";
        let parameters: Parameters = decode("Parameters", bytes).unwrap();
        let want = [
            ("gpus".to_owned(), "all".to_owned()),
            ("k".to_owned(), String::new()),
        ];
        assert_eq!(parameters.into_pairs(), want);
    }

    #[test]
    fn a_task_status_is_read_and_written_by_number() {
        let mut bytes = b"\x0a\x03\x0a\x01t\x10\x01".to_vec(); // 1 task id, 2 state
        bytes.extend_from_slice(b"\x3a\x03\x0a\x01e"); // 7 executor id
        bytes.extend_from_slice(b"\x62\x08\x0a\x06\x0a\x01k\x12\x01v"); // 12 labels
        bytes.extend_from_slice(b"\x6a\x05\x22\x03\x0a\x01c"); // 13 container status . 4 container id
        let want = TaskStatus {
            task_id: TaskID { value: "t".into() },
            state: TASK_RUNNING,
            executor_id: Some(ExecutorID { value: "e".into() }),
            labels: Some(Labels {
                labels: vec![Label {
                    key: "k".into(),
                    value: Some("v".into()),
                }],
            }),
            container_status: Some(ContainerStatus {
                container_id: Some(ContainerID {
                    value: "c".into(),
                    parent: None,
                }),
            }),
        };
        assert_eq!(decode::<TaskStatus>("TaskStatus", &bytes).unwrap(), want);
        assert_eq!(want.encode_to_vec(), bytes);
    }
}

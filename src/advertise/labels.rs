// SPDX-License-Identifier: Apache-2.0
//! The label of a task's status that names the GPUs the task has, so that whoever reads the status (a framework, the
//! master's state, an operator) can tell on which GPU a task runs.

use crate::domain::container::ContainerId;
use crate::domain::gpu::UnitId;
use crate::error::Error;
use crate::wire::decode;
use crate::wire::launch::ContainerStatus;
use crate::wire::task::{ExecutorID, FrameworkID, Label, Labels};
use prost::Message;

/// The label's key. Its value is the UUIDs, as in `NVIDIA_VISIBLE_DEVICES`.
pub const KEY: &str = "nvidia.com/gpu.uuids";

/// `mesos.TaskStatus`, as far as it is read here. Labels are not looked into: Mesos does not insist on UTF-8.
#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(message, optional, tag = "7")]
    executor_id: Option<ExecutorID>,
    #[prost(message, optional, tag = "12")]
    labels: Option<Untouched>,
    #[prost(message, optional, tag = "13")]
    container_status: Option<ContainerStatus>,
}

/// `mesos.Labels`, untouched.
#[derive(Clone, PartialEq, Message)]
struct Untouched {
    #[prost(bytes = "vec", repeated, tag = "1")]
    labels: Vec<Vec<u8>>,
}

/// `mesos.TaskStatus`, nothing in it but labels to add.
#[derive(Clone, PartialEq, Message)]
struct Added {
    #[prost(message, required, tag = "12")]
    labels: Labels,
}

/// What tells who holds which GPU.
pub trait Holdings {
    /// What a container holds, or shares with the one above it.
    fn of_container(&self, container: &ContainerId) -> Vec<UnitId>;
    /// What the container of an executor holds.
    fn of_executor(&self, framework: &str, executor: &str) -> Vec<UnitId>;
}

/// The bytes of a `mesos.TaskStatus` with our label added; none when the task has no GPU or the label is there.
///
/// The task's container is the one that the status names, which only executors of nested containers do: Mesos adds the
/// container to other statuses after it asked the hooks. Else it is the executor's, which every status names.
///
/// Mesos takes all labels from the answer, in place of the old ones. Ours follow the status as it came: the parser of the
/// messages adds up what a message says twice, so everything before stays byte for byte.
///
/// # Errors
/// Bytes that are no such message, and the id of no container.
pub fn with_gpus(
    framework: &[u8],
    status: &[u8],
    holdings: &impl Holdings,
) -> Result<Option<Vec<u8>>, Error> {
    let read: Status = decode("TaskStatus", status).map_err(|e| Error::defect(e.to_string()))?;
    let named = read.container_status.and_then(|status| status.container_id);
    let held = match (named, read.executor_id) {
        (Some(id), _) => {
            let container = ContainerId::try_from(&id).map_err(|e| Error::defect(e.to_string()))?;
            holdings.of_container(&container)
        }
        (None, Some(executor)) => {
            let framework: FrameworkID =
                decode("FrameworkID", framework).map_err(|e| Error::defect(e.to_string()))?;
            holdings.of_executor(&framework.value, &executor.value)
        }
        (None, None) => return Ok(None),
    };
    if held.is_empty() {
        return Ok(None);
    }
    let uuids: Vec<&str> = held.iter().map(UnitId::as_str).collect();
    let label = Label {
        key: KEY.to_owned(),
        value: Some(uuids.join(",")),
    };
    // An executor may have said something else under our key, which is not ours to remove.
    if read
        .labels
        .is_some_and(|labels| labels.labels.contains(&label.encode_to_vec()))
    {
        return Ok(None);
    }
    let added = Added {
        labels: Labels { labels: vec![label] },
    };
    let mut answer = status.to_vec();
    answer.extend(added.encode_to_vec());
    Ok(Some(answer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::TaskStatus;

    const FRAMEWORK: &[u8] = b"\x0a\x01f";
    /// A running task `t` of the executor `e`, without labels.
    const STATUS: &[u8] = b"\x0a\x03\x0a\x01t\x10\x01\x3a\x03\x0a\x01e";
    /// It names its container, `kid` of `top`.
    const NESTED: &[u8] = b"\x6a\x0e\x22\x0c\x0a\x03kid\x12\x05\x0a\x03top";

    /// What the executor `e` of the framework `f`, and what `top.kid` holds.
    struct Holds(&'static [&'static str], &'static [&'static str]);

    impl Holdings for Holds {
        fn of_container(&self, container: &ContainerId) -> Vec<UnitId> {
            assert_eq!(container.to_string(), "top.kid");
            self.1.iter().map(|uuid| UnitId::new(uuid)).collect()
        }

        fn of_executor(&self, framework: &str, executor: &str) -> Vec<UnitId> {
            assert_eq!((framework, executor), ("f", "e"));
            self.0.iter().map(|uuid| UnitId::new(uuid)).collect()
        }
    }

    fn labels(answer: &[u8]) -> Vec<(String, Option<String>)> {
        let status: TaskStatus = decode("TaskStatus", answer).unwrap();
        let labels = status.labels.unwrap().labels;
        labels.into_iter().map(|one| (one.key, one.value)).collect()
    }

    fn ours(uuids: &str) -> (String, Option<String>) {
        (KEY.to_owned(), Some(uuids.to_owned()))
    }

    #[test]
    fn the_label_names_the_gpus_and_the_status_stays_as_it_came() {
        let holds = Holds(&["GPU-a", "GPU-b"], &["GPU-b"]);
        let answer = with_gpus(FRAMEWORK, STATUS, &holds).unwrap().unwrap();
        assert!(answer.starts_with(STATUS));
        assert_eq!(labels(&answer), [ours("GPU-a,GPU-b")]);
        let nested = [STATUS, NESTED].concat();
        let answer = with_gpus(FRAMEWORK, &nested, &holds).unwrap().unwrap();
        assert!(answer.starts_with(&nested));
        assert_eq!(labels(&answer), [ours("GPU-b")]);
    }

    #[test]
    fn labels_that_are_there_stay_with_fields_we_do_not_know_and_ours_comes_once() {
        // Label `k` without a value, with a field 15 that no Mesos has yet and that is no UTF-8.
        let status = [STATUS, b"\x62\x08\x0a\x06\x0a\x01k\x7a\x01\xff"].concat();
        let once = with_gpus(FRAMEWORK, &status, &Holds(&["GPU-a"], &[]))
            .unwrap()
            .unwrap();
        assert!(once.starts_with(&status));
        assert_eq!(labels(&once), [("k".to_owned(), None), ours("GPU-a")]);
        assert_eq!(
            with_gpus(FRAMEWORK, &once, &Holds(&["GPU-a"], &[])).unwrap(),
            None
        );
        // Another value under our key is no reason to keep silent.
        let grown = with_gpus(FRAMEWORK, &once, &Holds(&["GPU-b"], &[]))
            .unwrap()
            .unwrap();
        assert_eq!(
            labels(&grown),
            [("k".to_owned(), None), ours("GPU-a"), ours("GPU-b")]
        );
    }

    #[test]
    fn without_a_gpu_nothing_changes_and_nonsense_is_refused() {
        let nested = [STATUS, NESTED].concat();
        assert_eq!(
            with_gpus(FRAMEWORK, STATUS, &Holds(&[], &["GPU-a"])).unwrap(),
            None
        );
        assert_eq!(
            with_gpus(FRAMEWORK, &nested, &Holds(&["GPU-a"], &[])).unwrap(),
            None
        );
        let all = Holds(&["GPU-a"], &["GPU-a"]);
        assert_eq!(
            with_gpus(FRAMEWORK, b"\x0a\x03\x0a\x01t\x10\x01", &all).unwrap(),
            None
        );
        for (framework, status) in [
            (FRAMEWORK, &b"\xff"[..]),
            (b"\xff", STATUS),
            (FRAMEWORK, b"\x6a\x04\x22\x02\x0a\x00"),
        ] {
            assert!(with_gpus(framework, status, &all).is_err(), "{status:?}");
        }
    }
}

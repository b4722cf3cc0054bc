// SPDX-License-Identifier: Apache-2.0
//! A container's id, and what of it may become a name of cgroups and folders.

use super::WireError;
use crate::domain::container::ContainerId;

/// How deep containers may be nested. Far beyond what Mesos's own executors do, and it bounds the work an id can cause.
pub const MAX_NESTING: usize = 32;

/// `mesos.ContainerID`: the value of this container and the container it is nested in.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerID {
    /// This container's own value.
    #[prost(string, required, tag = "1")]
    pub value: String,
    /// The container directly above.
    #[prost(message, optional, boxed, tag = "2")]
    pub parent: Option<Box<ContainerID>>,
}

impl TryFrom<&ContainerID> for ContainerId {
    type Error = WireError;

    /// The values become names of cgroups and folders, so one that could leave its folder is refused although Mesos
    /// refuses it as well.
    fn try_from(id: &ContainerID) -> Result<Self, WireError> {
        let mut path = Vec::new();
        let mut next = Some(id);
        while let Some(level) = next {
            if path.len() == MAX_NESTING {
                return Err(WireError::TooDeep { limit: MAX_NESTING });
            }
            let refused = |reason| WireError::ContainerId {
                id: level.value.clone(),
                reason,
            };
            match level.value.as_str() {
                "" => return Err(refused("it is empty")),
                "." | ".." => return Err(refused("it would name another folder")),
                value if value.contains(['/', '\0']) => return Err(refused("it contains a slash or a NUL")),
                value => path.push(value.to_owned()),
            }
            next = level.parent.as_deref();
        }
        path.reverse();
        // The loop ran at least once, so the path has a root.
        Self::from_path(path).ok_or(WireError::ContainerId {
            id: String::new(),
            reason: "it is empty",
        })
    }
}

impl From<&ContainerId> for ContainerID {
    fn from(id: &ContainerId) -> Self {
        let level = |parent: Option<Self>, value: &String| Self {
            value: value.clone(),
            parent: parent.map(Box::new),
        };
        id.path()
            .iter()
            .fold(None, |above, value| Some(level(above, value)))
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::decode;
    use prost::Message;

    fn nested(values: &[&str]) -> ContainerID {
        let level = |parent: Option<ContainerID>, value: &&str| {
            Some(ContainerID {
                value: (*value).to_owned(),
                parent: parent.map(Box::new),
            })
        };
        values.iter().fold(None, level).unwrap()
    }

    #[test]
    fn a_container_id_is_read_root_first_and_written_back() {
        // Container `kid` in `c1`, as Mesos writes it: the value, then the parent as field 2.
        let id: ContainerID = decode("ContainerID", b"\x0a\x03kid\x12\x04\x0a\x02c1").unwrap();
        let read = ContainerId::try_from(&id).unwrap();
        assert_eq!(read.to_string(), "c1.kid");
        assert_eq!(ContainerID::from(&read), id);
        assert_eq!(
            ContainerID::from(&read).encode_to_vec(),
            b"\x0a\x03kid\x12\x04\x0a\x02c1"
        );
    }

    #[test]
    fn a_container_id_that_could_leave_its_folder_or_is_empty_is_refused() {
        for values in [
            &[""][..],
            &["a", ""],
            &["", "a"],
            &[".."],
            &["."],
            &["a/b"],
            &["a\0"],
        ] {
            assert!(ContainerId::try_from(&nested(values)).is_err(), "{values:?}");
        }
        let error = ContainerId::try_from(&nested(&["a/b"])).unwrap_err().to_string();
        assert_eq!(
            error,
            "container id \"a/b\" cannot be used: it contains a slash or a NUL"
        );
    }

    #[test]
    fn nesting_has_a_limit() {
        let deep = vec!["c"; MAX_NESTING];
        assert_eq!(
            ContainerId::try_from(&nested(&deep)).unwrap().path().len(),
            MAX_NESTING
        );
        let error = ContainerId::try_from(&nested(&vec!["c"; MAX_NESTING + 1])).unwrap_err();
        assert_eq!(error, WireError::TooDeep { limit: MAX_NESTING });
        // Far deeper than that, the bytes themselves are refused, before anything recurses.
        let bytes = (0..200).fold(Vec::new(), |parent: Vec<u8>, _| {
            let mut bytes = b"\x0a\x01c".to_vec();
            if !parent.is_empty() {
                prost::encoding::bytes::encode(2, &parent, &mut bytes);
            }
            bytes
        });
        assert!(matches!(
            decode::<ContainerID>("ContainerID", &bytes),
            Err(WireError::Malformed { .. })
        ));
    }
}

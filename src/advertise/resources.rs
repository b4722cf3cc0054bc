// SPDX-License-Identifier: Apache-2.0
//! The resources of an agent, with its GPUs.
//!
//! Mesos replaces the agent's resources by the answer, so what was there goes back byte for byte: a message that went
//! through our own description of it would lose the fields that we do not know.

use crate::error::Error;
use crate::wire::resource::GPUS;
use crate::wire::{Resource, decode};
use prost::Message;

/// `mesos.SlaveInfo`, its resources untouched.
#[derive(Clone, PartialEq, Message)]
struct Untouched {
    #[prost(bytes = "vec", repeated, tag = "3")]
    resources: Vec<Vec<u8>>,
}

/// The resources of `slave_info` (the bytes of a `mesos.SlaveInfo`), each as bytes, and `gpus:count` beside them unless the
/// operator gave `gpus` already or there are none.
///
/// # Errors
/// Bytes that are no such message.
pub fn with_gpus(slave_info: &[u8], count: usize) -> Result<Vec<Vec<u8>>, Error> {
    let info: Untouched = decode("SlaveInfo", slave_info).map_err(|e| Error::defect(e.to_string()))?;
    let mut resources = info.resources;
    let mut given = false;
    for bytes in &resources {
        let resource: Resource = decode("Resource", bytes).map_err(|e| Error::defect(e.to_string()))?;
        given |= resource.name == GPUS;
    }
    if count > 0 && !given {
        let count =
            u32::try_from(count).map_err(|e| Error::defect(format!("cannot advertise {count} GPUs: {e}")))?;
        resources.push(Resource::scalar(GPUS, f64::from(count)).encode_to_vec());
    }
    Ok(resources)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(resources: &[Vec<u8>]) -> Vec<u8> {
        Untouched {
            resources: resources.to_vec(),
        }
        .encode_to_vec()
    }

    #[test]
    fn gpus_are_added_and_the_rest_keeps_fields_we_do_not_know() {
        let mut cpus = Resource::scalar("cpus", 4.0).encode_to_vec();
        cpus.extend([0xc2, 0x3e, 3, b'n', b'e', b'w']); // Field 1000 with three bytes.
        let answer = with_gpus(&info(std::slice::from_ref(&cpus)), 2).unwrap();
        assert_eq!(answer[0], cpus);
        assert_eq!(
            Resource::decode(answer[1].as_slice()).unwrap(),
            Resource::scalar("gpus", 2.0)
        );
        assert_eq!(answer.len(), 2);
    }

    #[test]
    fn gpus_that_the_operator_gave_stay_and_none_adds_nothing() {
        let gpus = Resource::scalar("gpus", 2.0).encode_to_vec();
        assert_eq!(with_gpus(&info(std::slice::from_ref(&gpus)), 2).unwrap(), [gpus]);
        assert!(with_gpus(&info(&[]), 0).unwrap().is_empty());
        assert!(with_gpus(&[0xff], 1).is_err());
    }
}

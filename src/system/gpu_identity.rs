// SPDX-License-Identifier: Apache-2.0
//! What the driver says of a GPU's identity is checked here before anyone builds on it: two sources (`/proc` and NVML)
//! must refuse the same things. A wrong minor number opens another GPU, a wrong UUID ends up in an environment variable.

use crate::domain::device::FIRST_CONTROL_MINOR;
use crate::domain::gpu::{PciAddress, UnitId};
use std::collections::BTreeMap;

/// Longer than any UUID of NVIDIA's (a MIG instance's old spelling carries its GPU's UUID and two numbers).
const LONGEST_UUID: usize = 96;

/// Takes a GPU's UUID.
pub(super) fn gpu_uuid(text: &str) -> Result<UnitId, String> {
    uuid(text, "GPU-")
}

/// Takes a MIG instance's UUID.
pub(super) fn mig_uuid(text: &str) -> Result<UnitId, String> {
    uuid(text, "MIG-")
}

fn uuid(text: &str, prefix: &str) -> Result<UnitId, String> {
    let text = text.trim();
    if text.contains('?') {
        return Err(format!("its UUID is not readable yet ({})", shown(text)));
    }
    // Slashes stand in the old spelling of MIG UUIDs. Commas, spaces and the like would read as several GPUs later.
    let allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || (byte == b'/' && prefix == "MIG-");
    match text.strip_prefix(prefix) {
        Some(rest) if !rest.is_empty() && text.len() <= LONGEST_UUID && rest.bytes().all(allowed) => {
            Ok(UnitId::new(text))
        }
        _ => Err(format!("{} is not a UUID of the form {prefix}…", shown(text))),
    }
}

/// Takes a GPU's minor number.
pub(super) fn gpu_minor(minor: u32) -> Result<u32, String> {
    if minor < FIRST_CONTROL_MINOR {
        Ok(minor)
    } else {
        Err(format!("minor number {minor} cannot be a GPU's: it is above 253"))
    }
}

/// A text from outside as it can stand in a log line.
pub(super) fn shown(text: &str) -> String {
    format!("{:?}", text.chars().take(LONGEST_UUID).collect::<String>())
}

/// What must belong to one GPU alone.
pub(super) struct Identity {
    /// The GPU, as problems name it.
    pub who: String,
    /// Its UUID.
    pub uuid: UnitId,
    /// Where it sits.
    pub pci: PciAddress,
    /// Its minor number.
    pub minor: u32,
}

/// A GPU that is set aside because of what another one claims.
pub(super) struct Conflict {
    /// What it says it is.
    pub identity: Identity,
    /// What is wrong, in words.
    pub text: String,
}

/// Sets every GPU aside that claims what another one claims too: nobody can tell which of them is right, and one guess
/// wrong hands a GPU to two containers. Gives those that are kept, and one conflict for each that is not.
pub(super) fn set_conflicts_aside<T>(
    gpus: Vec<T>,
    identity: impl Fn(&T) -> Identity,
) -> (Vec<T>, Vec<Conflict>) {
    let identities: Vec<Identity> = gpus.iter().map(identity).collect();
    let mut claims: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, gpu) in identities.iter().enumerate() {
        for claim in [
            format!("UUID {}", gpu.uuid),
            format!("PCI address {}", gpu.pci),
            format!("minor number {}", gpu.minor),
        ] {
            claims.entry(claim).or_default().push(at);
        }
    }
    let mut reasons: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (claim, claimants) in claims.into_iter().filter(|(_, claimants)| claimants.len() > 1) {
        for at in &claimants {
            let others = claimants.iter().filter(|other| *other != at);
            let others: Vec<&str> = others.map(|other| identities[*other].who.as_str()).collect();
            let reason = format!("the same {claim} as {}", others.join(" and "));
            reasons.entry(*at).or_default().push(reason);
        }
    }
    let mut kept = Vec::new();
    let mut conflicts = Vec::new();
    for (at, (gpu, identity)) in gpus.into_iter().zip(identities).enumerate() {
        match reasons.get(&at) {
            None => kept.push(gpu),
            Some(reasons) => conflicts.push(Conflict {
                text: format!(
                    "{} is set aside: it claims {}",
                    identity.who,
                    reasons.join(" and ")
                ),
                identity,
            }),
        }
    }
    (kept, conflicts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_uuids_that_can_name_one_gpu_are_taken() {
        assert_eq!(gpu_uuid(" GPU-5a5f2c3b-aa ").unwrap().as_str(), "GPU-5a5f2c3b-aa");
        assert_eq!(mig_uuid("MIG-GPU-5a/1/0").unwrap().as_str(), "MIG-GPU-5a/1/0");
        assert!(
            gpu_uuid("GPU-????????-????")
                .unwrap_err()
                .contains("not readable yet")
        );
        for text in [
            "",
            "GPU-",
            "MIG-12",
            "GPU-1,GPU-2",
            "GPU-1 2",
            "GPU-1/2",
            "GPU-é",
            &format!("GPU-{:0>99}", 1),
        ] {
            assert!(gpu_uuid(text).is_err(), "{text}");
        }
    }

    #[test]
    fn minors_of_control_nodes_are_no_gpus() {
        assert_eq!(gpu_minor(253), Ok(253));
        assert!(gpu_minor(254).is_err());
        assert!(gpu_minor(255).is_err());
    }

    #[test]
    fn everyone_in_a_chain_of_conflicts_is_set_aside() {
        // The second shares its UUID with the first and its minor number with the third.
        let gpus = vec![
            ("a", "GPU-1", 0, 1),
            ("b", "GPU-1", 1, 2),
            ("c", "GPU-2", 1, 3),
            ("d", "GPU-3", 3, 4),
        ];
        let (kept, conflicts) = set_conflicts_aside(gpus, |gpu| Identity {
            who: gpu.0.into(),
            uuid: UnitId::new(gpu.1),
            pci: PciAddress {
                domain: 0,
                bus: gpu.3,
                device: 0,
                function: 0,
            },
            minor: gpu.2,
        });
        assert_eq!(kept.iter().map(|gpu| gpu.0).collect::<Vec<_>>(), ["d"]);
        let told: Vec<_> = conflicts
            .iter()
            .map(|conflict| (conflict.identity.uuid.as_str(), conflict.text.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                ("GPU-1", "a is set aside: it claims the same UUID GPU-1 as b"),
                (
                    "GPU-1",
                    "b is set aside: it claims the same UUID GPU-1 as a and the same minor number 1 as c"
                ),
                ("GPU-2", "c is set aside: it claims the same minor number 1 as b"),
            ]
        );
    }
}

// SPDX-License-Identifier: Apache-2.0
//! What a container is launched with: its environment, and how its mounts are made.
//!
//! Nothing here grants anything; the devices cgroup does. The variables tell well-behaved programs what was granted.

use crate::domain::gpu::UnitId;
use crate::domain::mount::Mount;

/// Which GPUs a program may use, as NVIDIA's tools and CUDA read it.
pub const VISIBLE_DEVICES: &str = "NVIDIA_VISIBLE_DEVICES";
/// Which of them the container only shares, as a guest: their holders may want them at any time. Unset for none.
pub const REVOCABLE_DEVICES: &str = "MESOS_GPU_REVOCABLE";
/// The word for "none, and do not even offer the driver".
pub const NO_DEVICES: &str = "void";
/// Makes CUDA number devices as NVML does.
pub const DEVICE_ORDER: &str = "CUDA_DEVICE_ORDER";

/// The environment of a container that may use `granted`, those of them that are in `shared` as a guest. `is_set` tells whether somebody (the image, the task) chose a
/// variable already: a choice of order is theirs to make, a list of devices is not.
pub fn environment(
    granted: &[UnitId],
    shared: &[UnitId],
    is_set: impl Fn(&str) -> bool,
) -> Vec<(String, String)> {
    let list =
        |units: &mut dyn Iterator<Item = &UnitId>| units.map(UnitId::as_str).collect::<Vec<_>>().join(",");
    let visible = match granted {
        [] => NO_DEVICES.to_owned(),
        _ => list(&mut granted.iter()),
    };
    let mut environment = vec![(VISIBLE_DEVICES.to_owned(), visible)];
    if !granted.is_empty() && !is_set(DEVICE_ORDER) {
        environment.push((DEVICE_ORDER.to_owned(), "PCI_BUS_ID".to_owned()));
    }
    let revocable = list(&mut granted.iter().filter(|unit| shared.contains(unit)));
    if !revocable.is_empty() {
        environment.push((REVOCABLE_DEVICES.to_owned(), revocable));
    }
    environment
}

/// The flags of mount(2) that Mesos is told. Its launcher makes a read-only bind in two steps, of which the second drops
/// `nodev` and the like and reaches no mount below: so a recursive one has to be read-only at its source.
pub fn mount_flags(mount: &Mount) -> u32 {
    const MS_RDONLY: u32 = 1;
    const MS_BIND: u32 = 1 << 12;
    const MS_REC: u32 = 1 << 14;
    MS_BIND | if mount.recursive { MS_REC } else { 0 } | if mount.read_only { MS_RDONLY } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_granted_uuids_are_named_and_none_is_void() {
        let two = [UnitId::new("GPU-1"), UnitId::new("GPU-2")];
        let pairs =
            |list: Vec<(String, String)>| list.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>();
        assert_eq!(
            pairs(environment(&two, &[], |_| false)),
            [
                "NVIDIA_VISIBLE_DEVICES=GPU-1,GPU-2",
                "CUDA_DEVICE_ORDER=PCI_BUS_ID"
            ]
        );
        assert_eq!(
            pairs(environment(&[], &two, |_| false)),
            ["NVIDIA_VISIBLE_DEVICES=void"]
        );
    }

    #[test]
    fn every_unit_is_named_by_uuid_and_no_number_of_the_host_goes_inside() {
        let mixed = [UnitId::new("GPU-1"), UnitId::new(" MIG-2 ")];
        let environment = environment(&mixed, &[], |_| false);
        assert_eq!(environment[0].1, "GPU-1,MIG-2");
        // Inside, numbers begin at 0: a list of the host's would name GPUs that are not there.
        assert!(environment.iter().all(|(name, _)| name != "CUDA_VISIBLE_DEVICES"));
    }

    #[test]
    fn what_is_shared_is_named_beside_what_is_granted() {
        let all = [UnitId::new("GPU-1"), UnitId::new("GPU-2"), UnitId::new("GPU-3")];
        let elsewhere = [all[2].clone(), UnitId::new("GPU-9"), all[1].clone()];
        let environment = environment(&all, &elsewhere, |_| false);
        assert_eq!(environment[0].1, "GPU-1,GPU-2,GPU-3");
        let want = (REVOCABLE_DEVICES.to_owned(), "GPU-2,GPU-3".to_owned());
        assert_eq!(environment[2], want);
    }

    #[test]
    fn an_order_that_was_chosen_stays() {
        let one = [UnitId::new("GPU-1")];
        let environment = environment(&one, &[], |name| name == DEVICE_ORDER || name == VISIBLE_DEVICES);
        assert_eq!(
            environment,
            [("NVIDIA_VISIBLE_DEVICES".to_owned(), "GPU-1".to_owned())]
        );
    }

    #[test]
    fn mounts_are_binds_and_what_else_is_asked() {
        let flags = |recursive, read_only| {
            mount_flags(&Mount {
                source: "/a".into(),
                target: "/b".into(),
                recursive,
                read_only,
            })
        };
        assert_eq!(
            (
                flags(false, false),
                flags(false, true),
                flags(true, false),
                flags(true, true)
            ),
            (4096, 4097, 20480, 20481)
        );
    }
}

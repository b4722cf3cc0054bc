// SPDX-License-Identifier: Apache-2.0
//! Which containers get the driver's files. Which GPUs they get is not decided here and not by an image: that is the
//! matter of Mesos's resources alone.

use super::Wishes;

/// What the operator wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DriverFilesPolicy {
    /// No container gets them: the images bring their own.
    Never,
    /// Containers with GPUs get them.
    WithGpus,
    /// Those too whose image asks for them.
    Asked,
}

/// Whether a container gets the driver's files. `wishes` is what its image says, none for an image without a manifest. A
/// GPU without its driver is of no use to anyone, so that a container with GPUs needs no word from its image.
pub fn gets_driver(policy: DriverFilesPolicy, has_gpus: bool, wishes: Option<&Wishes>) -> bool {
    match policy {
        DriverFilesPolicy::Never => false,
        DriverFilesPolicy::WithGpus => has_gpus,
        DriverFilesPolicy::Asked => has_gpus || wishes.is_some_and(Wishes::asks_for_driver),
    }
}

#[cfg(test)]
mod tests {
    use super::DriverFilesPolicy::{Asked, Never, WithGpus};
    use super::*;

    const LABEL: &[(&str, &str)] = &[("maintainer", "somebody"), ("com.nvidia.volumes.needed", "")];

    #[test]
    fn an_image_that_asks_gets_the_driver_and_a_container_with_gpus_gets_it_unasked() {
        // What the image says, and whether that asks for the driver.
        for (env, labels, asks) in [
            (&[][..], &[][..], false),
            (&[], LABEL, true),
            (&["NVIDIA_VISIBLE_DEVICES=all"], &[], true),
            (&["NVIDIA_VISIBLE_DEVICES=all"], LABEL, true),
            (&["NVIDIA_VISIBLE_DEVICES="], &[], false),
            (&["NVIDIA_VISIBLE_DEVICES="], LABEL, false),
            (&["NVIDIA_VISIBLE_DEVICES=void"], &[], false),
            (&["NVIDIA_VISIBLE_DEVICES=void"], LABEL, false),
            (&["NVIDIA_VISIBLE_DEVICES=none"], &[], true),
            (&["NVIDIA_VISIBLE_DEVICES=0"], &[], true),
            (&["NVIDIA_VISIBLE_DEVICES=0,1"], &[], true),
            (&["NVIDIA_VISIBLE_DEVICES=GPU-fef8089b"], &[], true),
            // Given twice: the first decides.
            (
                &["NVIDIA_VISIBLE_DEVICES=void", "NVIDIA_VISIBLE_DEVICES=all"],
                &[],
                false,
            ),
            (
                &["NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_VISIBLE_DEVICES=void"],
                &[],
                true,
            ),
            // Without `=` it says nothing, so that the label decides.
            (&["NVIDIA_VISIBLE_DEVICES"], &[], false),
            (&["NVIDIA_VISIBLE_DEVICES"], LABEL, true),
            (
                &["NVIDIA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES=all"],
                &[],
                true,
            ),
            // Names that only look like it.
            (
                &[
                    "NVIDIA_VISIBLE_DEVICES_=all",
                    "nvidia_visible_devices=all",
                    "X=NVIDIA_VISIBLE_DEVICES=all",
                ],
                &[],
                false,
            ),
            // Other things an image may say ask for nothing.
            (
                &["NVIDIA_DRIVER_CAPABILITIES=all", "NVIDIA_REQUIRE_CUDA=cuda>=99"],
                &[],
                false,
            ),
        ] {
            let wishes = Wishes::read(env.iter().copied(), labels.iter().copied());
            assert_eq!(wishes.asks_for_driver(), asks, "{env:?} {labels:?}");
            for (policy, has_gpus, want) in [
                (Never, true, false),
                (Never, false, false),
                (WithGpus, true, true),
                (WithGpus, false, false),
                (Asked, true, true),
                (Asked, false, asks),
            ] {
                let got = gets_driver(policy, has_gpus, Some(&wishes));
                assert_eq!(got, want, "{policy:?} {has_gpus} {env:?} {labels:?}");
            }
        }
    }

    #[test]
    fn an_image_without_a_manifest_gets_the_driver_with_gpus_only() {
        for (policy, has_gpus, want) in [
            (Never, true, false),
            (WithGpus, true, true),
            (WithGpus, false, false),
            (Asked, true, true),
            (Asked, false, false),
        ] {
            assert_eq!(gets_driver(policy, has_gpus, None), want, "{policy:?} {has_gpus}");
        }
    }
}

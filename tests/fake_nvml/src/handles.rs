// SPDX-License-Identifier: Apache-2.0
//! What an NVML handle stands for. It stands for a UUID, not an index: a program that keeps a handle must meet the same
//! GPU after a renumbering, and a lost one after the GPU vanished.

use crate::machine::{Gpu, Machine, MigInstance};

/// What a handle was given out for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// The GPU.
    pub(crate) gpu: String,
    /// The MIG instance on it; none for the GPU itself.
    pub(crate) mig: Option<String>,
}

/// Every handle given out; they stay good until the process ends, as NVML's do.
#[derive(Debug, Default)]
pub(crate) struct Handles(Vec<Target>);

/// Distance of two handles, and the value of the first: never null, and no address that something could be at.
const STEP: usize = 0x10;

impl Handles {
    /// The handle of a target, the same each time.
    pub(crate) fn give(&mut self, target: Target) -> usize {
        let known = self.0.iter().position(|other| *other == target);
        let slot = known.unwrap_or_else(|| {
            self.0.push(target);
            self.0.len() - 1
        });
        (slot + 1) * STEP
    }

    /// What a handle stands for; none for a value that never was one.
    pub(crate) fn target(&self, handle: usize) -> Option<Target> {
        let slot = handle.checked_div(STEP)?.checked_sub(1)?;
        let target = self.0.get(slot).filter(|_| handle.is_multiple_of(STEP));
        target.cloned()
    }
}

/// What a handle stands for on a machine that has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit<'a> {
    /// The GPU.
    pub(crate) gpu: &'a Gpu,
    /// The MIG instance on it, with its MIG index; none for the GPU itself.
    pub(crate) mig: Option<(u32, &'a MigInstance)>,
}

impl Target {
    /// The GPU itself.
    pub(crate) fn gpu(gpu: &Gpu) -> Self {
        Self {
            gpu: gpu.uuid.clone(),
            mig: None,
        }
    }

    /// A MIG instance.
    pub(crate) fn mig(gpu: &Gpu, instance: &MigInstance) -> Self {
        Self {
            gpu: gpu.uuid.clone(),
            mig: Some(instance.uuid.clone()),
        }
    }
}

impl Machine {
    /// The GPUs that NVML knows of.
    pub(crate) fn visible(&self) -> impl Iterator<Item = &Gpu> {
        self.gpus.iter().filter(|gpu| !gpu.excluded)
    }

    /// What `target` is now; none when it is gone.
    pub(crate) fn unit(&self, target: &Target) -> Option<Unit<'_>> {
        let gpu = self.visible().find(|gpu| gpu.uuid == target.gpu)?;
        let mig = match &target.mig {
            None => None,
            Some(uuid) => Some(gpu.instances().find(|(_, instance)| instance.uuid == *uuid)?),
        };
        Some(Unit { gpu, mig })
    }
}

impl Gpu {
    /// Whether MIG is on.
    pub(crate) fn mig_enabled(&self) -> bool {
        self.mig.as_ref().is_some_and(|mig| mig.enabled)
    }

    /// Its MIG instances with their MIG indices; none while MIG is off.
    pub(crate) fn instances(&self) -> impl Iterator<Item = (u32, &MigInstance)> {
        let enabled = self.mig.iter().filter(|mig| mig.enabled);
        (0..).zip(enabled.flat_map(|mig| &mig.instances))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_follows_its_gpu_and_a_made_up_one_is_none() {
        let mut machine = Machine::with_gpus(2);
        let mut handles = Handles::default();
        let second = handles.give(Target::gpu(&machine.gpus[1]));
        assert_eq!(handles.give(Target::gpu(&machine.gpus[1])), second);

        machine.gpus[1].index = 7;
        let target = handles.target(second).unwrap();
        assert_eq!(machine.unit(&target).unwrap().gpu.index, 7);
        machine.gpus.pop();
        assert!(machine.unit(&target).is_none());

        for wrong in [0, 1, second + 1, second + STEP, usize::MAX] {
            assert_eq!(handles.target(wrong), None, "{wrong}");
        }
    }
}

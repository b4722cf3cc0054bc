// SPDX-License-Identifier: Apache-2.0
//! Asks NVML for everything, one GPU after the other. A GPU that does not tell who it is is set aside; one that only
//! keeps a detail to itself is listed without it.

use crate::domain::gpu::UnitId;
use crate::ports::nvml::{GpuProblem, Survey};
use crate::system::gpu_identity::{self, Identity};
use crate::system::nvml::calls::{Calls, Trouble};
use crate::system::nvml::gpu::{Aside, Asked, Known, detail};
use nvml_wrapper::Nvml;
use std::collections::BTreeMap;

/// What was found.
pub(super) struct Found {
    /// The answer.
    pub survey: Survey,
    /// Whether NVML has to be started anew before it can say better.
    pub reopen: bool,
}

/// Asks for everything.
pub(super) fn survey(nvml: &Nvml, calls: &Calls) -> Result<Found, Trouble> {
    let driver_version = detail(calls.make("nvmlSystemGetDriverVersion", || nvml.sys_driver_version()))?;
    let count = calls.make("nvmlDeviceGetCount_v2", || nvml.device_count())?;
    let cuda = detail(calls.make("nvmlSystemGetCudaDriverVersion_v2", || {
        nvml.sys_cuda_driver_version()
    }))?;
    let mut survey = Survey {
        driver_version,
        cuda_version: cuda.and_then(cuda_parts),
        ..Survey::default()
    };
    let mut reopen = false;
    for index in 0..count {
        let mut known = Known::default();
        match Asked::gpu(index, calls).read(nvml, index, &mut known, &mut survey.problems) {
            Ok(gpu) => survey.gpus.push(gpu),
            Err(Aside::Trouble(Trouble::Abandoned)) => return Err(Trouble::Abandoned),
            Err(aside) => {
                reopen |= matches!(&aside, Aside::Trouble(trouble) if trouble.is_gpu_out_of_reach());
                survey.problems.push(GpuProblem {
                    uuid: known.uuid,
                    pci: known.pci,
                    text: format!("GPU {index} is set aside: {}", aside.reason()),
                });
            }
        }
    }
    let (kept, conflicts) = gpu_identity::set_conflicts_aside(survey.gpus, |gpu| Identity {
        who: format!("GPU {}", gpu.index),
        uuid: gpu.uuid.clone(),
        pci: gpu.pci,
        minor: gpu.minor,
    });
    survey.gpus = kept;
    survey
        .problems
        .extend(conflicts.into_iter().map(|conflict| GpuProblem {
            uuid: Some(conflict.identity.uuid),
            pci: Some(conflict.identity.pci),
            text: conflict.text,
        }));
    set_repeated_mig_aside(&mut survey);
    Ok(Found { survey, reopen })
}

/// NVML counts 1000 a major version and 10 a minor one.
fn cuda_parts(told: i32) -> Option<(u32, u32)> {
    let told = u32::try_from(told).ok().filter(|told| *told > 0)?;
    Some((told / 1000, told % 1000 / 10))
}

/// Sets MIG devices aside whose UUID another one has too, for the same reason as with whole GPUs.
fn set_repeated_mig_aside(survey: &mut Survey) {
    let mut seen: BTreeMap<UnitId, usize> = BTreeMap::new();
    for part in survey.gpus.iter().filter_map(|gpu| gpu.mig.as_ref()).flatten() {
        *seen.entry(part.uuid.clone()).or_default() += 1;
    }
    seen.retain(|_, times| *times > 1);
    for part in survey.gpus.iter_mut().filter_map(|gpu| gpu.mig.as_mut()) {
        part.retain(|part| !seen.contains_key(&part.uuid));
    }
    survey
        .problems
        .extend(seen.into_iter().map(|(uuid, times)| GpuProblem {
            text: format!("{times} MIG devices claim the UUID {uuid}: all are set aside"),
            uuid: Some(uuid),
            pci: None,
        }));
}

// SPDX-License-Identifier: Apache-2.0
//! Asks NVML for everything, one GPU after the other. A GPU that does not tell who it is is set aside; one that only
//! keeps a detail to itself is listed without it.

use crate::domain::gpu::PciAddress;
use crate::ports::nvml::{NvmlGpu, NvmlMig, Survey};
use crate::system::gpu_identity::{self, Identity};
use crate::system::nvml::calls::{Calls, Trouble};
use crate::system::nvml::mig_ids;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
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
    let mut survey = Survey {
        driver_version,
        ..Survey::default()
    };
    let mut reopen = false;
    for index in 0..count {
        let gpu = Asked {
            name: format!("GPU {index}"),
            calls,
        };
        match gpu.read(nvml, index, &mut survey.problems) {
            Ok(gpu) => survey.gpus.push(gpu),
            Err(Aside::Trouble(Trouble::Abandoned)) => return Err(Trouble::Abandoned),
            Err(aside) => {
                reopen |= matches!(&aside, Aside::Trouble(trouble) if trouble.is_gpu_out_of_reach());
                survey
                    .problems
                    .push(format!("GPU {index} is set aside: {}", aside.reason()));
            }
        }
    }
    survey.gpus = gpu_identity::set_conflicts_aside(survey.gpus, &mut survey.problems, |gpu| Identity {
        who: format!("GPU {}", gpu.index),
        uuid: gpu.uuid.clone(),
        pci: gpu.pci,
        minor: gpu.minor,
    });
    set_repeated_mig_aside(&mut survey);
    Ok(Found { survey, reopen })
}

/// Why something is not listed.
enum Aside {
    /// NVML refused.
    Trouble(Trouble),
    /// NVML answered what cannot be.
    Wrong(String),
}

impl Aside {
    fn reason(self) -> String {
        match self {
            Aside::Trouble(trouble) => crate::ports::nvml::NvmlFailure::from(trouble).to_string(),
            Aside::Wrong(reason) => reason,
        }
    }
}

impl From<Trouble> for Aside {
    fn from(trouble: Trouble) -> Self {
        Aside::Trouble(trouble)
    }
}

/// A detail of a GPU that it may keep to itself, unless it is gone altogether.
fn detail<T>(answer: Result<T, Trouble>) -> Result<Option<T>, Trouble> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(Trouble::Abandoned) => Err(Trouble::Abandoned),
        Err(trouble) if trouble.is_gpu_out_of_reach() => Err(trouble),
        Err(_) => Ok(None),
    }
}

/// A GPU or a MIG device that is being asked.
struct Asked<'a> {
    /// As it is named in calls and problems.
    name: String,
    calls: &'a Calls,
}

impl Asked<'_> {
    fn ask<T>(&self, function: &str, ask: impl FnOnce() -> Result<T, NvmlError>) -> Result<T, Trouble> {
        self.calls.make(&format!("{function} on {}", self.name), ask)
    }

    fn read(&self, nvml: &Nvml, index: u32, problems: &mut Vec<String>) -> Result<NvmlGpu, Aside> {
        let device = self.ask("nvmlDeviceGetHandleByIndex_v2", || nvml.device_by_index(index))?;
        let uuid = self.ask("nvmlDeviceGetUUID", || device.uuid())?;
        let minor = self.ask("nvmlDeviceGetMinorNumber", || device.minor_number())?;
        let pci = self.ask("nvmlDeviceGetPciInfo_v3", || device.pci_info())?;
        Ok(NvmlGpu {
            index,
            uuid: gpu_identity::gpu_uuid(&uuid).map_err(Aside::Wrong)?,
            minor: gpu_identity::gpu_minor(minor).map_err(Aside::Wrong)?,
            pci: pci_address(&pci.bus_id)?,
            name: self.device_name(&device)?,
            memory_bytes: self.memory(&device)?,
            mig: self.mig(&device, problems)?,
        })
    }

    fn device_name(&self, device: &Device<'_>) -> Result<Option<String>, Trouble> {
        let name = detail(self.ask("nvmlDeviceGetName", || device.name()))?;
        Ok(name
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty()))
    }

    fn memory(&self, device: &Device<'_>) -> Result<Option<u64>, Trouble> {
        let memory = detail(self.ask("nvmlDeviceGetMemoryInfo_v2", || device.memory_info()))?;
        Ok(memory.map(|memory| memory.total))
    }

    /// The MIG devices, if MIG is on. What cannot be told of one is a problem in words, not a reason to take the GPU
    /// for an undivided one.
    fn mig(&self, device: &Device<'_>, problems: &mut Vec<String>) -> Result<Option<Vec<NvmlMig>>, Aside> {
        const ENABLED: u32 = 1;
        let mut tell = |what: &str, aside: Aside| match aside {
            Aside::Trouble(trouble) if trouble.is_gpu_out_of_reach() => Err(trouble),
            Aside::Trouble(Trouble::Abandoned) => Err(Trouble::Abandoned),
            aside => {
                problems.push(format!("{what}: {}", aside.reason()));
                Ok(())
            }
        };
        match self.ask("nvmlDeviceGetMigMode", || device.mig_mode()) {
            Ok(mode) if mode.current == ENABLED => {}
            Ok(_) => return Ok(None),
            Err(trouble) if trouble.is_not_supported() => return Ok(None),
            Err(trouble) => {
                tell(
                    &format!("{} is listed as if MIG were off", self.name),
                    trouble.into(),
                )?;
                return Ok(None);
            }
        }
        let most = match self.ask("nvmlDeviceGetMaxMigDeviceCount", || device.mig_device_count()) {
            Ok(most) => most,
            Err(trouble) => {
                tell(
                    &format!("{} is listed without its MIG devices", self.name),
                    trouble.into(),
                )?;
                0
            }
        };
        let mut found = Vec::new();
        for at in 0..most {
            let part = Asked {
                name: format!("MIG device {at} of {}", self.name),
                calls: self.calls,
            };
            match part.read_mig(device, at) {
                Ok(part) => found.extend(part),
                Err(aside) => tell(&format!("{} is set aside", part.name), aside)?,
            }
        }
        Ok(Some(found))
    }

    /// The MIG device in the slot `at`; none where the slot is empty.
    fn read_mig(&self, gpu: &Device<'_>, at: u32) -> Result<Option<NvmlMig>, Aside> {
        let device = match self.ask("nvmlDeviceGetMigDeviceHandleByIndex", || {
            gpu.mig_device_by_index(at)
        }) {
            Err(Trouble::Failed {
                error: NvmlError::NotFound,
                ..
            }) => return Ok(None),
            answer => answer?,
        };
        let uuid = self.ask("nvmlDeviceGetUUID", || device.uuid())?;
        Ok(Some(NvmlMig {
            uuid: gpu_identity::mig_uuid(&uuid).map_err(Aside::Wrong)?,
            gpu_instance: self.ask("nvmlDeviceGetGpuInstanceId", || mig_ids::gpu_instance(&device))?,
            compute_instance: self.ask("nvmlDeviceGetComputeInstanceId", || {
                mig_ids::compute_instance(&device)
            })?,
            memory_bytes: self.memory(&device)?,
            name: self.device_name(&device)?,
        }))
    }
}

fn pci_address(text: &str) -> Result<PciAddress, Aside> {
    text.parse()
        .map_err(|_| Aside::Wrong(format!("{} is not a PCI address", gpu_identity::shown(text))))
}

/// Sets MIG devices aside whose UUID another one has too, for the same reason as with whole GPUs.
fn set_repeated_mig_aside(survey: &mut Survey) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for part in survey.gpus.iter().filter_map(|gpu| gpu.mig.as_ref()).flatten() {
        *seen.entry(part.uuid.to_string()).or_default() += 1;
    }
    seen.retain(|_, times| *times > 1);
    for part in survey.gpus.iter_mut().filter_map(|gpu| gpu.mig.as_mut()) {
        part.retain(|part| !seen.contains_key(part.uuid.as_str()));
    }
    survey.problems.extend(
        seen.into_iter()
            .map(|(uuid, times)| format!("{times} MIG devices claim the UUID {uuid}: all are set aside")),
    );
}

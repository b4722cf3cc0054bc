// SPDX-License-Identifier: Apache-2.0
//! Asks one GPU after who it is and what it has, because what a GPU may keep to itself and what not is one decision. As
//! much of its identity as can be had is kept even when it is set aside: whoever holds it must be told by it.

use crate::domain::gpu::{PciAddress, UnitId};
use crate::ports::nvml::{GpuProblem, NvmlFailure, NvmlGpu, NvmlMig, Product};
use crate::system::gpu_identity;
use crate::system::nvml::calls::{Calls, Trouble};
use crate::system::nvml::mig_ids;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;
use nvml_wrapper::{Device, Nvml};
use std::collections::BTreeSet;

/// Why something is not listed.
pub(super) enum Aside {
    /// NVML refused.
    Trouble(Trouble),
    /// NVML answered what cannot be.
    Wrong(String),
}

impl Aside {
    /// In words.
    pub fn reason(self) -> String {
        match self {
            Aside::Trouble(trouble) => NvmlFailure::from(trouble).to_string(),
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
pub(super) fn detail<T>(answer: Result<T, Trouble>) -> Result<Option<T>, Trouble> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(Trouble::Abandoned) => Err(Trouble::Abandoned),
        Err(trouble) if trouble.is_gpu_out_of_reach() => Err(trouble),
        Err(_) => Ok(None),
    }
}

/// The processes of a list that have a name; none when there are only others. NVML fills a slot it has nothing for with all
/// zeros or all ones, which is no process; where there is nothing else, it knows of one that it cannot name.
pub(super) fn named<T>(processes: Vec<T>, pid: impl Fn(&T) -> u32) -> Option<Vec<T>> {
    let listed = !processes.is_empty();
    let mut named = processes;
    named.retain(|process| !matches!(pid(process), 0 | u32::MAX));
    (!listed || !named.is_empty()).then_some(named)
}

/// What a GPU or a MIG device told of who it is, whatever failed besides.
#[derive(Default)]
pub(super) struct Known {
    /// Its UUID.
    pub uuid: Option<UnitId>,
    /// Where it sits.
    pub pci: Option<PciAddress>,
}

/// A GPU or a MIG device that is being asked.
pub(super) struct Asked<'a> {
    /// As it is named in calls and problems.
    name: String,
    calls: &'a Calls,
}

impl<'a> Asked<'a> {
    /// The GPU with this index.
    pub fn gpu(index: u32, calls: &'a Calls) -> Self {
        Self {
            name: format!("GPU {index}"),
            calls,
        }
    }

    fn ask<T>(&self, function: &str, ask: impl FnOnce() -> Result<T, NvmlError>) -> Result<T, Trouble> {
        self.calls.make(&format!("{function} on {}", self.name), ask)
    }

    /// Asks for everything. `known` gets the identity as it becomes known; `problems` what is missing of a GPU that is
    /// listed all the same.
    pub fn read(
        &self,
        nvml: &Nvml,
        index: u32,
        known: &mut Known,
        problems: &mut Vec<GpuProblem>,
    ) -> Result<NvmlGpu, Aside> {
        let device = self.ask("nvmlDeviceGetHandleByIndex_v2", || nvml.device_by_index(index))?;
        // The address is asked for even where the UUID is refused: either tells which GPU it is.
        let uuid = self.uuid(&device, gpu_identity::gpu_uuid);
        known.uuid = uuid.as_ref().ok().cloned();
        let pci = self.pci(&device);
        known.pci = pci.as_ref().ok().copied();
        let (uuid, pci) = (uuid?, pci?);
        let minor = self.ask("nvmlDeviceGetMinorNumber", || device.minor_number())?;
        Ok(NvmlGpu {
            index,
            uuid,
            minor: gpu_identity::gpu_minor(minor).map_err(Aside::Wrong)?,
            pci,
            name: self.device_name(&device)?,
            memory_bytes: self.memory(&device)?,
            product: self.product(&device)?,
            processes: self.processes(&device)?,
            mig: self.mig(&device, problems)?,
        })
    }

    fn uuid(
        &self,
        device: &Device<'_>,
        check: impl FnOnce(&str) -> Result<UnitId, String>,
    ) -> Result<UnitId, Aside> {
        let uuid = self.ask("nvmlDeviceGetUUID", || device.uuid())?;
        check(&uuid).map_err(Aside::Wrong)
    }

    fn pci(&self, device: &Device<'_>) -> Result<PciAddress, Aside> {
        let text = self.ask("nvmlDeviceGetPciInfo_v3", || device.pci_info())?.bus_id;
        text.parse()
            .map_err(|_| Aside::Wrong(format!("{} is not a PCI address", gpu_identity::shown(&text))))
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

    fn product(&self, device: &Device<'_>) -> Result<Product, Trouble> {
        let brand = detail(self.ask("nvmlDeviceGetBrand", || device.brand()))?;
        let capability = detail(self.ask("nvmlDeviceGetCudaComputeCapability", || {
            device.cuda_compute_capability()
        }))?;
        let number = |part| u32::try_from(part).ok();
        Ok(Product {
            // The words of images' requirements are NVML's without spaces and in lower case.
            brand: brand.map(|brand| format!("{brand:?}").to_ascii_lowercase()),
            compute_capability: capability.and_then(|told| Some((number(told.major)?, number(told.minor)?))),
        })
    }

    fn processes(&self, device: &Device<'_>) -> Result<Option<Vec<u32>>, Trouble> {
        let told = detail(self.ask("nvmlDeviceGetComputeRunningProcesses_v3", || {
            device.running_compute_processes()
        }))?;
        let pids = |processes: Vec<ProcessInfo>| processes.into_iter().map(|process| process.pid).collect();
        let pids: Option<BTreeSet<u32>> = told
            .and_then(|processes| named(processes, |process| process.pid))
            .map(pids);
        Ok(pids.map(|pids| pids.into_iter().collect()))
    }

    /// The MIG devices, if MIG is on. What cannot be told of one is a problem in words, not a reason to take the GPU
    /// for an undivided one.
    fn mig(
        &self,
        device: &Device<'_>,
        problems: &mut Vec<GpuProblem>,
    ) -> Result<Option<Vec<NvmlMig>>, Aside> {
        const ENABLED: u32 = 1;
        let mut tell = |what: &str, uuid: Option<UnitId>, aside: Aside| match aside {
            Aside::Trouble(trouble) if trouble.is_gpu_out_of_reach() => Err(trouble),
            Aside::Trouble(Trouble::Abandoned) => Err(Trouble::Abandoned),
            aside => {
                let text = format!("{what}: {}", aside.reason());
                problems.push(GpuProblem {
                    uuid,
                    ..GpuProblem::new(text)
                });
                Ok(())
            }
        };
        match self.ask("nvmlDeviceGetMigMode", || device.mig_mode()) {
            Ok(mode) if mode.current == ENABLED => {}
            Ok(_) => return Ok(None),
            Err(trouble) if trouble.is_not_supported() => return Ok(None),
            Err(trouble) => {
                let what = format!("{} is listed as if MIG were off", self.name);
                tell(&what, None, trouble.into())?;
                return Ok(None);
            }
        }
        let most = match self.ask("nvmlDeviceGetMaxMigDeviceCount", || device.mig_device_count()) {
            Ok(most) => most,
            Err(trouble) => {
                let what = format!("{} is listed without its MIG devices", self.name);
                tell(&what, None, trouble.into())?;
                0
            }
        };
        let mut found = Vec::new();
        for at in 0..most {
            let part = Asked {
                name: format!("MIG device {at} of {}", self.name),
                calls: self.calls,
            };
            let mut known = Known::default();
            match part.read_mig(device, at, &mut known) {
                Ok(part) => found.extend(part),
                Err(aside) => tell(&format!("{} is set aside", part.name), known.uuid, aside)?,
            }
        }
        Ok(Some(found))
    }

    /// The MIG device in the slot `at`; none where the slot is empty.
    fn read_mig(&self, gpu: &Device<'_>, at: u32, known: &mut Known) -> Result<Option<NvmlMig>, Aside> {
        let device = match self.ask("nvmlDeviceGetMigDeviceHandleByIndex", || {
            gpu.mig_device_by_index(at)
        }) {
            Err(Trouble::Failed {
                error: NvmlError::NotFound,
                ..
            }) => return Ok(None),
            answer => answer?,
        };
        let uuid = self.uuid(&device, gpu_identity::mig_uuid)?;
        known.uuid = Some(uuid.clone());
        Ok(Some(NvmlMig {
            uuid,
            gpu_instance: self.ask("nvmlDeviceGetGpuInstanceId", || mig_ids::gpu_instance(&device))?,
            compute_instance: self.ask("nvmlDeviceGetComputeInstanceId", || {
                mig_ids::compute_instance(&device)
            })?,
            memory_bytes: self.memory(&device)?,
            name: self.device_name(&device)?,
            processes: self.processes(&device)?,
        }))
    }
}

// SPDX-License-Identifier: Apache-2.0
//! What the files of `/proc/driver/nvidia` and `/proc/driver/nvidia-caps` say. The lines are facts of the driver's
//! interface, spacing included, because programs take them apart by it.

use crate::machine::{Gpu, KernelModule, Machine};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Minors of the capabilities: two for the machine, then for each GPU 15 GPU instances of one and eight compute instances.
pub(super) const CONFIG_MINOR: u32 = 1;
pub(super) const MONITOR_MINOR: u32 = 2;
const FIRST_GPU_MINOR: u32 = 3;
const GPU_INSTANCES: u32 = 15;
const COMPUTE_INSTANCES: u32 = 8;
/// How many GPUs the driver can have, and lists.
const MOST_GPUS: u32 = 32;

/// The capability of a GPU instance of the GPU with that device minor.
pub(super) fn gpu_instance_minor(gpu: u32, instance: u32) -> u32 {
    FIRST_GPU_MINOR + (gpu * GPU_INSTANCES + instance) * (1 + COMPUTE_INSTANCES)
}

/// The capability of a compute instance.
pub(super) fn compute_instance_minor(gpu: u32, gpu_instance: u32, instance: u32) -> u32 {
    gpu_instance_minor(gpu, gpu_instance) + 1 + instance
}

/// Every file of the tree, by its path below `/proc/driver`.
pub(super) fn texts(machine: &Machine) -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    let mut add = |path: String, text: String| files.insert(PathBuf::from(path), text);
    add("nvidia/version".to_owned(), version(machine));
    add("nvidia/params".to_owned(), PARAMS.to_owned());
    add("nvidia-caps/mig-minors".to_owned(), mig_minors());
    add(
        "nvidia/capabilities/mig/config".to_owned(),
        capability(CONFIG_MINOR, 0o400),
    );
    add(
        "nvidia/capabilities/mig/monitor".to_owned(),
        capability(MONITOR_MINOR, 0o444),
    );
    for gpu in &machine.gpus {
        let text = gpu
            .information
            .clone()
            .unwrap_or_else(|| information(gpu, &machine.driver_version));
        add(format!("nvidia/gpus/{}/information", gpu.pci), text);
        for (_, instance) in gpu.instances() {
            let (gi, ci) = (instance.gpu_instance, instance.compute_instance);
            let folder = format!("nvidia/capabilities/gpu{}/mig/gi{gi}", gpu.minor);
            add(
                format!("{folder}/access"),
                capability(gpu_instance_minor(gpu.minor, gi), 0o444),
            );
            add(
                format!("{folder}/ci{ci}/access"),
                capability(compute_instance_minor(gpu.minor, gi, ci), 0o444),
            );
        }
    }
    files
}

/// The parameters of the kernel module that decide over device nodes, and a few more.
const PARAMS: &str = "ResmanDebugLevel: 4294967295\nRmLogonRC: 1\nModifyDeviceFiles: 1\nDeviceFileUID: 0\n\
    DeviceFileGID: 0\nDeviceFileMode: 438\nInitializeSystemMemoryAllocations: 1\nUsePageAttributeTable: 4294967295\n\
    EnableMSI: 1\nEnablePCIeGen3: 0\nMemoryPoolSize: 0\nPreserveVideoMemoryAllocations: 0\nExcludedGpus: \"\"\n";

fn version(machine: &Machine) -> String {
    let version = &machine.driver_version;
    let module = match machine.kernel_module {
        KernelModule::Open => format!("NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build"),
        KernelModule::Proprietary => format!("NVIDIA UNIX x86_64 Kernel Module  {version}"),
    };
    format!(
        "NVRM version: {module}  Thu Jan  1 00:00:00 UTC 2026\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n"
    )
}

fn information(gpu: &Gpu, driver_version: &str) -> String {
    let excluded = if gpu.excluded { "Yes" } else { "No" };
    let lines = [
        format!("Model: \t\t {}", gpu.name),
        format!("IRQ:   \t\t {}", 50 + gpu.minor),
        format!("GPU UUID: \t {}", gpu.uuid),
        "Video BIOS: \t 96.00.99.00.01".to_owned(),
        "Bus Type: \t PCIe".to_owned(),
        "DMA Size: \t 52 bits".to_owned(),
        "DMA Mask: \t 0xfffffffffffff".to_owned(),
        format!("Bus Location: \t {}", gpu.pci),
        format!("Device Minor: \t {}", gpu.minor),
        format!("GPU Firmware: \t {driver_version}"),
        format!("GPU Excluded:\t {excluded}"),
    ];
    lines.map(|line| line + "\n").concat()
}

fn capability(minor: u32, mode: u32) -> String {
    format!("DeviceFileMinor: {minor}\nDeviceFileMode: {mode}\nDeviceFileModify: 1\n")
}

/// Listed for every GPU that could be there, whether MIG is on or not.
fn mig_minors() -> String {
    let mut lines = vec![
        format!("config {CONFIG_MINOR}"),
        format!("monitor {MONITOR_MINOR}"),
    ];
    for (gpu, gi) in (0..MOST_GPUS).flat_map(|gpu| (0..GPU_INSTANCES).map(move |gi| (gpu, gi))) {
        lines.push(format!("gpu{gpu}/gi{gi}/access {}", gpu_instance_minor(gpu, gi)));
        let compute = |ci| {
            format!(
                "gpu{gpu}/gi{gi}/ci{ci}/access {}",
                compute_instance_minor(gpu, gi, ci)
            )
        };
        lines.extend((0..COMPUTE_INSTANCES).map(compute));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn information_has_the_drivers_lines() {
        let mut gpu = Gpu::h200(0, 3);
        gpu.uuid = "GPU-1".to_owned();
        gpu.pci = "0000:00:06.0".to_owned();
        let text = information(&gpu, "580.159.04");
        assert!(
            text.starts_with("Model: \t\t NVIDIA H200\nIRQ:   \t\t 53\nGPU UUID: \t GPU-1\n"),
            "{text}"
        );
        assert!(text.ends_with("Bus Location: \t 0000:00:06.0\nDevice Minor: \t 3\nGPU Firmware: \t 580.159.04\nGPU Excluded:\t No\n"));
    }

    #[test]
    fn version_names_the_kernel_module() {
        let mut machine = Machine::default();
        let open = version(&machine);
        assert!(open.starts_with(
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build"
        ));
        machine.kernel_module = KernelModule::Proprietary;
        let closed = version(&machine);
        assert!(
            closed.starts_with("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  "),
            "{closed}"
        );
        assert!(closed.lines().nth(1).unwrap().starts_with("GCC version:"));
    }

    #[test]
    fn mig_minors_are_where_the_driver_has_them() {
        let text = mig_minors();
        for line in [
            "config 1",
            "monitor 2",
            "gpu0/gi0/access 3",
            "gpu0/gi0/ci0/access 4",
            "gpu0/gi1/access 12",
            "gpu1/gi0/access 138",
        ] {
            assert!(text.lines().any(|known| known == line), "{line}");
        }
    }
}

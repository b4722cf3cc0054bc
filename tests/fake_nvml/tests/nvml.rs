// SPDX-License-Identifier: Apache-2.0
//! The simulated library as a program sees it that was written for the real one: through crate `nvml-wrapper`.

// The helpers outside of the test functions are tests as well.
#![allow(clippy::unwrap_used)]

use fake_nvml::{Gpu, Level, Link, Machine, Process, Simulation, Utilization};
use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::InitFlags;
use nvml_wrapper::enum_wrappers::device::{Brand, TemperatureSensor, TopologyLevel};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use tempfile::TempDir;

/// Each test has a library of its own, so tests do not see each other's machines.
fn simulated(machine: &Machine) -> (TempDir, Simulation) {
    let folder = tempfile::tempdir().unwrap();
    let simulation = Simulation::lay_out(folder.path(), machine).unwrap();
    (folder, simulation)
}

fn nvml(simulation: &Simulation) -> Result<Nvml, NvmlError> {
    Nvml::builder().lib_path(simulation.library().as_os_str()).init()
}

#[test]
fn every_getter_tells_what_the_machine_file_says() {
    let mut machine = Machine::with_gpus(4);
    let second = &mut machine.gpus[1];
    second.utilization = Some(Utilization { gpu: 97, memory: 41 });
    second.processes = vec![
        Process {
            pid: 4711,
            used_memory: Some(1 << 30),
            sm_util: 90,
            mem_util: 40,
            gpu_instance: None,
            compute_instance: None,
        },
        Process {
            pid: 4712,
            used_memory: None,
            sm_util: 7,
            mem_util: 1,
            gpu_instance: None,
            compute_instance: None,
        },
    ];
    if let Some(memory) = &mut second.memory {
        memory.used = 1 << 30;
        memory.free -= 1 << 30;
    }
    let (_folder, simulation) = simulated(&machine);
    let nvml = nvml(&simulation).unwrap();
    assert_eq!(nvml.sys_driver_version().unwrap(), "580.159.04");
    assert_eq!(nvml.sys_nvml_version().unwrap(), "13.580.159.04");
    assert_eq!(nvml.sys_cuda_driver_version().unwrap(), 13_000);
    assert_eq!(nvml.device_count().unwrap(), 4);

    for gpu in &machine.gpus {
        let device = nvml.device_by_index(gpu.index).unwrap();
        assert_eq!(device.index().unwrap(), gpu.index);
        assert_eq!(device.uuid().unwrap(), gpu.uuid);
        assert_eq!(device.minor_number().unwrap(), gpu.minor);
        assert_eq!(device.name().unwrap(), "NVIDIA H200");
        assert_eq!(device.brand().unwrap(), Brand::Nvidia);
        let capability = device.cuda_compute_capability().unwrap();
        assert_eq!((capability.major, capability.minor), (9, 0));
        assert_eq!(device.power_usage().unwrap(), 76_540);
        assert_eq!(device.temperature(TemperatureSensor::Gpu).unwrap(), 31);
        assert!(matches!(device.numa_node_id(), Err(NvmlError::NotSupported)));
        assert_eq!(device.memory_affinity(1, 0).unwrap(), [1 << (gpu.index / 2)]);
        let pci = device.pci_info().unwrap();
        assert_eq!(pci.bus_id, format!("0000{}", gpu.pci.to_uppercase()));
        assert_eq!((pci.domain, pci.bus, pci.device), (0, 0x0f + 8 * gpu.index, 0));
        for spelling in [&gpu.pci, &pci.bus_id] {
            let same = nvml.device_by_pci_bus_id(spelling.as_str()).unwrap();
            assert_eq!(same.index().unwrap(), gpu.index);
        }
        assert_eq!(
            nvml.device_by_uuid(gpu.uuid.as_str()).unwrap().index().unwrap(),
            gpu.index
        );
    }

    let second = nvml.device_by_index(1).unwrap();
    let memory = second.memory_info().unwrap();
    assert_eq!((memory.total, memory.used), (143_771 << 20, 1 << 30));
    assert_eq!(memory.free, memory.total - memory.used);
    let rates = second.utilization_rates().unwrap();
    assert_eq!((rates.gpu, rates.memory), (97, 41));
    let processes = second.running_compute_processes().unwrap();
    assert_eq!(
        processes.iter().map(|process| process.pid).collect::<Vec<_>>(),
        [4711, 4712]
    );
    assert!(matches!(processes[0].used_gpu_memory, UsedGpuMemory::Used(bytes) if bytes == 1 << 30));
    assert!(matches!(processes[1].used_gpu_memory, UsedGpuMemory::Unavailable));
    let samples = second.process_utilization_stats(None).unwrap();
    assert_eq!(
        samples
            .iter()
            .map(|sample| (sample.pid, sample.sm_util))
            .collect::<Vec<_>>(),
        [(4711, 90), (4712, 7)]
    );

    let idle = nvml.device_by_index(0).unwrap();
    assert!(idle.running_compute_processes().unwrap().is_empty());
    assert!(matches!(
        idle.process_utilization_stats(None),
        Err(NvmlError::NotFound)
    ));
    assert!(matches!(nvml.device_by_index(4), Err(NvmlError::InvalidArg)));
    assert!(matches!(nvml.device_by_uuid("GPU-0"), Err(NvmlError::NotFound)));
    assert!(matches!(
        nvml.device_by_pci_bus_id("no address"),
        Err(NvmlError::InvalidArg)
    ));
}

#[test]
fn init_with_flags_works_as_init_does() {
    let (_folder, simulation) = simulated(&Machine::with_gpus(1));
    let mut builder = Nvml::builder();
    let library = simulation.library();
    let nvml = builder
        .lib_path(library.as_os_str())
        .flags(InitFlags::NO_ATTACH)
        .init()
        .unwrap();
    assert_eq!(nvml.device_count().unwrap(), 1);
}

#[test]
fn what_a_gpu_cannot_do_is_not_supported() {
    let mut machine = Machine::with_gpus(1);
    machine.gpus[0] = Gpu {
        memory: None,
        utilization: None,
        power_mw: None,
        temperature_c: None,
        numa_node: None,
        brand: None,
        compute_capability: None,
        mig: None,
        ..machine.gpus[0].clone()
    };
    let (_folder, simulation) = simulated(&machine);
    let nvml = nvml(&simulation).unwrap();
    let device = nvml.device_by_index(0).unwrap();
    assert!(matches!(device.memory_info(), Err(NvmlError::NotSupported)));
    assert!(matches!(device.utilization_rates(), Err(NvmlError::NotSupported)));
    assert!(matches!(device.power_usage(), Err(NvmlError::NotSupported)));
    assert!(matches!(
        device.temperature(TemperatureSensor::Gpu),
        Err(NvmlError::NotSupported)
    ));
    assert!(matches!(device.numa_node_id(), Err(NvmlError::NotSupported)));
    assert!(matches!(device.brand(), Err(NvmlError::NotSupported)));
    assert!(matches!(
        device.cuda_compute_capability(),
        Err(NvmlError::NotSupported)
    ));
    assert!(matches!(device.mig_mode(), Err(NvmlError::NotSupported)));
    assert_eq!(device.mig_device_count().unwrap(), 0);
}

#[test]
fn topology_is_as_told_by_either_gpu_else_by_numa_node() {
    let mut machine = Machine::with_gpus(4);
    machine.gpus[3].topology.push(Link {
        gpu: 0,
        level: Level::Hostbridge,
    });
    let (_folder, simulation) = simulated(&machine);
    let nvml = nvml(&simulation).unwrap();
    let between = |a, b| {
        let (a, b) = (nvml.device_by_index(a).unwrap(), nvml.device_by_index(b).unwrap());
        nvml.topology_common_ancestor(&a, &b).unwrap()
    };
    assert_eq!(between(0, 1), TopologyLevel::Single);
    assert_eq!(between(0, 3), TopologyLevel::HostBridge);
    assert_eq!(between(1, 2), TopologyLevel::System);
    machine.gpus[2].numa_node = Some(0);
    simulation.update(&machine).unwrap();
    assert_eq!(between(1, 2), TopologyLevel::Node);
}

#[test]
fn mig_instances_are_devices_of_their_own() {
    let mut machine = Machine::with_gpus(2);
    machine.gpus[1] = machine.gpus[1].clone().with_mig(&["1g.18gb", "3g.71gb"]);
    let process = |pid, gpu_instance| Process {
        pid,
        used_memory: Some(1),
        sm_util: 0,
        mem_util: 0,
        gpu_instance: Some(gpu_instance),
        compute_instance: Some(0),
    };
    machine.gpus[1].processes = vec![process(1, 1), process(2, 2)];
    let (_folder, simulation) = simulated(&machine);
    let nvml = nvml(&simulation).unwrap();

    let whole = nvml.device_by_index(0).unwrap();
    assert_eq!(
        (
            whole.mig_mode().unwrap().current,
            whole.mig_device_count().unwrap()
        ),
        (0, 0)
    );
    assert!(matches!(whole.mig_device_by_index(0), Err(NvmlError::NotFound)));

    let split = nvml.device_by_index(1).unwrap();
    assert_eq!(
        (
            split.mig_mode().unwrap().current,
            split.mig_device_count().unwrap()
        ),
        (1, 7)
    );
    assert!(matches!(split.utilization_rates(), Err(NvmlError::NotSupported)));
    assert!(matches!(split.mig_device_by_index(2), Err(NvmlError::NotFound)));
    let instance = split.mig_device_by_index(1).unwrap();
    let told = &machine.gpus[1].mig.as_ref().unwrap().instances[1];
    assert_eq!(instance.uuid().unwrap(), told.uuid);
    assert_eq!(instance.name().unwrap(), "NVIDIA H200 MIG 3g.71gb");
    assert_eq!(instance.memory_info().unwrap().total, 71 << 30);
    assert!(instance.mig_is_mig_device_handle().unwrap() && !split.mig_is_mig_device_handle().unwrap());
    assert_eq!(
        instance.mig_parent_device().unwrap().uuid().unwrap(),
        machine.gpus[1].uuid
    );
    let pids: Vec<_> = instance
        .running_compute_processes()
        .unwrap()
        .iter()
        .map(|process| process.pid)
        .collect();
    assert_eq!(pids, [2]);
    assert_eq!(
        nvml.device_by_uuid(told.uuid.as_str()).unwrap().index().unwrap(),
        1
    );

    machine.gpus[1] = machine.gpus[1].clone().with_mig(&["7g.141gb"]);
    machine.gpus[1].mig.as_mut().unwrap().instances[0].uuid = "MIG-new".to_owned();
    simulation.update(&machine).unwrap();
    assert!(matches!(instance.uuid(), Err(NvmlError::GpuLost)));
}

// SPDX-License-Identifier: Apache-2.0
//! What the simulation is there for: a driver that fails, hangs, lacks functions and changes while a program uses it.

// The helpers outside of the test functions are tests as well.
#![allow(clippy::unwrap_used)]

use fake_nvml::{Event, Fault, Gpu, Machine, Simulation};
use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::NvmlError;
use std::sync::mpsc;
use std::time::{Duration, Instant};
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
fn a_fault_answers_its_code_on_its_gpu_until_it_is_lifted() {
    let healthy = Machine::with_gpus(2);
    let (_folder, simulation) = simulated(
        &healthy
            .clone()
            .fault(Fault::code("nvmlDeviceGetMemoryInfo", 15).on_gpu(1))
            .fault(Fault::code("nvmlDeviceGetName", 3)),
    );
    let nvml = nvml(&simulation).unwrap();
    let (first, second) = (nvml.device_by_index(0).unwrap(), nvml.device_by_index(1).unwrap());
    assert!(first.memory_info().is_ok());
    assert!(matches!(second.memory_info(), Err(NvmlError::GpuLost)));
    assert!(matches!(first.name(), Err(NvmlError::NotSupported)));

    simulation
        .update(&healthy.clone().fault(Fault::code("*", 999).on_gpu(0)))
        .unwrap();
    assert!(matches!(first.uuid(), Err(NvmlError::Unknown)));
    assert!(matches!(nvml.device_by_index(0), Err(NvmlError::Unknown)));
    assert!(second.memory_info().is_ok() && nvml.device_by_index(1).is_ok());

    simulation.update(&healthy).unwrap();
    assert!(first.name().is_ok());
}

#[test]
fn init_fails_as_faults_and_missing_drivers_make_it() {
    let machine = Machine::with_gpus(1);
    let (folder, simulation) = simulated(&machine.clone().fault(Fault::code("nvmlInit_v2", 18)));
    assert!(matches!(nvml(&simulation), Err(NvmlError::LibRmVersionMismatch)));

    simulation
        .update(&Machine {
            driver_loaded: false,
            ..machine.clone()
        })
        .unwrap();
    assert!(matches!(nvml(&simulation), Err(NvmlError::DriverNotLoaded)));

    // Another copy, that has not seen any machine yet.
    let (_other, bare) = simulated(&machine);
    std::fs::remove_file(bare.machine_file()).unwrap();
    assert!(matches!(nvml(&bare), Err(NvmlError::DriverNotLoaded)));
    machine.save(&bare.machine_file()).unwrap();
    assert!(nvml(&bare).is_ok());
    drop(folder);
}

#[test]
fn a_damaged_machine_file_keeps_the_last_good_machine() {
    let (_folder, simulation) = simulated(&Machine::with_gpus(3));
    let nvml = nvml(&simulation).unwrap();
    std::fs::write(simulation.machine_file(), "{").unwrap();
    assert_eq!(nvml.device_count().unwrap(), 3);
    std::fs::remove_file(simulation.machine_file()).unwrap();
    assert_eq!(nvml.device_count().unwrap(), 3);
    Machine::with_gpus(1).save(&simulation.machine_file()).unwrap();
    assert_eq!(nvml.device_count().unwrap(), 1);
}

#[test]
fn a_running_program_sees_gpus_vanish_appear_and_be_renumbered() {
    let mut machine = Machine::with_gpus(2);
    let (_folder, simulation) = simulated(&machine);
    let nvml = nvml(&simulation).unwrap();
    let (first, second) = (nvml.device_by_index(0).unwrap(), nvml.device_by_index(1).unwrap());

    machine.gpus.swap(0, 1);
    (machine.gpus[0].index, machine.gpus[1].index) = (0, 1);
    simulation.update(&machine).unwrap();
    assert_eq!((first.index().unwrap(), second.index().unwrap()), (1, 0));

    machine.gpus.remove(0);
    machine.gpus.push(Gpu::h200(2, 9));
    simulation.update(&machine).unwrap();
    assert!(matches!(second.memory_info(), Err(NvmlError::GpuLost)));
    assert_eq!(nvml.device_by_index(2).unwrap().minor_number().unwrap(), 9);

    machine.gpus[0].excluded = true;
    simulation.update(&machine).unwrap();
    assert_eq!(nvml.device_count().unwrap(), 1);
}

#[test]
fn a_delayed_call_takes_its_time_and_works() {
    let machine = Machine::with_gpus(1).fault(Fault::delay("nvmlDeviceGetCount_v2", 60));
    let (_folder, simulation) = simulated(&machine);
    let nvml = nvml(&simulation).unwrap();
    let start = Instant::now();
    assert_eq!(nvml.device_count().unwrap(), 1);
    assert!(start.elapsed() >= Duration::from_millis(60));
}

#[test]
fn a_hanging_call_returns_when_lifted_and_holds_up_no_other() {
    let healthy = Machine::with_gpus(2);
    let (_folder, simulation) = simulated(&healthy.clone().fault(Fault::hang("nvmlDeviceGetUUID").on_gpu(0)));
    let nvml = nvml(&simulation).unwrap();
    let (first, second) = (nvml.device_by_index(0).unwrap(), nvml.device_by_index(1).unwrap());
    let (done, waiting) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| done.send(first.uuid()).unwrap());
        assert!(waiting.recv_timeout(Duration::from_millis(100)).is_err());
        assert_eq!(second.uuid().unwrap(), healthy.gpus[1].uuid);
        simulation.update(&healthy).unwrap();
        let uuid = waiting.recv_timeout(Duration::from_secs(10)).unwrap();
        assert_eq!(uuid.unwrap(), healthy.gpus[0].uuid);
    });
}

#[test]
fn a_missing_function_is_missing_to_the_loader() {
    let (_folder, simulation) = simulated(&Machine::with_gpus(1));
    let built = fake_nvml::built_library().unwrap();
    let missing = ["nvmlDeviceGetMigMode", "nvmlDeviceGetMemoryInfo_v2"];
    let library = fake_nvml::install_library(&built, &simulation.library_folder(), &missing).unwrap();
    let nvml = Nvml::builder().lib_path(library.as_os_str()).init().unwrap();
    let device = nvml.device_by_index(0).unwrap();
    for failure in [device.mig_mode().map(|_| ()), device.memory_info().map(|_| ())] {
        assert!(
            matches!(&failure, Err(NvmlError::FailedToLoadSymbol(why)) if why.contains("nvmlDeviceGetM")),
            "{failure:?}"
        );
    }
    assert!(device.uuid().is_ok());
    let error =
        fake_nvml::install_library(&built, &simulation.library_folder(), &["nvmlNoSuchThing"]).unwrap_err();
    assert!(error.to_string().contains("nvmlNoSuchThing"), "{error}");
}

#[test]
fn events_are_told_once_and_reach_a_waiting_program() {
    let mut machine = Machine::with_gpus(2);
    let xid = |number| Event {
        kind: 8,
        data: number,
    };
    machine.gpus[1].events = vec![Event { kind: 1, data: 0 }, xid(31)];
    let (_folder, simulation) = simulated(&machine);
    let nvml = nvml(&simulation).unwrap();
    let second = nvml.device_by_index(1).unwrap();
    assert!(
        second
            .supported_event_types()
            .unwrap()
            .contains(EventTypes::CRITICAL_XID_ERROR)
    );
    let set = nvml.create_event_set().unwrap();
    let set = second
        .register_events(EventTypes::CRITICAL_XID_ERROR, set)
        .map_err(|e| e.error)
        .unwrap();

    let event = set.wait(0).unwrap();
    assert!(matches!(event.event_data, Some(XidError::Value(31))));
    assert_eq!(event.device.uuid().unwrap(), machine.gpus[1].uuid);
    assert!(matches!(set.wait(0), Err(NvmlError::Timeout)));

    machine.gpus[1].events.push(xid(79));
    machine.gpus[0].events.push(xid(48));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(30));
            simulation.update(&machine).unwrap();
        });
        assert!(matches!(
            set.wait(10_000).unwrap().event_data,
            Some(XidError::Value(79))
        ));
    });
    assert!(
        matches!(set.wait(10), Err(NvmlError::Timeout)),
        "GPU 0 was not registered"
    );

    simulation
        .update(&machine.clone().fault(Fault::code("nvmlEventSetWait", 15)))
        .unwrap();
    assert!(matches!(set.wait(10_000), Err(NvmlError::GpuLost)));
    simulation.update(&machine).unwrap();
    set.release_events().unwrap();
}

#[test]
fn the_call_log_has_every_call() {
    let machine = Machine {
        call_log: Some("calls".to_owned()),
        ..Machine::with_gpus(1)
    };
    let (folder, simulation) = simulated(&machine);
    let nvml = nvml(&simulation).unwrap();
    nvml.device_count().unwrap();
    nvml.shutdown().unwrap();
    let log = std::fs::read_to_string(folder.path().join("calls")).unwrap();
    let calls: Vec<_> = log
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(_, function)| function)
        .collect();
    // The wrapper asks for the driver's version by itself.
    let asked: Vec<_> = calls
        .into_iter()
        .filter(|function| *function != "nvmlSystemGetDriverVersion")
        .collect();
    assert_eq!(asked, ["nvmlInit_v2", "nvmlDeviceGetCount_v2", "nvmlShutdown"]);
    assert!(log.starts_with(&std::process::id().to_string()));
}

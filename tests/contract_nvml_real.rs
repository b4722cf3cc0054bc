// SPDX-License-Identifier: Apache-2.0
//! What only the real side of `Nvml` can show: MIG devices, libraries that lack functions, and calls that hang.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use fake_nvml::{Fault, Gpu, Machine};
use mesos_gpu::ports::nvml::NvmlFailure;
use std::fs;
use std::time::Instant;
use support::simulated_nvml::{Driver, LIMIT, ask, ask_until_served};

#[test]
fn a_gpu_is_read_whole_with_its_mig_devices() {
    let mut machine = Machine::with_gpus(2);
    machine.gpus[1] = Gpu::h200(1, 0).with_mig(&["1g.18gb", "3g.71gb"]);
    let survey = ask(&Driver::of(&machine).start()).unwrap();
    assert_eq!(
        (survey.gpus.len(), survey.problems.len()),
        (2, 0),
        "{:?}",
        survey.problems
    );
    for (found, put) in survey.gpus.iter().zip(&machine.gpus) {
        assert_eq!(
            (found.index, found.minor, found.uuid.as_str()),
            (put.index, put.minor, put.uuid.as_str())
        );
        assert_eq!(
            (found.pci.to_string(), found.name.as_ref()),
            (put.pci.clone(), Some(&put.name))
        );
        assert_eq!(found.memory_bytes, put.memory.map(|memory| memory.total));
    }
    assert_eq!(survey.gpus[0].mig, None);
    let (found, put) = (
        survey.gpus[1].mig.as_ref().unwrap(),
        &machine.gpus[1].mig.as_ref().unwrap().instances,
    );
    assert_eq!(found.len(), put.len());
    for (found, put) in found.iter().zip(put) {
        assert_eq!(found.uuid.as_str(), put.uuid);
        assert_eq!(
            (found.gpu_instance, found.compute_instance),
            (put.gpu_instance, put.compute_instance)
        );
        assert_eq!(found.memory_bytes, Some(put.memory.total));
        assert!(
            found.name.as_ref().unwrap().contains(&put.profile),
            "{:?}",
            found.name
        );
    }
}

#[test]
fn a_mig_gpu_whose_parts_do_not_answer_is_still_no_whole_gpu() {
    let mut machine = Machine::with_gpus(1);
    machine.gpus[0] = Gpu::h200(0, 0).with_mig(&["1g.18gb"]);
    for function in ["nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetGpuInstanceId"] {
        let survey = ask(&Driver::of(&machine.clone().fault(Fault::code(function, 999))).start()).unwrap();
        assert_eq!(survey.gpus[0].mig.as_deref(), Some(&[][..]), "{function}");
        assert_eq!(survey.problems.len(), 1, "{:?}", survey.problems);
        assert!(
            survey.problems[0].text.contains(function),
            "{:?}",
            survey.problems
        );
    }
}

#[test]
fn a_hang_in_init_is_told_and_ends_with_the_hang() {
    let driver = Driver::of(&Machine::with_gpus(1).fault(Fault::hang("nvmlInit")));
    let nvml = driver.start();
    let timeout = NvmlFailure::Timeout {
        call: "nvmlInit_v2".to_owned(),
        limit: LIMIT,
    };
    assert_eq!(ask(&nvml), Err(timeout));
    assert!(matches!(ask(&nvml), Err(NvmlFailure::Stuck { .. })));
    driver.set(&Machine::with_gpus(1));
    assert_eq!(ask_until_served(&nvml).unwrap().gpus.len(), 1);
}

#[test]
fn a_stuck_nvml_is_never_asked_again_nor_waited_for() {
    let hanging = Machine::with_gpus(1).fault(Fault::hang("nvmlDeviceGetCount"));
    let driver = Driver::of(&Machine {
        call_log: Some("calls.log".to_owned()),
        ..hanging
    });
    let nvml = driver.start();
    assert!(matches!(ask(&nvml), Err(NvmlFailure::Timeout { .. })));
    for _ in 0..20 {
        assert!(matches!(ask(&nvml), Err(NvmlFailure::Stuck { .. })));
    }
    let dropping = Instant::now();
    drop(nvml);
    assert!(dropping.elapsed() < LIMIT);
    let log = fs::read_to_string(driver.folder.path().join("calls.log")).unwrap();
    let counts = |function: &str| log.lines().filter(|line| line.contains(function)).count();
    assert_eq!(
        (counts("nvmlInit"), counts("nvmlDeviceGetCount")),
        (1, 1),
        "{log}"
    );
    // Lets the worker end.
    driver.set(&Machine::with_gpus(1));
}

#[test]
fn a_slow_nvml_is_not_a_stuck_one() {
    // Together far over the limit, each call within it.
    let third = u64::try_from(LIMIT.as_millis() / 3).unwrap();
    let machine = Machine::with_gpus(4).fault(Fault::delay("nvmlDeviceGetUUID", third));
    assert_eq!(ask(&Driver::of(&machine).start()).unwrap().gpus.len(), 4);
}

#[test]
fn a_driver_that_goes_and_comes_back_is_noticed() {
    let driver = Driver::of(&Machine::with_gpus(2));
    let nvml = driver.start();
    assert_eq!(ask(&nvml).unwrap().gpus.len(), 2);
    driver.set(&Machine {
        driver_loaded: false,
        ..Machine::with_gpus(2)
    });
    assert!(matches!(ask(&nvml), Err(NvmlFailure::Call { .. })));
    assert!(matches!(ask(&nvml), Err(NvmlFailure::Call { call, .. }) if call == "nvmlInit_v2"));
    driver.set(&Machine::with_gpus(2));
    assert_eq!(ask(&nvml).unwrap().gpus.len(), 2);
}

#[test]
fn a_library_that_lacks_functions_costs_what_they_would_have_told() {
    let driver = Driver::of(&Machine::with_gpus(2));
    match ask(&driver.start_without(&["nvmlInit_v2"])) {
        Err(NvmlFailure::Call { call, reason }) => {
            assert!(
                call == "nvmlInit_v2" && reason.contains("nvmlInit_v2"),
                "{reason}"
            );
        }
        other => panic!("{other:?}"),
    }
    let details = [
        "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetMigMode",
        "nvmlSystemGetDriverVersion",
    ];
    let survey = ask(&driver.start_without(&details)).unwrap();
    assert_eq!(
        (survey.gpus.len(), survey.problems.len(), survey.driver_version),
        (2, 0, None)
    );
    assert!(
        survey
            .gpus
            .iter()
            .all(|gpu| gpu.memory_bytes.is_none() && gpu.processes.is_none())
    );

    let survey = ask(&driver.start_without(&["nvmlDeviceGetUUID"])).unwrap();
    assert_eq!(
        (survey.gpus.len(), survey.problems.len()),
        (0, 2),
        "{:?}",
        survey.problems
    );
    assert!(
        survey.problems[0]
            .text
            .contains("nvmlDeviceGetUUID on GPU 0 failed"),
        "{:?}",
        survey.problems
    );

    // It cannot be closed then; it must be possible to ask it again all the same.
    let nvml = driver.start_without(&["nvmlShutdown"]);
    driver.set(&Machine::with_gpus(2).fault(Fault::code("nvmlDeviceGetCount", 999)));
    assert!(ask(&nvml).is_err());
    driver.set(&Machine::with_gpus(2));
    assert_eq!(ask(&nvml).unwrap().gpus.len(), 2);
}

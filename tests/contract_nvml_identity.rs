// SPDX-License-Identifier: Apache-2.0
//! What only the real side of `Nvml` can show of single GPUs: those that lie about who they are or keep silent are set
//! aside under as much of their identity as is known, and processes are told GPU by GPU.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use fake_nvml::{Fault, Gpu, Machine, Process};
use support::simulated_nvml::{Driver, ask, process};

#[test]
fn one_gpu_that_does_not_say_who_it_is_is_set_aside_alone() {
    for function in [
        "nvmlDeviceGetHandleByIndex",
        "nvmlDeviceGetUUID",
        "nvmlDeviceGetMinorNumber",
        "nvmlDeviceGetPciInfo",
    ] {
        for code in [3, 999] {
            let machine = Machine::with_gpus(3).fault(Fault::code(function, code).on_gpu(1));
            let survey = ask(&Driver::of(&machine).start()).unwrap();
            let indices: Vec<u32> = survey.gpus.iter().map(|gpu| gpu.index).collect();
            assert_eq!(
                (indices, survey.problems.len()),
                (vec![0, 2], 1),
                "{function}: {:?}",
                survey.problems
            );
            assert!(
                survey.problems[0]
                    .text
                    .starts_with("GPU 1 is set aside: nvmlDeviceGet"),
                "{:?}",
                survey.problems
            );
        }
    }
}

#[test]
fn gpus_that_claim_the_same_minor_or_uuid_are_set_aside() {
    type Change = fn(&mut [Gpu]);
    for (change, claim) in [
        ((|gpus| gpus[1].minor = gpus[0].minor) as Change, "minor number 2"),
        (|gpus| gpus[1].uuid = gpus[0].uuid.clone(), "UUID GPU-"),
    ] {
        let mut machine = Machine::with_gpus(3);
        change(&mut machine.gpus);
        let survey = ask(&Driver::of(&machine).start()).unwrap();
        assert_eq!(
            (survey.gpus.len(), survey.gpus[0].index),
            (1, 2),
            "{:?}",
            survey.problems
        );
        for (problem, (index, other)) in survey.problems.iter().zip([(0, 1), (1, 0)]) {
            let (who, told) = (format!("GPU {index} is set aside: "), format!("the same {claim}"));
            assert!(
                problem.text.starts_with(&who) && problem.text.contains(&told),
                "{problem}"
            );
            assert!(problem.text.ends_with(&format!(" as GPU {other}")), "{problem}");
            let known = problem.uuid.as_ref().map(|uuid| uuid.as_str());
            assert_eq!(known, Some(machine.gpus[index].uuid.as_str()));
            assert!(problem.pci.is_some(), "{problem}");
        }
        assert_eq!(survey.problems.len(), 2, "{:?}", survey.problems);
    }
}

#[test]
fn processes_are_real_ones_once_and_each_mig_devices_own() {
    let mut machine = Machine::with_gpus(2);
    machine.gpus[0].processes = [7, u32::MAX, 3, 0, 7].map(process).into();
    machine.gpus[1] = Gpu::h200(1, 0).with_mig(&["1g.18gb", "1g.18gb"]);
    machine.gpus[1].processes = vec![Process {
        gpu_instance: Some(2),
        compute_instance: Some(0),
        ..process(9)
    }];
    let survey = ask(&Driver::of(&machine).start()).unwrap();
    assert_eq!(survey.gpus[0].processes, Some(vec![3, 7]));
    assert_eq!(survey.gpus[1].processes, Some(vec![9]));
    let parts = survey.gpus[1].mig.as_ref().unwrap();
    assert_eq!(
        (&parts[0].processes, &parts[1].processes),
        (&Some(vec![]), &Some(vec![9]))
    );
    assert_eq!(survey.processes(&parts[1].uuid), Some(&vec![9]));
}

#[test]
fn a_gpu_that_is_set_aside_keeps_what_is_known_of_its_identity() {
    let (all, lost) = (Machine::with_gpus(1), 15);
    let functions = [
        ("nvmlDeviceGetHandleByIndex", false, false),
        ("nvmlDeviceGetUUID", false, true),
        ("nvmlDeviceGetPciInfo", true, false),
        ("nvmlDeviceGetMinorNumber", true, true),
        ("nvmlDeviceGetName", true, true),
        ("nvmlDeviceGetComputeRunningProcesses", true, true),
    ];
    for (function, uuid, pci) in functions {
        let machine = all.clone().fault(Fault::code(function, lost).on_gpu(0));
        let survey = ask(&Driver::of(&machine).start()).unwrap();
        assert!(survey.gpus.is_empty(), "{function}");
        let [problem] = &survey.problems[..] else {
            panic!("{function}: {:?}", survey.problems);
        };
        assert!(problem.text.contains(function), "{problem}");
        let known = problem.uuid.as_ref().map(|uuid| uuid.as_str());
        assert_eq!(known, uuid.then_some(all.gpus[0].uuid.as_str()), "{function}");
        assert_eq!(
            problem.pci,
            pci.then(|| all.gpus[0].pci.parse().unwrap()),
            "{function}"
        );
    }
}

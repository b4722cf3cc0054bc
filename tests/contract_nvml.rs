// SPDX-License-Identifier: Apache-2.0
//! The contract of `Nvml`, held by the real thread over a simulated driver and by the fake alike.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use fake_nvml::{Fault, Machine};
use mesos_gpu::ports::nvml::{GpuProblem, Nvml, NvmlFailure, NvmlGpu, Product, Survey};
use std::time::Instant;
use support::FakeNvml;
use support::driver_proc::proc_gpu;
use support::nvml::{Answer, nvml_gpu, survey};
use support::simulated_nvml::{Driver, LIMIT, ask, ask_until_served, process};

enum Situation {
    NoLibrary,
    NoDriver,
    Gpus(u8),
    NoMemoryTold,
    /// The second of two GPUs is busy with these processes, or does not say.
    SecondGpuBusy(Option<&'static [u32]>),
    SecondGpuLost,
    /// The second of two GPUs is lost after it told who it is.
    SecondGpuLostLate,
    UuidHangs,
}

/// The GPU with this index does not tell its processes.
fn not_supported(index: u32) -> Fault {
    Fault::code("nvmlDeviceGetComputeRunningProcesses", 3).on_gpu(index)
}

/// What every side promises; `set` brings the machine into a situation.
fn contract(nvml: &dyn Nvml, set: &dyn Fn(Situation)) {
    let indices = |survey: &Survey| survey.gpus.iter().map(|gpu| gpu.index).collect::<Vec<_>>();

    set(Situation::NoLibrary);
    assert!(matches!(ask(nvml), Err(NvmlFailure::Library { .. })));
    assert!(matches!(ask(nvml), Err(NvmlFailure::Library { .. })));

    // No failure sticks: each next survey tries anew.
    set(Situation::NoDriver);
    match ask(nvml) {
        Err(NvmlFailure::Call { call, .. }) => assert_eq!(call, "nvmlInit_v2"),
        other => panic!("{other:?}"),
    }
    set(Situation::Gpus(0));
    let none = ask(nvml).unwrap();
    assert_eq!(
        (none.driver_version.as_deref(), none.gpus, none.problems),
        (Some("580.159.04"), vec![], vec![])
    );

    set(Situation::Gpus(2));
    let two = ask(nvml).unwrap();
    assert_eq!((indices(&two), two.problems.len()), (vec![0, 1], 0));
    assert!(
        two.gpus
            .iter()
            .all(|gpu| gpu.memory_bytes.is_some() && gpu.name.is_some() && gpu.mig.is_none())
    );
    let product = Product {
        brand: Some("nvidia".to_owned()),
        compute_capability: Some((9, 0)),
    };
    assert!(two.gpus.iter().all(|gpu| gpu.product == product), "{two:?}");
    assert_eq!(two.cuda_version, Some((13, 0)));

    set(Situation::NoMemoryTold);
    let untold = ask(nvml).unwrap();
    assert_eq!((indices(&untold), untold.problems.len()), (vec![0, 1], 0));
    assert!(untold.gpus.iter().all(|gpu| gpu.memory_bytes.is_none()));

    set(Situation::SecondGpuBusy(Some(&[41, 4_000_000])));
    let busy = ask(nvml).unwrap();
    let processes = |survey: &Survey| {
        survey
            .gpus
            .iter()
            .map(|gpu| gpu.processes.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(processes(&busy), [Some(vec![]), Some(vec![41, 4_000_000])]);
    set(Situation::SecondGpuBusy(None));
    let silent = ask(nvml).unwrap();
    assert_eq!(
        (processes(&silent), silent.problems.len()),
        (vec![Some(vec![]), None], 0)
    );

    set(Situation::SecondGpuLost);
    let lost = ask(nvml).unwrap();
    assert_eq!(
        (indices(&lost), lost.problems.len()),
        (vec![0], 1),
        "{:?}",
        lost.problems
    );
    assert!(lost.problems[0].text.contains("GPU 1"), "{}", lost.problems[0]);
    assert_eq!((&lost.problems[0].uuid, lost.problems[0].pci), (&None, None));

    set(Situation::SecondGpuLostLate);
    let lost = ask(nvml).unwrap();
    assert_eq!(
        (indices(&lost), lost.problems.len()),
        (vec![0], 1),
        "{:?}",
        lost.problems
    );
    let (problem, gone) = (&lost.problems[0], &two.gpus[1]);
    assert_eq!(
        (problem.uuid.as_ref(), problem.pci),
        (Some(&gone.uuid), Some(gone.pci))
    );
    set(Situation::Gpus(2));
    assert_eq!(indices(&ask(nvml).unwrap()), [0, 1]);

    set(Situation::UuidHangs);
    let hung = "nvmlDeviceGetUUID on GPU 0";
    match ask(nvml) {
        Err(NvmlFailure::Timeout { call, limit }) => assert_eq!((call.as_str(), limit), (hung, LIMIT)),
        other => panic!("{other:?}"),
    }
    for _ in 0..3 {
        let asking = Instant::now();
        match ask(nvml) {
            Err(NvmlFailure::Stuck { call, since }) => assert!(call == hung && since >= LIMIT),
            other => panic!("{other:?}"),
        }
        assert!(asking.elapsed() < LIMIT, "a stuck NVML is told at once");
    }
    // Fewer GPUs than in the survey that hung: its late result reaches nobody.
    set(Situation::Gpus(1));
    assert_eq!(indices(&ask_until_served(nvml).unwrap()), [0]);
}

#[test]
fn the_fake_holds_the_contract() {
    let fake = FakeNvml::new(Answer::Never);
    fake.limit(LIMIT);
    let gpus = |count: u8| {
        (0..count)
            .map(|n| nvml_gpu(u32::from(n), &proc_gpu(n)))
            .collect::<Vec<_>>()
    };
    contract(&fake, &|situation| {
        fake.lift();
        let found = |count| survey("580.159.04", gpus(count));
        fake.usual(match situation {
            Situation::NoLibrary => Answer::Now(Err(NvmlFailure::Library {
                library: "libnvidia-ml.so.1".to_owned(),
                reason: "no such file".to_owned(),
            })),
            Situation::NoDriver => Answer::Now(Err(NvmlFailure::Call {
                call: "nvmlInit_v2".to_owned(),
                reason: "the driver is not loaded".to_owned(),
            })),
            Situation::Gpus(count) => Answer::Now(Ok(found(count))),
            Situation::NoMemoryTold => {
                let untold = |gpu| NvmlGpu {
                    memory_bytes: None,
                    ..gpu
                };
                Answer::Now(Ok(survey(
                    "580.159.04",
                    gpus(2).into_iter().map(untold).collect(),
                )))
            }
            Situation::SecondGpuLost => {
                let problems = vec![GpuProblem::new("GPU 1 is set aside: it is lost")];
                Answer::Now(Ok(Survey { problems, ..found(1) }))
            }
            Situation::SecondGpuLostLate => {
                let problem = GpuProblem {
                    uuid: Some(proc_gpu(1).uuid),
                    pci: Some(proc_gpu(1).pci),
                    text: "GPU 1 is set aside: it is lost".to_owned(),
                };
                let problems = vec![problem];
                Answer::Now(Ok(Survey { problems, ..found(1) }))
            }
            Situation::SecondGpuBusy(with) => {
                let mut found = found(2);
                found.gpus[1].processes = with.map(<[u32]>::to_vec);
                Answer::Now(Ok(found))
            }
            Situation::UuidHangs => Answer::Hang("nvmlDeviceGetUUID on GPU 0".to_owned()),
        });
    });
}

#[test]
fn the_real_thread_holds_the_contract() {
    let driver = Driver::new();
    contract(&driver.start(), &|situation| {
        let gpus = |count: u8| Machine::with_gpus(count.into());
        match situation {
            Situation::NoLibrary => {}
            Situation::NoDriver => driver.set(&Machine {
                driver_loaded: false,
                ..gpus(2)
            }),
            Situation::Gpus(count) => driver.set(&gpus(count)),
            Situation::NoMemoryTold => {
                let mut machine = gpus(2);
                machine.gpus.iter_mut().for_each(|gpu| gpu.memory = None);
                driver.set(&machine);
            }
            Situation::SecondGpuBusy(Some(pids)) => {
                let mut machine = gpus(2);
                machine.gpus[1].processes = pids.iter().map(|pid| process(*pid)).collect();
                driver.set(&machine);
            }
            Situation::SecondGpuBusy(None) => driver.set(&gpus(2).fault(not_supported(1))),
            Situation::SecondGpuLostLate => {
                driver.set(&gpus(2).fault(Fault::code("nvmlDeviceGetMemoryInfo", 15).on_gpu(1)));
            }
            Situation::SecondGpuLost => driver.set(&gpus(2).fault(Fault::code("*", 15).on_gpu(1))),
            Situation::UuidHangs => driver.set(&gpus(2).fault(Fault::hang("nvmlDeviceGetUUID").on_gpu(0))),
        }
    });
}

// SPDX-License-Identifier: Apache-2.0
//! The contract of `Nvml`, held by the real thread over a simulated driver and by the fake alike.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use fake_nvml::{Fault, Machine};
use mesos_gpu::ports::nvml::{Nvml, NvmlFailure, NvmlGpu, Survey};
use std::time::Instant;
use support::FakeNvml;
use support::driver_proc::proc_gpu;
use support::nvml::{Answer, nvml_gpu, survey};
use support::simulated_nvml::{Driver, LIMIT, ask, ask_until_served};

enum Situation {
    NoLibrary,
    NoDriver,
    Gpus(u8),
    NoMemoryTold,
    SecondGpuLost,
    UuidHangs,
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

    set(Situation::NoMemoryTold);
    let untold = ask(nvml).unwrap();
    assert_eq!((indices(&untold), untold.problems.len()), (vec![0, 1], 0));
    assert!(untold.gpus.iter().all(|gpu| gpu.memory_bytes.is_none()));

    set(Situation::SecondGpuLost);
    let lost = ask(nvml).unwrap();
    assert_eq!(
        (indices(&lost), lost.problems.len()),
        (vec![0], 1),
        "{:?}",
        lost.problems
    );
    assert!(lost.problems[0].contains("GPU 1"), "{}", lost.problems[0]);
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
                let problems = vec!["GPU 1 is set aside: it is lost".to_owned()];
                Answer::Now(Ok(Survey { problems, ..found(1) }))
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
            Situation::SecondGpuLost => driver.set(&gpus(2).fault(Fault::code("*", 15).on_gpu(1))),
            Situation::UuidHangs => driver.set(&gpus(2).fault(Fault::hang("nvmlDeviceGetUUID").on_gpu(0))),
        }
    });
}

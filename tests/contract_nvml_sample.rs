// SPDX-License-Identifier: Apache-2.0
//! The contract of `Nvml::sample`, held by the real thread over a simulated driver and by the fake alike.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "contract_nvml_sample/real.rs"]
mod real;
mod support;

use fake_nvml::{Fault, Gpu, Machine, Memory, Process, Utilization};
use mesos_gpu::domain::estimate::{GpuSample, MemoryUse, Percent, Power, ProcessUse, Sample, Temperature};
use mesos_gpu::ports::nvml::{Nvml, NvmlFailure};
use std::time::Instant;
use support::FakeNvml;
use support::nvml::Answer;
use support::simulated_nvml::{Driver, LIMIT, ask, ask_for_a_sample, ask_until_served};

const GIB: u64 = 1 << 30;

enum Situation {
    NoDriver,
    /// One GPU on which nobody is, and one on which these are: process, percent, GiB.
    Used(&'static [(u32, u32, u64)]),
    /// The second of two GPUs tells nothing but who it is.
    SecondGpuSilent,
    SecondGpuLost,
    Hangs,
}

/// What every side promises; `set` brings the machine into a situation.
fn contract(nvml: &dyn Nvml, set: &dyn Fn(Situation)) {
    set(Situation::NoDriver);
    match ask_for_a_sample(nvml) {
        Err(NvmlFailure::Call { call, .. }) => assert_eq!(call, "nvmlInit_v2"),
        other => panic!("{other:?}"),
    }

    set(Situation::Used(&[(41, 70, 3), (4_000_000, 0, 1)]));
    for _ in 0..2 {
        let sample = ask_for_a_sample(nvml).unwrap();
        assert_eq!(sample, used(&[(41, 70, 3), (4_000_000, 0, 1)]));
    }
    set(Situation::Used(&[]));
    assert_eq!(ask_for_a_sample(nvml).unwrap(), used(&[]));

    set(Situation::SecondGpuSilent);
    let silent = ask_for_a_sample(nvml).unwrap();
    let second = GpuSample {
        utilization: None,
        memory: None,
        processes: None,
        power: None,
        temperature: None,
        ..used(&[]).gpus[1].clone()
    };
    assert_eq!(silent.gpus, [used(&[]).gpus[0].clone(), second]);

    set(Situation::SecondGpuLost);
    assert_eq!(ask_for_a_sample(nvml).unwrap().gpus, used(&[]).gpus[..1]);
    set(Situation::Used(&[]));
    assert_eq!(ask_for_a_sample(nvml).unwrap(), used(&[]));

    set(Situation::Hangs);
    let hung = "nvmlDeviceGetUtilizationRates on GPU 0";
    match ask_for_a_sample(nvml) {
        Err(NvmlFailure::Timeout { call, limit }) => assert_eq!((call.as_str(), limit), (hung, LIMIT)),
        other => panic!("{other:?}"),
    }
    for _ in 0..3 {
        let asking = Instant::now();
        match ask_for_a_sample(nvml) {
            Err(NvmlFailure::Stuck { call, since }) => assert!(call == hung && since >= LIMIT),
            other => panic!("{other:?}"),
        }
        assert!(
            matches!(ask(nvml), Err(NvmlFailure::Stuck { .. })),
            "for a survey too"
        );
        assert!(asking.elapsed() < LIMIT, "a stuck NVML is told at once");
    }
    set(Situation::Used(&[]));
    ask_until_served(nvml).unwrap();
    assert_eq!(ask_for_a_sample(nvml).unwrap(), used(&[]));
}

/// What is told in [`Situation::Used`].
fn used(processes: &[(u32, u32, u64)]) -> Sample {
    let gpus = Machine::with_gpus(2).gpus;
    let total = gpus[0].memory.unwrap().total;
    let held: u64 = processes.iter().map(|(_, _, gib)| gib * GIB).sum();
    let computed = processes.iter().map(|(_, share, _)| *share).sum();
    let gpu = |gpu: &Gpu, computed, held, processes: &[(u32, u32, u64)]| GpuSample {
        uuid: mesos_gpu::domain::gpu::UnitId::new(&gpu.uuid),
        utilization: Percent::told(computed),
        memory: MemoryUse::told(held, total),
        power: Power::told(gpu.power_mw.unwrap()),
        temperature: Temperature::told(gpu.temperature_c.unwrap()),
        processes: Some(
            processes
                .iter()
                .map(|(pid, share, gib)| ProcessUse {
                    pid: *pid,
                    utilization: Percent::told(*share),
                    memory: Some(gib * GIB),
                })
                .collect(),
        ),
    };
    Sample {
        gpus: vec![gpu(&gpus[0], 0, 0, &[]), gpu(&gpus[1], computed, held, processes)],
    }
}

#[test]
fn the_fake_holds_the_contract() {
    let fake = FakeNvml::new(Answer::Now(Err(NvmlFailure::Call {
        call: "nvmlInit_v2".to_owned(),
        reason: "the driver is not loaded".to_owned(),
    })));
    fake.limit(LIMIT);
    contract(&fake, &|situation| {
        fake.lift();
        fake.usual(Answer::Now(Ok(support::nvml::survey("580.159.04", Vec::new()))));
        fake.usual_sample(match situation {
            Situation::NoDriver => Answer::Now(Err(NvmlFailure::Call {
                call: "nvmlInit_v2".to_owned(),
                reason: "the driver is not loaded".to_owned(),
            })),
            Situation::Used(processes) => Answer::Now(Ok(used(processes))),
            Situation::SecondGpuSilent => {
                let mut sample = used(&[]);
                let second = &mut sample.gpus[1];
                (second.utilization, second.memory, second.processes) = (None, None, None);
                (second.power, second.temperature) = (None, None);
                Answer::Now(Ok(sample))
            }
            Situation::SecondGpuLost => {
                let mut sample = used(&[]);
                sample.gpus.truncate(1);
                Answer::Now(Ok(sample))
            }
            Situation::Hangs => Answer::Hang("nvmlDeviceGetUtilizationRates on GPU 0".to_owned()),
        });
    });
}

/// Two GPUs, the second used so.
fn machine(processes: &[(u32, u32, u64)]) -> Machine {
    let mut machine = Machine::with_gpus(2);
    let gpu = &mut machine.gpus[1];
    let of = |(pid, share, gib): &(u32, u32, u64)| Process {
        pid: *pid,
        used_memory: Some(gib * GIB),
        sm_util: *share,
        mem_util: 0,
        gpu_instance: None,
        compute_instance: None,
    };
    gpu.processes = processes.iter().map(of).collect();
    let used: u64 = processes.iter().map(|(_, _, gib)| gib * GIB).sum();
    let total = gpu.memory.unwrap().total;
    gpu.memory = Some(Memory {
        total,
        used,
        free: total - used,
    });
    gpu.utilization = Some(Utilization {
        gpu: processes.iter().map(|(_, share, _)| *share).sum(),
        memory: 0,
    });
    machine
}

#[test]
fn the_real_thread_holds_the_contract() {
    let driver = Driver::new();
    contract(&driver.start(), &|situation| {
        driver.set(&match situation {
            Situation::NoDriver => Machine {
                driver_loaded: false,
                ..machine(&[])
            },
            Situation::Used(processes) => machine(processes),
            Situation::SecondGpuSilent => {
                let mut machine = machine(&[]);
                machine.gpus[1].memory = None;
                machine.gpus[1].utilization = None;
                machine.gpus[1].power_mw = None;
                machine.gpus[1].temperature_c = None;
                machine.fault(Fault::code("nvmlDeviceGetComputeRunningProcesses", 3).on_gpu(1))
            }
            Situation::SecondGpuLost => machine(&[]).fault(Fault::code("*", 15).on_gpu(1)),
            Situation::Hangs => machine(&[]).fault(Fault::hang("nvmlDeviceGetUtilizationRates").on_gpu(0)),
        });
    });
}

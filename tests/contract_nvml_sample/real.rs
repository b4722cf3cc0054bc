// SPDX-License-Identifier: Apache-2.0
//! What only the real side of `Nvml::sample` can show: figures that cannot be, and a hang.

use crate::support::simulated_nvml::{Driver, ask_for_a_sample};
use crate::{GIB, machine};
use fake_nvml::{Fault, Gpu, Machine, Memory, Utilization};
use mesos_gpu::domain::estimate::{Percent, Power, ProcessUse, Sample, Temperature};
use mesos_gpu::ports::nvml::NvmlFailure;
use std::fs;

/// What the second GPU tells of its processes, when the simulated machine is changed so after a first sample.
fn shares_after(change: impl FnOnce(&mut Gpu)) -> Option<Vec<Option<u32>>> {
    let mut machine = machine(&[(41, 3, 1), (42, 0, 1)]);
    let driver = Driver::of(&machine);
    let nvml = driver.start();
    let shares = |sample: Sample| {
        let processes = sample.gpus[1].processes.clone()?;
        let share = |process: &ProcessUse| process.utilization.map(Percent::get);
        Some(processes.iter().map(share).collect::<Vec<_>>())
    };
    assert_eq!(
        shares(ask_for_a_sample(&nvml).unwrap()),
        Some(vec![Some(3), Some(0)])
    );
    change(&mut machine.gpus[1]);
    driver.set(&machine);
    shares(ask_for_a_sample(&nvml).unwrap())
}

#[test]
fn time_stamps_going_backwards_and_sentinels_of_processes_are_not_told() {
    let unknown = Some(vec![None, None]);
    assert_eq!(shares_after(|gpu| gpu.sampled_at = Some(1)), unknown);
    assert_eq!(shares_after(|gpu| gpu.sampled_at = Some(u64::MAX)), unknown);
    assert_eq!(shares_after(|gpu| gpu.processes[0].sm_util = 101), unknown);
    assert_eq!(shares_after(|gpu| gpu.processes[0].sm_util = u32::MAX), unknown);
    assert_eq!(shares_after(|gpu| gpu.no_process_samples = true), unknown);
    let both = Some(vec![Some(9), Some(0)]);
    assert_eq!(shares_after(|gpu| gpu.processes[0].sm_util = 9), both);
}

#[test]
fn sentinels_of_a_gpu_and_of_its_memory_are_not_told() {
    let mut machine = machine(&[(41, 0, 1)]);
    machine.gpus[0].utilization = Some(Utilization {
        gpu: u32::MAX,
        memory: 0,
    });
    machine.gpus[1].memory = Some(Memory {
        total: u64::MAX,
        used: u64::MAX,
        free: 0,
    });
    machine.gpus[1].processes[0].used_memory = None;
    machine.gpus[0].power_mw = Some(u32::MAX);
    machine.gpus[1].power_mw = Some(0);
    machine.gpus[1].temperature_c = Some(255);
    let sample = ask_for_a_sample(&Driver::of(&machine).start()).unwrap();
    assert_eq!(sample.gpus[0].utilization, None);
    assert_eq!(
        (sample.gpus[1].memory, sample.gpus[1].utilization),
        (None, Percent::told(0))
    );
    assert_eq!(sample.gpus[1].processes.as_ref().unwrap()[0].memory, None);
    assert_eq!((sample.gpus[0].power, sample.gpus[1].power), (None, None));
    assert_eq!(
        (sample.gpus[0].temperature, sample.gpus[1].temperature),
        (Temperature::told(31), None)
    );
}

#[test]
fn with_mig_on_a_gpu_tells_nothing_of_its_use() {
    let mut machine = machine(&[]);
    machine.gpus[1] = machine.gpus[1].clone().with_mig(&["1g.18gb"]);
    let sample = ask_for_a_sample(&Driver::of(&machine).start()).unwrap();
    assert_eq!(sample.gpus.len(), 2, "{sample:?}");
    assert_eq!(sample.gpus[1].utilization, None);
    assert_eq!(sample.gpus[1].power, Power::told(76_540));
}

#[test]
fn a_library_without_samples_of_processes_tells_the_rest() {
    let driver = Driver::of(&machine(&[(41, 3, 1)]));
    let nvml = driver.start_without(&["nvmlDeviceGetProcessUtilization"]);
    let sample = ask_for_a_sample(&nvml).unwrap();
    let second = &sample.gpus[1];
    assert_eq!(second.utilization, Percent::told(3));
    let alone = ProcessUse {
        pid: 41,
        utilization: None,
        memory: Some(GIB),
    };
    assert_eq!(second.processes, Some(vec![alone]));
}

#[test]
fn a_library_without_power_and_temperature_tells_the_rest() {
    let driver = Driver::of(&machine(&[(41, 3, 1)]));
    let nvml = driver.start_without(&["nvmlDeviceGetPowerUsage", "nvmlDeviceGetTemperature"]);
    let sample = ask_for_a_sample(&nvml).unwrap();
    let second = &sample.gpus[1];
    assert_eq!((second.power, second.temperature), (None, None));
    assert_eq!(second.utilization, Percent::told(3));
}

#[test]
fn a_hung_sample_is_made_once_and_holds_one_thread() {
    let hanging = machine(&[]).fault(Fault::hang("nvmlDeviceGetProcessUtilization"));
    let driver = Driver::of(&Machine {
        call_log: Some("calls.log".to_owned()),
        ..hanging
    });
    let nvml = driver.start();
    let threads = || fs::read_dir("/proc/self/task").unwrap().filter(is_nvml).count();
    let before = threads();
    assert!(matches!(
        ask_for_a_sample(&nvml),
        Err(NvmlFailure::Timeout { .. })
    ));
    for _ in 0..20 {
        assert!(matches!(ask_for_a_sample(&nvml), Err(NvmlFailure::Stuck { .. })));
    }
    // Other tests of this program may end theirs meanwhile, and none of ours is added.
    assert!(threads() <= before + OTHERS, "{} after {before}", threads());
    let log = fs::read_to_string(driver.folder.path().join("calls.log")).unwrap();
    let made = log
        .lines()
        .filter(|line| line.contains("GetProcessUtilization"))
        .count();
    assert_eq!(made, 1, "{log}");
    // Lets the worker end.
    driver.set(&machine(&[]));
}

/// How many threads for NVML other tests of this program can start meanwhile: two each.
const OTHERS: usize = 2 * 7;

fn is_nvml(entry: &std::io::Result<fs::DirEntry>) -> bool {
    let name = entry
        .as_ref()
        .ok()
        .and_then(|entry| fs::read_to_string(entry.path().join("comm")).ok());
    name.is_some_and(|name| name.starts_with("gpu-nvml"))
}

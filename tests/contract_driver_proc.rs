// SPDX-License-Identifier: Apache-2.0
//! The contract of `DriverProc`, held by the reader of a real tree and by the fake alike.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mesos_gpu::ports::driver_proc::{DriverProc, MigAccess, ProcGpu, ProcReport};
use mesos_gpu::system::driver_proc::ProcDriver;
use std::fs;
use std::path::Path;
use support::FakeDriverProc;
use support::driver_proc::proc_gpu;

/// What every side promises; `say` makes the driver say it, in this order of GPUs.
fn contract(driver: &dyn DriverProc, say: &dyn Fn(Option<&str>, &[ProcGpu])) {
    assert_eq!(
        driver.read(),
        ProcReport::default(),
        "an absent driver is an empty report"
    );

    say(Some("580.159.04"), &[]);
    assert_eq!(driver.read().driver_version.as_deref(), Some("580.159.04"));
    assert!(driver.read().gpus.is_empty());

    // Minors that do not follow the addresses, as after a GPU was replaced.
    let mut gpus = vec![proc_gpu(3), proc_gpu(1), proc_gpu(2)];
    (gpus[0].minor, gpus[1].minor) = (1, 3);
    gpus[1].excluded = true;
    gpus[2].model = None;
    let access = |gpu_instance, compute_instance, minor| MigAccess {
        gpu_instance,
        compute_instance,
        minor,
    };
    gpus[0].mig = vec![
        access(1, None, 12),
        access(1, Some(0), 13),
        access(2, None, 21),
        access(2, Some(0), 22),
    ];
    say(Some("580.159.04"), &gpus);
    let report = driver.read();
    assert_eq!(report.problems, Vec::<String>::new());
    assert_eq!(
        report.gpus,
        [gpus[1].clone(), gpus[2].clone(), gpus[0].clone()],
        "GPUs come by PCI address"
    );
    for gpu in &gpus {
        assert_eq!(
            driver.gpu(gpu.pci).as_ref(),
            Some(gpu),
            "one is told as among all"
        );
    }
    assert_eq!(driver.gpu(proc_gpu(9).pci), None);
    assert_eq!(driver.version(), report.driver_version);

    say(None, &gpus[..1]);
    let report = driver.read();
    assert_eq!(
        (report.driver_version, report.gpus.len()),
        (None, 1),
        "every read is fresh"
    );

    type Change = fn(&mut ProcGpu);
    for change in [(|gpu| gpu.minor = 1) as Change, |gpu| gpu.uuid = proc_gpu(1).uuid] {
        let mut twin = proc_gpu(2);
        change(&mut twin);
        say(Some("580.159.04"), &[proc_gpu(1), twin, proc_gpu(4)]);
        let report = driver.read();
        assert_eq!(
            report.gpus,
            [proc_gpu(4)],
            "GPUs that claim the same are all set aside"
        );
        assert!(!report.problems.is_empty());
    }
}

/// Writes the tree as the driver would.
fn write_tree(dir: &Path, version: Option<&str>, gpus: &[ProcGpu]) {
    let _ = fs::remove_dir_all(dir);
    fs::create_dir_all(dir.join("gpus")).unwrap();
    if let Some(version) = version {
        let line =
            format!("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build\n");
        fs::write(dir.join("version"), line).unwrap();
    }
    for gpu in gpus {
        let entry = dir.join("gpus").join(gpu.pci.to_string());
        fs::create_dir(&entry).unwrap();
        let model = gpu.model.as_deref().unwrap_or("Unknown");
        let excluded = if gpu.excluded { "Yes" } else { "No" };
        let information = format!(
            "Model: \t\t {model}\nIRQ:   \t\t 33\nGPU UUID: \t {}\nBus Location: \t {}\nDevice Minor: \t {}\n\
             GPU Excluded:\t {excluded}\n",
            gpu.uuid, gpu.pci, gpu.minor
        );
        fs::write(entry.join("information"), information).unwrap();
        for access in &gpu.mig {
            let mut folder = dir.join(format!(
                "capabilities/gpu{}/mig/gi{}",
                gpu.minor, access.gpu_instance
            ));
            if let Some(compute_instance) = access.compute_instance {
                folder.push(format!("ci{compute_instance}"));
            }
            fs::create_dir_all(&folder).unwrap();
            let text = format!(
                "DeviceFileMinor: {}\nDeviceFileMode: 292\nDeviceFileModify: 1\n",
                access.minor
            );
            fs::write(folder.join("access"), text).unwrap();
        }
    }
}

#[test]
fn the_fake_holds_the_contract() {
    let fake = FakeDriverProc::new();
    contract(&fake, &|version, gpus| {
        let driver_version = version.map(str::to_owned);
        fake.set(ProcReport {
            driver_version,
            gpus: gpus.to_vec(),
            problems: Vec::new(),
        });
    });
}

#[test]
fn the_real_tree_holds_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("nvidia");
    contract(&ProcDriver::new(tree.clone()), &|version, gpus| {
        write_tree(&tree, version, gpus)
    });
}

#[test]
fn hostile_entries_of_a_real_tree_are_problems_and_hide_no_other_gpu() {
    let dir = tempfile::tempdir().unwrap();
    write_tree(dir.path(), Some("580.159.04"), &[proc_gpu(1)]);
    let entry = |name: &str| {
        let entry = dir.path().join("gpus").join(name);
        fs::create_dir(&entry).unwrap();
        entry.join("information")
    };
    fs::write(entry("0000:20:00.0"), "").unwrap();
    fs::write(
        entry("0000:21:00.0"),
        [0xff, 0x00, b':', 0xfe, b'\n'].repeat(100_000),
    )
    .unwrap();
    fs::create_dir(entry("0000:22:00.0")).unwrap();
    // Would block a reader that opens it.
    nix::unistd::mkfifo(&entry("0000:23:00.0"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    std::os::unix::fs::symlink("/dev/zero", entry("0000:24:00.0")).unwrap();
    entry("0000:25:00.0");
    fs::write(entry("a\nline"), "GPU UUID: GPU-1\nDevice Minor: 7\n").unwrap();
    fs::write(
        entry("0000:26:00.0"),
        "GPU UUID: GPU-????????-????\nDevice Minor: 7\n",
    )
    .unwrap();
    fs::write(dir.path().join("gpus/0000:27:00.0"), "no directory").unwrap();

    let report = ProcDriver::new(dir.path().to_owned()).read();
    assert_eq!(report.gpus, [proc_gpu(1)]);
    assert_eq!(report.problems.len(), 9, "{:#?}", report.problems);
    assert!(
        report.problems.iter().all(|problem| !problem.contains('\n')),
        "{:#?}",
        report.problems
    );
}

#[test]
fn a_tree_that_is_no_tree_is_a_problem() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("gpus"), "no directory").unwrap();
    fs::create_dir(dir.path().join("version")).unwrap();
    let report = ProcDriver::new(dir.path().to_owned()).read();
    assert_eq!(
        (report.driver_version, report.gpus.len(), report.problems.len()),
        (None, 0, 2)
    );
}

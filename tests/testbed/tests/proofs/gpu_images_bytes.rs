// SPDX-License-Identifier: Apache-2.0
//! What a driver in an image costs: no byte of the driver is written, where Mesos's own `gpu/nvidia` copies it, and how long
//! the agent's start and a launch take with either.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fake_nvml::{DriverFiles, DriverTree, Machine};
use testbed::{Agent, AgentBuilder, Testbed, support};

use crate::common;
use common::PATIENCE;
use common::images::{agent, ended, lay_out_root, probe, probe_image, resources};

/// A tenth of a real driver is enough to tell copying from not copying.
const DRIVER_BYTES: u64 = 70 << 20;

/// What was measured.
struct Cost {
    start: Duration,
    /// The median of some launches.
    launch: Duration,
    /// Bytes that the files have which were made for the driver.
    bytes: u64,
}

/// The bytes of the blocks of all files below a folder, as this process sees it: where something is mounted, of what is
/// mounted, unless that is a file of the driver itself.
fn allocated(folder: &Path, driver: &DriverFiles) -> u64 {
    let identity = |found: &fs::Metadata| (found.dev(), found.ino());
    let own: HashSet<_> = files(driver.folder())
        .iter()
        .map(|(_, found)| identity(found))
        .collect();
    let made = files(folder)
        .into_iter()
        .filter(|(_, found)| !own.contains(&identity(found)));
    made.map(|(_, found)| found.blocks() * 512).sum()
}

/// All regular files below a folder.
fn files(folder: &Path) -> Vec<(PathBuf, fs::Metadata)> {
    let mut all = Vec::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(path) = todo.pop() {
        let Ok(found) = path.symlink_metadata() else {
            continue;
        };
        if found.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            todo.extend(entries.map(|entry| entry.path()));
        } else if found.is_file() {
            all.push((path, found));
        }
    }
    all
}

/// A folder of the agent's own as the agent sees it.
fn as_seen_by(agent: &Agent, folder: &Path) -> PathBuf {
    let root = Path::new("/proc").join(agent.pid().to_string()).join("root");
    root.join(folder.strip_prefix("/").unwrap())
}

fn measure(bed: &Testbed, builder: AgentBuilder, driver: &DriverFiles, volumes: Option<&str>) -> Cost {
    let before = Instant::now();
    // Its roots cost nothing, so that what is measured is not how long an image is copied.
    let mut agent = builder.image_backend("overlay").start().unwrap();
    agent.wait_registered(PATIENCE).unwrap();
    let start = before.elapsed();
    let mut launches = Vec::new();
    for number in 0..5 {
        let id = format!("c{number}");
        let launch = probe(&[&id], "probe").resources(&resources(1));
        let before = Instant::now();
        agent.operator().launch_container(&launch).unwrap();
        launches.push(before.elapsed());
        let seen = ended(&agent, &[&id]);
        assert!(
            seen.cuda
                .is_ok_and(|place| place.starts_with("/usr/local/nvidia"))
        );
    }
    launches.sort();
    let folder = volumes.map_or_else(|| agent.runtime_dir().join("mesos-gpu"), PathBuf::from);
    let bytes = allocated(&as_seen_by(&agent, &folder), driver);
    assert!(bed.folder().is_dir());
    Cost {
        start,
        launch: launches[launches.len() / 2],
        bytes,
    }
}

#[test]
fn ROOT_CGROUPS_no_byte_of_the_driver_is_copied_where_the_built_in_copies_all_that_it_knows() {
    if common::lacking("what a driver costs") {
        return;
    }
    let bed = Testbed::new().unwrap();
    let mut master = bed.master().start().unwrap();
    master.wait_ready(PATIENCE).unwrap();
    let machine = Machine::with_gpus(2);
    let tree = DriverTree::new(&bed.folder().join("driver")).version(&machine.driver_version);
    let driver = lay_out_root(&tree.total_bytes(DRIVER_BYTES));
    let images = [probe_image("probe")];
    let ours = measure(
        &bed,
        agent(&bed, &images, &driver, &[]).machine(&machine),
        &driver,
        None,
    );
    println!("{:<12}{:>12}{:>14}{:>16}", "", "start", "launch", "bytes copied");
    let print = |name: &str, cost: &Cost| {
        println!(
            "{name:<12}{:>12.1?}{:>14.1?}{:>16}",
            cost.start, cost.launch, cost.bytes
        );
    };
    print("mesos_gpu", &ours);
    assert_eq!(ours.bytes, 0);

    if let Err(error) = fake_nvml::trimmed_loader_cache(&bed.folder().join("ld.so.cache")) {
        return support::skip(&format!("gpu/nvidia beside ours: {error}"));
    }
    let built_in = bed
        .agent()
        .isolation("cgroups/devices,filesystem/linux,docker/runtime,gpu/nvidia")
        .flag("nvidia_gpu_devices", "0,1")
        .resources("cpus:4;mem:4096;disk:4096;gpus:2")
        .images(&bed.folder().join("images"))
        .machine(&machine)
        .driver(&driver);
    let theirs = measure(&bed, built_in, &driver, Some("/run/mesos"));
    print("gpu/nvidia", &theirs);
    assert!(
        theirs.bytes > DRIVER_BYTES / 3,
        "the built-in got better: {} bytes",
        theirs.bytes
    );
}

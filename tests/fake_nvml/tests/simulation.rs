// SPDX-License-Identifier: Apache-2.0
//! The folder of a simulation: what is in it, and that it changes in place.

use fake_nvml::{Machine, Simulation};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Major and minor of a node; none where there is no node.
fn node(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::symlink_metadata(path)
        .ok()
        .filter(|metadata| metadata.file_type().is_char_device())?;
    Some((
        nix::sys::stat::major(metadata.rdev()),
        nix::sys::stat::minor(metadata.rdev()),
    ))
}

#[test]
fn lay_out_makes_the_library_the_proc_tree_and_the_links() {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine::with_gpus(2);
    let simulation = Simulation::lay_out(&folder.path().join("deep/er"), &machine).unwrap();
    assert!(simulation.library().ends_with("deep/er/lib/libnvidia-ml.so.1"));
    assert!(simulation.library().is_file());
    assert_eq!(Machine::load(&simulation.machine_file()).unwrap(), machine);
    let nvidia = simulation.proc_driver().join("nvidia");
    assert!(
        fs::read_to_string(nvidia.join("version"))
            .unwrap()
            .contains("  580.159.04  ")
    );
    assert!(
        fs::read_to_string(nvidia.join("params"))
            .unwrap()
            .contains("\nDeviceFileMode: 438\n")
    );
    for gpu in &machine.gpus {
        let text = fs::read_to_string(nvidia.join("gpus").join(&gpu.pci).join("information")).unwrap();
        assert!(text.contains(&format!("GPU UUID: \t {}\n", gpu.uuid)), "{text}");
        assert!(
            text.contains(&format!("Device Minor: \t {}\n", gpu.minor)),
            "{text}"
        );
    }
    assert_eq!(
        fs::read_link(simulation.dev().join("stdin")).unwrap(),
        Path::new("/proc/self/fd/0")
    );
    assert_eq!(simulation.environment()[0].0, "FAKE_NVML_MACHINE");
    // Again over the same folder, as a restarted test bed does.
    Simulation::lay_out(simulation.folder(), &machine).unwrap();
}

#[test]
#[allow(non_snake_case)]
fn ROOT_update_changes_the_nodes_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let mut machine = Machine::with_gpus(2);
    let simulation = Simulation::lay_out(folder.path(), &machine).unwrap();
    let dev = simulation.dev();
    if !nix::unistd::geteuid().is_root() {
        assert!(!simulation.has_nodes());
        fake_nvml::skip("root, to make device nodes");
        return;
    }
    assert!(simulation.has_nodes());
    let folder_number = fs::metadata(&dev).unwrap().ino();
    assert_eq!(node(&dev.join("null")), Some((1, 3)));
    assert_eq!(node(&dev.join("nvidia0")), Some((195, 0)));
    assert_eq!(node(&dev.join("nvidiactl")), Some((195, 255)));
    assert_eq!(node(&dev.join("nvidia-uvm")), Some((511, 0)));
    assert_eq!(node(&dev.join("nvidia-caps/nvidia-cap2")), Some((509, 2)));
    assert_eq!(fs::metadata(dev.join("nvidia0")).unwrap().mode() & 0o777, 0o666);

    machine.gpus[1].minor = 5;
    machine.majors.uvm = 238;
    simulation.update(&machine).unwrap();
    assert_eq!(node(&dev.join("nvidia0")), None);
    assert_eq!(node(&dev.join("nvidia5")), Some((195, 5)));
    assert_eq!(node(&dev.join("nvidia-uvm-tools")), Some((238, 1)));

    machine.driver_loaded = false;
    simulation.update(&machine).unwrap();
    let left: Vec<_> = fs::read_dir(&dev)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        left.iter()
            .all(|name| !name.to_string_lossy().starts_with("nvidia")),
        "{left:?}"
    );
    assert_eq!(node(&dev.join("null")), Some((1, 3)));
    assert_eq!(fs::metadata(&dev).unwrap().ino(), folder_number);
}

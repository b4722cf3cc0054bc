// SPDX-License-Identifier: Apache-2.0
//! What a container must see of its GPUs and of the driver, and what not.

use super::*;

/// Asserts that exactly the control nodes and so many GPUs' nodes are there, that they are what the machine has, and that
/// the environment names the same GPUs.
pub fn assert_nodes(seen: &Sight, machine: &Machine, gpus: usize) {
    let mut expected = BTreeMap::from([
        ("nvidiactl".to_owned(), (195, 255)),
        ("nvidia-uvm".to_owned(), (u64::from(machine.majors.uvm), 0)),
        ("nvidia-uvm-tools".to_owned(), (u64::from(machine.majors.uvm), 1)),
    ]);
    let named: BTreeSet<&str> = match gpus {
        0 => BTreeSet::new(),
        _ => seen.environment["NVIDIA_VISIBLE_DEVICES"].split(',').collect(),
    };
    assert_eq!(named.len(), gpus, "{:?}", seen.environment);
    for uuid in named {
        let gpu = machine.gpus.iter().find(|gpu| gpu.uuid == uuid).unwrap();
        expected.insert(format!("nvidia{}", gpu.minor), (195, gpu.minor.into()));
    }
    let nodes = seen.nvidia_nodes().into_iter();
    let nodes = nodes.map(|name| (name.to_owned(), (seen.nodes[name].major, seen.nodes[name].minor)));
    assert_eq!(nodes.collect::<BTreeMap<_, _>>(), expected, "{:?}", seen.nodes);
    for name in expected.keys() {
        let node = &seen.nodes[name];
        assert_eq!(
            (node.mode, node.user, node.group),
            (0o666, 0, 0),
            "{name}: {node:?}"
        );
        assert!(node.is_open(), "{name}: {node:?}");
        assert_eq!(node.changed, Errno::EROFS as i32, "{name}: {node:?}");
    }
}

/// Asserts that no node of NVIDIA's is there.
pub fn assert_no_nodes(seen: &Sight) {
    assert_eq!(seen.nvidia_nodes(), Vec::<&str>::new());
    assert_eq!(seen.environment["NVIDIA_VISIBLE_DEVICES"], "void");
}

/// Asserts that the driver's files are there, all and no other's, and that programs find them with and without an
/// environment.
pub fn assert_driver(seen: &Sight, driver: &DriverFiles) {
    let volume = seen.mount(DRIVER).unwrap();
    assert!(volume.options.starts_with("ro"), "{volume:?}");
    let smi = seen.smi.as_ref().unwrap();
    assert_eq!(smi.path, format!("{DRIVER}/bin/nvidia-smi"));
    let cuda = format!("{DRIVER}/lib64/libcuda.so.{}", driver.version());
    for seen in [Some(seen), seen.bare.as_deref()] {
        let seen = seen.unwrap();
        let smi = seen.smi.as_ref().unwrap();
        assert!(smi.success && smi.output.contains(driver.version()), "{smi:?}");
        let gpus = seen
            .open_nodes()
            .iter()
            .filter(|name| name[6..].parse::<u32>().is_ok())
            .count();
        assert_eq!(smi.output.matches("GPU ").count(), gpus, "{smi:?}");
        assert_eq!(seen.cuda.as_ref(), Ok(&cuda));
        assert!(
            seen.nvml.as_ref().is_ok_and(|place| place.starts_with(DRIVER)),
            "{:?}",
            seen.nvml
        );
    }
    let libraries = seen
        .driver_files
        .iter()
        .filter_map(|file| file.strip_prefix("lib64/"));
    let libraries: BTreeSet<&str> = libraries.collect();
    for library in driver.libraries() {
        let name = library.file_name().unwrap().to_str().unwrap();
        assert!(libraries.contains(name), "{name} is missing: {libraries:?}");
    }
    let old = libraries.iter().find(|name| name.ends_with("470.57.02"));
    assert_eq!(old, None, "of a driver that is not loaded");
}

/// Asserts that nothing of the driver is there.
pub fn assert_no_driver(seen: &Sight) {
    assert!(seen.cuda.is_err() && seen.smi.is_none(), "{seen:?}");
    assert_eq!(seen.driver_files, Vec::<String>::new());
    assert!(seen.mount(DRIVER).is_none(), "{:?}", seen.mounts);
}

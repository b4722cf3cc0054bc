// SPDX-License-Identifier: Apache-2.0
//! The simulated `/dev`. Its nodes are real nodes, only without a device behind: opening `nvidia0` gives ENXIO where the
//! devices cgroup lets it through and EPERM where it does not, which is all a test needs to tell a grant.

use super::proc_texts::{CONFIG_MINOR, MONITOR_MINOR, compute_instance_minor, gpu_instance_minor};
use crate::machine::Machine;
use crate::machine_file::failed;
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;

/// A character device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Node {
    major: u32,
    minor: u32,
    mode: u32,
}

/// The GPUs' own major, registered with the kernel's authors.
const NVIDIA_MAJOR: u32 = 195;
const CONTROL_MINOR: u32 = 255;

/// What every program expects of a `/dev`.
const STANDARD: [(&str, u32, u32); 7] = [
    ("null", 1, 3),
    ("zero", 1, 5),
    ("full", 1, 7),
    ("random", 1, 8),
    ("urandom", 1, 9),
    ("tty", 5, 0),
    ("ptmx", 5, 2),
];
const LINKS: [(&str, &str); 4] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

/// Makes the part that has nothing to do with GPUs.
pub(super) fn prepare(dev: &Path) -> io::Result<()> {
    for folder in ["pts", "shm"] {
        let folder = dev.join(folder);
        fs::create_dir_all(&folder).map_err(|e| failed("make the folder", &folder, &e))?;
    }
    for (name, target) in LINKS {
        let link = dev.join(name);
        if link.symlink_metadata().is_err() {
            symlink(target, &link).map_err(|e| failed("make the link", &link, &e))?;
        }
    }
    if may_make_nodes() {
        for (name, major, minor) in STANDARD {
            place(
                &dev.join(name),
                Node {
                    major,
                    minor,
                    mode: 0o666,
                },
            )?;
        }
    }
    Ok(())
}

/// Brings NVIDIA's nodes to what the machine is.
pub(super) fn update(dev: &Path, machine: &Machine) -> io::Result<()> {
    if !may_make_nodes() {
        return Ok(());
    }
    let wanted = nodes(machine);
    let caps = dev.join("nvidia-caps");
    for (folder, prefix) in [(dev, ""), (&caps, "nvidia-caps/")] {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let path = folder.join(&name);
            let is_node = path
                .symlink_metadata()
                .is_ok_and(|metadata| metadata.file_type().is_char_device());
            if is_node && name.starts_with("nvidia") && !wanted.contains_key(&format!("{prefix}{name}")) {
                fs::remove_file(&path).map_err(|e| failed("remove the node", &path, &e))?;
            }
        }
    }
    if machine.driver_loaded {
        fs::create_dir_all(&caps).map_err(|e| failed("make the folder", &caps, &e))?;
    } else if caps.exists() {
        fs::remove_dir(&caps).map_err(|e| failed("remove the folder", &caps, &e))?;
    }
    wanted
        .iter()
        .try_for_each(|(name, node)| place(&dev.join(name), *node))
}

fn nodes(machine: &Machine) -> BTreeMap<String, Node> {
    let mut nodes = BTreeMap::new();
    if !machine.driver_loaded {
        return nodes;
    }
    let (uvm, caps) = (machine.majors.uvm, machine.majors.caps);
    let mut add = |name: String, major, minor, mode| nodes.insert(name, Node { major, minor, mode });
    add("nvidiactl".to_owned(), NVIDIA_MAJOR, CONTROL_MINOR, 0o666);
    add("nvidia-uvm".to_owned(), uvm, 0, 0o666);
    add("nvidia-uvm-tools".to_owned(), uvm, 1, 0o666);
    let mut add_cap = |minor, mode| add(format!("nvidia-caps/nvidia-cap{minor}"), caps, minor, mode);
    add_cap(CONFIG_MINOR, 0o400);
    add_cap(MONITOR_MINOR, 0o444);
    for gpu in &machine.gpus {
        for (_, instance) in gpu.instances() {
            let (gi, ci) = (instance.gpu_instance, instance.compute_instance);
            add_cap(gpu_instance_minor(gpu.minor, gi), 0o444);
            add_cap(compute_instance_minor(gpu.minor, gi, ci), 0o444);
        }
    }
    for gpu in &machine.gpus {
        add(format!("nvidia{}", gpu.minor), NVIDIA_MAJOR, gpu.minor, 0o666);
    }
    nodes
}

/// Puts a node in its place in one step, with its mode whatever the umask is.
fn place(path: &Path, node: Node) -> io::Result<()> {
    let (major, minor) = (u64::from(node.major), u64::from(node.minor));
    let number = makedev(major, minor);
    let is_there = |metadata: fs::Metadata| {
        metadata.file_type().is_char_device()
            && metadata.rdev() == number
            && metadata.permissions().mode() & 0o777 == node.mode
    };
    if path.symlink_metadata().is_ok_and(is_there) {
        return Ok(());
    }
    let temporary = path.with_extension("new");
    let made = mknod(
        &temporary,
        SFlag::S_IFCHR,
        Mode::from_bits_truncate(node.mode),
        number,
    );
    made.map_err(|e| failed(&format!("make the node {major}:{minor} for"), path, &e.into()))?;
    fs::set_permissions(&temporary, Permissions::from_mode(node.mode))
        .map_err(|e| failed("open up", path, &e))?;
    fs::rename(&temporary, path).map_err(|e| failed("replace the node", path, &e))
}

fn may_make_nodes() -> bool {
    nix::unistd::geteuid().is_root()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_follow_minors_majors_and_mig() {
        let mut machine = Machine::with_gpus(2);
        machine.majors.uvm = 238;
        machine.gpus[0] = machine.gpus[0].clone().with_mig(&["1g.18gb"]);
        let nodes = nodes(&machine);
        assert_eq!(
            nodes["nvidia1"],
            Node {
                major: 195,
                minor: 1,
                mode: 0o666
            }
        );
        assert_eq!(nodes["nvidiactl"].minor, 255);
        assert_eq!(
            (nodes["nvidia-uvm-tools"].major, nodes["nvidia-uvm-tools"].minor),
            (238, 1)
        );
        // GPU instance 1 of the GPU with minor 1, and its compute instance 0.
        assert_eq!(nodes["nvidia-caps/nvidia-cap147"].mode, 0o444);
        assert_eq!(nodes["nvidia-caps/nvidia-cap148"].major, 509);
        assert_eq!(nodes.len(), 3 + 2 + 2 + 2);

        machine.driver_loaded = false;
        assert!(super::nodes(&machine).is_empty());
    }
}

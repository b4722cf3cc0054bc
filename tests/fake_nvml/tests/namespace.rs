// SPDX-License-Identifier: Apache-2.0
//! [`fake_nvml::enter`], in children of the test: they see the simulation, the machine does not change.

// The helpers outside of the test functions are tests as well.
#![allow(clippy::unwrap_used)]

use fake_nvml::{Machine, Simulation, enter};
use nix::mount::{MsFlags, mount, umount};
use std::fs;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs a shell script inside the simulation.
fn inside(folder: &Path, script: &str) -> io::Result<Command> {
    let folder = folder.to_owned();
    let mut command = Command::new("/bin/sh");
    command.args(["-e", "-c", script]);
    let entering = move || enter(&folder);
    // SAFETY: `pre_exec` asks that the closure does nothing between fork and exec that another thread's state could
    // break. It makes system calls and allocates, and glibc's allocator is whole after a fork.
    unsafe { command.pre_exec(entering) };
    Ok(command)
}

fn output(folder: &Path, script: &str) -> String {
    let output = inside(folder, script)
        .and_then(|mut command| command.output())
        .unwrap();
    assert!(
        output.status.success(),
        "{}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// What the machine's own view must still be after a test.
fn host_view() -> (Vec<PathBuf>, Vec<PathBuf>, bool) {
    let names = |folder: &str| {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        names.sort();
        names
    };
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    (
        names("/dev"),
        names("/proc/driver"),
        mounts.contains("proc-driver"),
    )
}

fn not_root() -> bool {
    let skipped = !nix::unistd::geteuid().is_root();
    if skipped {
        fake_nvml::skip("root, to make mount namespaces");
    }
    skipped
}

#[test]
#[allow(non_snake_case)]
fn ROOT_the_simulation_is_seen_inside_and_the_machine_stays_as_it_is() {
    if not_root() {
        return;
    }
    let before = host_view();
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine::with_gpus(2);
    let simulation = Simulation::lay_out(folder.path(), &machine).unwrap();
    fs::write(simulation.loader_cache(), "a cache").unwrap();
    let seen = output(
        simulation.folder(),
        "stat -c '%n %t:%T %a' /dev/nvidia0 /dev/nvidia1 /dev/nvidiactl /dev/nvidia-uvm
         ls /proc/driver/nvidia/gpus
         cat /etc/ld.so.cache; echo
         echo gone > /dev/null
         stat -f -c %T /dev/pts /dev/shm
         ls /dev",
    );
    for line in [
        "/dev/nvidia0 c3:0 666",
        "/dev/nvidia1 c3:1 666",
        "/dev/nvidiactl c3:ff 666",
        "/dev/nvidia-uvm 1ff:0 666",
        &machine.gpus[0].pci,
        &machine.gpus[1].pci,
        "a cache",
    ] {
        assert!(
            seen.lines().any(|known| known == line),
            "{line} is not in:\n{seen}"
        );
    }
    if Path::new("/dev/pts/ptmx").exists() {
        assert!(seen.lines().any(|line| line == "devpts"), "{seen}");
    }
    assert!(
        !seen.lines().any(|line| line == "console" || line == "kmsg"),
        "the machine's /dev shows:\n{seen}"
    );
    assert_eq!(host_view(), before);
}

#[test]
#[allow(non_snake_case)]
fn ROOT_who_is_inside_already_sees_updates() {
    if not_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let simulation = Simulation::lay_out(folder.path(), &Machine::with_gpus(2)).unwrap();
    let script = "read line; ls /dev | grep -c '^nvidia[0-9]'; ls /proc/driver/nvidia/gpus | wc -l";
    let mut command = inside(simulation.folder(), script).unwrap();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    simulation.update(&Machine::with_gpus(3)).unwrap();
    child.stdin.take().unwrap().write_all(b"now\n").unwrap();
    let seen = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(seen.stdout).unwrap(), "3\n3\n");
}

#[test]
#[allow(non_snake_case)]
fn ROOT_nodes_work_in_a_folder_whose_file_system_has_nodev() {
    if not_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let flags = MsFlags::MS_NODEV | MsFlags::MS_NOSUID;
    mount(
        Some("tmpfs"),
        folder.path(),
        Some("tmpfs"),
        flags,
        Some("size=64m"),
    )
    .unwrap();
    let tried = std::panic::catch_unwind(|| {
        let simulation = Simulation::lay_out(folder.path(), &Machine::with_gpus(1)).unwrap();
        let direct = fs::File::options()
            .write(true)
            .open(simulation.dev().join("null"));
        assert_eq!(
            direct.unwrap_err().kind(),
            io::ErrorKind::PermissionDenied,
            "nodev does not hold here"
        );
        output(
            simulation.folder(),
            "echo gone > /dev/null; grep ' /dev ' /proc/mounts | tail -n 1",
        )
    });
    umount(folder.path()).unwrap();
    let mounts = tried.unwrap();
    assert!(mounts.contains("nosuid") && !mounts.contains("nodev"), "{mounts}");
}

#[test]
#[allow(non_snake_case)]
fn ROOT_enter_refuses_what_cannot_work() {
    if not_root() {
        return;
    }
    let before = host_view();
    let folder = tempfile::tempdir().unwrap();
    let threads =
        std::thread::scope(|scope| scope.spawn(|| enter(folder.path())).join().unwrap()).unwrap_err();
    assert!(threads.to_string().contains("threads"), "{threads}");
    // From the child only an error number comes back, and this refusal has none.
    let empty = inside(folder.path(), "true").and_then(|mut command| command.status());
    assert!(empty.is_err());
    assert_eq!(host_view(), before);
}

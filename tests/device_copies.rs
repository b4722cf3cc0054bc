// SPDX-License-Identifier: Apache-2.0
//! The nodes that containers get: our own, usable wherever the agent's files are, and out of reach of a container's root.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mesos_gpu::domain::device::DeviceNumber;
use mesos_gpu::ports::images::NodeWant;
use mesos_gpu::system::device_copies::DeviceCopies;
use nix::errno::Errno;
use nix::mount::MsFlags;
use nix::sys::stat::{Mode, SFlag, makedev, mknod, stat, umask};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::own_mounts::{bind, in_own_mounts, mount_points, tmpfs};

const NULL: DeviceNumber = DeviceNumber { major: 1, minor: 3 };
const ZERO: DeviceNumber = DeviceNumber { major: 1, minor: 5 };
/// Set in the process that lacks what its test is about.
const LACKING: &str = "MESOS_GPU_TEST_LACKS";

/// A run directory that, like many hosts', honours no device nodes, and no friendly umask.
fn run_directory(scratch: &Path) -> PathBuf {
    umask(Mode::from_bits_truncate(0o077));
    let run = scratch.join("run");
    fs::create_dir(&run).unwrap();
    tmpfs(&run, MsFlags::MS_NODEV | MsFlags::MS_NOSUID);
    run
}

fn mounts_at(folder: &Path) -> usize {
    let folder = folder.to_str().unwrap();
    mount_points().iter().filter(|point| *point == folder).count()
}

#[test]
fn a_copy_is_roots_and_for_everybody_whatever_the_umask() {
    in_own_mounts(|scratch| {
        let run = run_directory(scratch);
        let copies = DeviceCopies::new(run.join("gpu/dev"));
        for (path, number) in [("nvidia0", NULL), ("nvidia-caps/nvidia-cap2", ZERO)] {
            let copy = copies.copy(path, number).unwrap();
            assert_eq!(copy, run.join("gpu/dev").join(path));
            let found = fs::symlink_metadata(&copy).unwrap();
            assert_eq!(found.mode(), SFlag::S_IFCHR.bits() | 0o666, "{path}");
            assert_eq!((found.uid(), found.gid()), (0, 0), "{path}");
            assert_eq!(
                found.rdev(),
                makedev(number.major.into(), number.minor.into()),
                "{path}"
            );
        }
        let folder = fs::metadata(run.join("gpu/dev")).unwrap();
        assert_eq!(folder.mode() & 0o777, 0o700, "nobody but root reaches them");
    });
}

#[test]
fn a_copy_can_be_opened_although_the_run_directory_is_nodev() {
    in_own_mounts(|scratch| {
        let run = run_directory(scratch);
        let beside = run.join("null");
        mknod(&beside, SFlag::S_IFCHR, Mode::S_IRUSR, makedev(1, 3)).unwrap();
        let refused = File::open(&beside).unwrap_err();
        assert_eq!(
            refused.kind(),
            ErrorKind::PermissionDenied,
            "the directory honours nodes"
        );

        let copy = DeviceCopies::new(run.join("dev")).copy("null", NULL).unwrap();
        File::open(copy).unwrap();
    });
}

/// What a container's root could do with the host's own node, had it been mounted.
#[test]
fn a_containers_root_opens_a_node_and_cannot_change_it() {
    in_own_mounts(|scratch| {
        let run = run_directory(scratch);
        let copy = DeviceCopies::new(run.join("dev")).copy("null", NULL).unwrap();
        let dev = scratch.join("image/dev");
        fs::create_dir_all(&dev).unwrap();
        tmpfs(&dev, MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC);
        let node = dev.join("nvidia0");
        File::create(&node).unwrap();
        bind(&copy, &node, true).unwrap();

        let mut open = OpenOptions::new().read(true).write(true).open(&node).unwrap();
        open.write_all(b"gone").unwrap();
        let changed = fs::set_permissions(&node, fs::Permissions::from_mode(0o600)).unwrap_err();
        assert_eq!(changed.raw_os_error(), Some(Errno::EROFS as i32));
        let changed = open
            .set_permissions(fs::Permissions::from_mode(0o600))
            .unwrap_err();
        assert_eq!(changed.raw_os_error(), Some(Errno::EROFS as i32), "by descriptor");
        let owned = std::os::unix::fs::chown(&node, Some(65534), Some(65534)).unwrap_err();
        assert_eq!(owned.raw_os_error(), Some(Errno::EROFS as i32));
        assert_eq!(fs::metadata(&copy).unwrap().mode(), SFlag::S_IFCHR.bits() | 0o666);
        let same = |path: &Path| stat(path).map(|found| (found.st_dev, found.st_ino)).unwrap();
        assert_ne!(same(&copy), same(Path::new("/dev/null")), "the host's own");
    });
}

#[test]
fn a_copy_stays_until_the_hosts_number_changes() {
    in_own_mounts(|scratch| {
        let run = run_directory(scratch);
        let copies = DeviceCopies::new(run.join("dev"));
        let node = copies.copy("nvidia-uvm", NULL).unwrap();
        let first = fs::metadata(&node).unwrap().ino();
        copies.copy("nvidia-uvm", NULL).unwrap();
        assert_eq!(fs::metadata(&node).unwrap().ino(), first, "made anew for nothing");

        let held = File::open(&node).unwrap();
        copies.copy("nvidia-uvm", ZERO).unwrap();
        assert_eq!(fs::metadata(&node).unwrap().rdev(), makedev(1, 5));
        assert_eq!(
            held.metadata().unwrap().rdev(),
            makedev(1, 3),
            "a container's node changed"
        );

        // Somebody else's hand, or an older agent's.
        fs::set_permissions(&node, fs::Permissions::from_mode(0o600)).unwrap();
        copies.copy("nvidia-uvm", ZERO).unwrap();
        assert_eq!(fs::metadata(&node).unwrap().mode() & 0o777, 0o666);
        fs::remove_file(&node).unwrap();
        File::create(&node).unwrap();
        copies.copy("nvidia-uvm", ZERO).unwrap();
        assert_eq!(fs::metadata(&node).unwrap().rdev(), makedev(1, 5));
        let left = fs::read_dir(run.join("dev")).unwrap().count();
        assert_eq!(left, 1, "something temporary stayed");
    });
}

#[test]
fn a_restarted_agent_uses_what_is_mounted() {
    in_own_mounts(|scratch| {
        let run = run_directory(scratch);
        let folder = run.join("dev");
        let node = DeviceCopies::new(folder.clone()).copy("nvidia0", NULL).unwrap();
        let first = fs::metadata(&node).unwrap().ino();
        for _ in 0..3 {
            DeviceCopies::new(folder.clone()).copy("nvidia0", NULL).unwrap();
        }
        assert_eq!(mounts_at(&folder), 1);
        assert_eq!(fs::metadata(&node).unwrap().ino(), first);
    });
}

#[test]
fn two_agents_of_a_host_have_copies_of_their_own() {
    in_own_mounts(|scratch| {
        let run = run_directory(scratch);
        let [one, other] = ["5051", "5052"].map(|agent| run.join(agent).join("dev"));
        let first = DeviceCopies::new(one.clone()).copy("nvidia0", NULL).unwrap();
        let second = DeviceCopies::new(other.clone()).copy("nvidia0", ZERO).unwrap();
        assert_eq!(fs::metadata(first).unwrap().rdev(), makedev(1, 3));
        assert_eq!(fs::metadata(second).unwrap().rdev(), makedev(1, 5));
        assert_eq!((mounts_at(&one), mounts_at(&other)), (1, 1));
    });
}

#[test]
fn what_cannot_hold_device_nodes_is_refused_and_not_mounted_over() {
    in_own_mounts(|scratch| {
        let run = run_directory(scratch);
        let folder = run.join("dev");
        fs::create_dir(&folder).unwrap();
        tmpfs(&folder, MsFlags::MS_NODEV);
        let error = DeviceCopies::new(folder.clone())
            .copy("nvidia0", NULL)
            .unwrap_err();
        assert!(error.contains("nodev"), "{error}");
        assert_eq!(mounts_at(&folder), 1);

        let link = run.join("link");
        std::os::unix::fs::symlink("/usr", &link).unwrap();
        let error = DeviceCopies::new(link).copy("nvidia0", NULL).unwrap_err();
        assert!(error.contains("it is a link"), "{error}");
        let error = DeviceCopies::new(PathBuf::from("run/dev"))
            .copy("nvidia0", NULL)
            .unwrap_err();
        assert!(error.contains("must be absolute"), "{error}");
    });
}

/// Mesos's launcher makes the folder, with the agent's umask.
#[test]
fn a_containers_user_reaches_its_capability_nodes_and_sees_no_others() {
    let want = |path: &str, number| NodeWant {
        path: path.to_owned(),
        number,
    };
    in_own_mounts(|scratch| {
        let run = run_directory(scratch);
        fs::set_permissions(scratch, fs::Permissions::from_mode(0o755)).unwrap();
        let copies = DeviceCopies::new(run.join("dev"));
        let (first, second) = (
            want("nvidia-caps/nvidia-cap1", NULL),
            want("nvidia-caps/nvidia-cap2", ZERO),
        );
        copies.copies(&[first.clone(), second]).unwrap();
        for _ in 0..2 {
            let made = copies.copies(&[want("nvidia0", NULL), first.clone()]).unwrap();
            let paths: Vec<_> = made.iter().map(|one| one.path.as_str()).collect();
            assert_eq!(paths, ["nvidia0", "nvidia-caps"]);
            let dev = scratch.join("dev");
            let _ = fs::create_dir(&dev);
            tmpfs(&dev, MsFlags::empty());
            fs::set_permissions(&dev, fs::Permissions::from_mode(0o755)).unwrap();
            let target = dev.join("nvidia-caps");
            fs::create_dir(&target).unwrap();
            assert_eq!(fs::metadata(&target).unwrap().mode() & 0o777, 0o700);
            bind(&made[1].copy, &target, true).unwrap();
            let names: Vec<_> = fs::read_dir(&target)
                .unwrap()
                .map(|entry| entry.unwrap().file_name())
                .collect();
            assert_eq!(names, ["nvidia-cap1"]);
            let mut user = Command::new("cat");
            let user = user.arg(target.join("nvidia-cap1")).uid(65534).gid(65534);
            assert!(user.status().unwrap().success());
            let error = fs::remove_file(target.join("nvidia-cap1")).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(Errno::EROFS as i32));
            // Left by an agent that was killed while it made a node.
            fs::write(made[1].copy.join("nvidia-cap1.new-1"), "").unwrap();
        }
    });
}

#[test]
fn a_path_out_of_the_folder_is_refused() {
    let copies = DeviceCopies::new(PathBuf::from("/nonexistent/dev"));
    for path in ["", "/dev/null", "../null", "a/../../null", "nvidia-caps/"] {
        let error = copies.copy(path, NULL).unwrap_err();
        assert!(
            error.contains(&format!("{path:?}")) && error.contains("must be relative"),
            "{error}"
        );
    }
}

#[test]
fn an_agent_that_may_not_mount_says_so() {
    says_what_is_lacking(
        "an_agent_that_may_not_mount_says_so",
        "sys_admin",
        "CAP_SYS_ADMIN",
    );
}

#[test]
fn an_agent_that_may_not_make_nodes_says_so() {
    says_what_is_lacking("an_agent_that_may_not_make_nodes_says_so", "mknod", "CAP_MKNOD");
}

/// Runs the test again in a process without the capability.
fn says_what_is_lacking(test: &str, capability: &str, named: &str) {
    if let Some(folder) = std::env::var_os(LACKING) {
        let error = DeviceCopies::new(PathBuf::from(folder))
            .copy("nvidia0", NULL)
            .unwrap_err();
        println!("refused: {error}");
        return;
    }
    if !support::is_root() {
        return;
    }
    in_own_mounts(|scratch| {
        let mut child = Command::new("setpriv");
        child.args(["--bounding-set", &format!("-{capability}")]);
        child.arg(std::env::current_exe().unwrap());
        child
            .args(["--exact", test, "--nocapture"])
            .env(LACKING, scratch.join("dev"));
        let Ok(output) = child.output() else {
            support::skip("setpriv, to run without a capability");
            return;
        };
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{said}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(said.contains("refused: ") && said.contains(named), "{said}");
        // The next agent may have it.
        DeviceCopies::new(scratch.join("dev"))
            .copy("nvidia0", NULL)
            .unwrap();
    });
}

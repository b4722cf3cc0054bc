// SPDX-License-Identifier: Apache-2.0
//! Several agents in one folder, agents that died in it, and one that is not root.

use crate::room::{Container, Room, in_room, mount_tmpfs, mounts_below};
use mesos_gpu::domain::driver_file::DriverFiles;
use mesos_gpu::system::driver_volume::DriverVolumes;
use nix::mount::{MsFlags, mount};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const NONE: Option<&str> = None;

/// What an agent that was killed leaves of a volume, up to a step of its building. Nobody holds its lock.
fn leave(room: &Room, agent: &str, steps: usize) -> PathBuf {
    let agent = room.folder().join("volumes").join(agent);
    let volume = agent.join("driver-580.1-1");
    let placeholder = volume.join("lib64/libcuda.so.580.1");
    let source = room.path("half a library");
    fs::write(&source, "half").unwrap();
    let all: [&dyn Fn(); 6] = [
        &|| fs::create_dir_all(&agent).unwrap(),
        &|| fs::create_dir(&volume).unwrap(),
        &|| mount_tmpfs(&volume, "size=1m"),
        &|| {
            fs::create_dir(volume.join("lib64")).unwrap();
            File::create(&placeholder).unwrap();
            symlink("libcuda.so.580.1", volume.join("lib64/libcuda.so.1")).unwrap();
        },
        &|| mount(Some(&source), &placeholder, NONE, MsFlags::MS_BIND, NONE).unwrap(),
        // Something that was put over all of it.
        &|| mount_tmpfs(&volume, "size=1m"),
    ];
    all.iter().take(steps).for_each(|step| step());
    volume
}

#[test]
fn ROOT_whatever_a_killed_agent_left_is_cleared_by_the_next_and_touches_no_file() {
    in_room(|room| {
        for steps in 1..=6 {
            leave(room, &format!("{steps}-0"), steps);
        }
        let source = room.path("half a library");
        // What nobody of us made stays, and is in nobody's way.
        let foreign = room.folder().join("volumes/7-0/precious");
        fs::create_dir_all(foreign.join("data")).unwrap();
        fs::write(room.folder().join("volumes/a file"), "").unwrap();
        fs::set_permissions(room.folder().join("volumes"), PermissionsExt::from_mode(0o700)).unwrap();
        let mut volumes = room.open();
        assert_eq!(mounts_below(&room.folder()), [""; 0]);
        assert_eq!(room_names(room), ["7-0", "a file"]);
        assert!(foreign.join("data").exists());
        assert_eq!(fs::read_to_string(source).unwrap(), "half");
        let volume = volumes.provide(&room.driver("580.1"), "a").unwrap();
        assert_eq!(
            fs::read_to_string(volume.join("lib64/libcuda.so.1")).unwrap(),
            "lib64 580.1"
        );
    });
}

fn room_names(room: &Room) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(room.folder().join("volumes"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn ROOT_two_agents_in_one_folder_leave_each_others_volumes_alone() {
    in_room(|room| {
        let files = room.driver("580.1");
        let mut one = room.open();
        let first = one.provide(&files, "a").unwrap();
        let mut two = room.open();
        assert_eq!(
            one.provide(&files, "b").unwrap(),
            first,
            "the second one's start did not touch it"
        );
        let second = two.provide(&files, "a").unwrap();
        assert_ne!(first, second);
        two.ended("a");
        drop(two);
        assert!(!second.exists());
        drop(room.open());
        assert_eq!(mounts_below(&first).len(), files.files.len() + 1);
        let running = Container::start(&first);
        drop(one);
        drop(room.open());
        assert!(!first.exists(), "its agent is gone");
        running.run(|nvidia| fs::read(nvidia.join("lib64/libcuda.so.1")).unwrap());
    });
}

#[test]
fn ROOT_agents_that_start_end_and_build_at_once_get_whole_volumes() {
    in_room(|room| {
        let (folder, files) = (room.folder(), room.driver("580.1"));
        let life = |folder: &Path, files: &DriverFiles| {
            for _ in 0..20 {
                let mut volumes = DriverVolumes::open(folder);
                let volume = volumes.provide(files, "a").unwrap();
                assert_eq!(mounts_below(&volume).len(), files.files.len() + 1);
                assert_eq!(
                    fs::read_to_string(volume.join("lib64/libcuda.so.1")).unwrap(),
                    "lib64 580.1"
                );
            }
        };
        // Threads here have this namespace, as agents of one host have the host's.
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| life(&folder, &files));
            }
        });
        drop(room.open());
        assert_eq!(room_names(room), [""; 0]);
    });
}

#[test]
fn ROOT_an_upgraded_driver_is_never_served_from_what_is_there_under_its_name() {
    in_room(|room| {
        // One of another version and half of one of this version, from a crash; and one that is alive.
        let mut alive = room.open();
        let theirs = alive.provide(&room.driver("550.1"), "a").unwrap();
        let half = leave(room, "1-0", 5);
        let files = room.driver("580.1");
        let volume = room.open().provide(&files, "a").unwrap();
        assert!(volume != half && volume != theirs);
        for file in &files.files[1..] {
            let shown = fs::read_to_string(volume.join(file.place.folder()).join(&file.name)).unwrap();
            assert_eq!(shown, format!("{} 580.1", file.place.folder()));
        }
        assert!(!half.exists());
        let other = fs::read_to_string(theirs.join("lib64/libcuda.so.1")).unwrap();
        assert_eq!(other, "lib64 550.1");
    });
}

#[test]
fn ROOT_a_folder_that_others_may_write_is_refused() {
    in_room(|room| {
        let all = room.folder().join("volumes");
        fs::create_dir(&all).unwrap();
        fs::set_permissions(&all, PermissionsExt::from_mode(0o777)).unwrap();
        leave(room, "1-0", 2);
        let error = room.open().provide(&room.driver("580.1"), "a").unwrap_err();
        assert!(
            error.contains("others than the agent's user may write there"),
            "{error}"
        );
        assert!(all.join("1-0").exists(), "nothing is done there");
    });
}

/// Root runs this test once more as nobody.
#[test]
fn an_agent_that_is_not_root_starts_and_only_a_volume_is_refused() {
    const NOBODY: u32 = 65534;
    if !nix::unistd::geteuid().is_root() {
        let folder = tempfile::tempdir().unwrap();
        let mut volumes = DriverVolumes::open(folder.path());
        volumes.ended("a");
        let error = volumes.provide(&DriverFiles::default(), "a").unwrap_err();
        assert!(error.contains("must run as root"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        return;
    }
    let name = "agents::an_agent_that_is_not_root_starts_and_only_a_volume_is_refused";
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", name]).uid(NOBODY).gid(NOBODY);
    match again.output() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            fake_nvml::skip("a build folder that other users may run programs from");
        }
        output => {
            let text = String::from_utf8_lossy(&output.unwrap().stdout).into_owned();
            assert!(text.contains("1 passed"), "{text}");
        }
    }
}

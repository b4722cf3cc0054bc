// SPDX-License-Identifier: Apache-2.0
//! The driver volume on the real kernel. Every test has a mount namespace of its own, so the machine is not touched.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]

#[path = "driver_volume/agents.rs"]
mod agents;
#[path = "driver_volume/room.rs"]
mod room;
#[path = "driver_volume/upgrades.rs"]
mod upgrades;

use mesos_gpu::domain::driver_file::Place;
use mesos_gpu::system::driver_volume::{DriverVolumes, MOST_FILES};
use nix::errno::Errno;
use nix::sys::statvfs::{FsFlags, statvfs};
use room::{Container, Room, in_room, listing, mount_overlay, mount_tmpfs, mounts_below};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

#[test]
fn ROOT_a_container_sees_exactly_the_files_meant_and_may_read_them() {
    in_room(|room| {
        let files = room.driver("580.1");
        fs::write(room.sources().join("shadow"), "a secret").unwrap();
        let volume = room.open().provide(&files, "a").unwrap();
        let container = Container::start(&volume);
        container.run(|nvidia| {
            let expected = [
                "bin/ 755",
                "bin/nvidia-smi 755",
                "firmware/ 755",
                "firmware/gsp.bin 644",
                "lib/ 755",
                "lib/libcuda.so -> libcuda.so.580.1",
                "lib/libcuda.so.580.1 644",
                "lib64/ 755",
                "lib64/libcuda.so -> libcuda.so.580.1",
                "lib64/libcuda.so.1 -> libcuda.so.580.1",
                "lib64/libcuda.so.580.1 644",
                "share/ 755",
                "share/vulkan/ 755",
                "share/vulkan/icd.d/ 755",
                "share/vulkan/icd.d/nvidia.json 644",
            ];
            assert_eq!(listing(nvidia), expected);
            assert_eq!(
                fs::read_to_string(nvidia.join("lib64/libcuda.so.1")).unwrap(),
                "lib64 580.1"
            );
            assert_eq!(
                fs::read_to_string(nvidia.join("lib/libcuda.so")).unwrap(),
                "lib 580.1"
            );
            assert_eq!(nvidia.metadata().unwrap().permissions().mode() & 0o7777, 0o755);
        });
    });
}

#[test]
fn ROOT_nothing_in_it_can_be_written_removed_or_made_not_even_by_root() {
    in_room(|room| {
        let before = Container::without_volume();
        let volume = room.open().provide(&room.driver("580.1"), "a").unwrap();
        let refused = |nvidia: &Path| {
            let library = nvidia.join("lib64/libcuda.so.580.1");
            let new = nvidia.join("lib64/new");
            let tried: [(&str, io::Result<()>); 8] = [
                ("write", OpenOptions::new().write(true).open(&library).map(drop)),
                (
                    "unlink a link",
                    fs::remove_file(nvidia.join("lib64/libcuda.so.1")),
                ),
                ("make a file", File::create(&new).map(drop)),
                ("make a folder", fs::create_dir(&new)),
                ("make a link", symlink("/etc", &new)),
                ("rename", fs::rename(nvidia.join("lib64"), nvidia.join("lib65"))),
                (
                    "change the mode of a file",
                    fs::set_permissions(&library, PermissionsExt::from_mode(0o777)),
                ),
                (
                    "change the mode of the whole",
                    fs::set_permissions(nvidia, PermissionsExt::from_mode(0o777)),
                ),
            ];
            for (what, result) in tried {
                let errno = result.unwrap_err().raw_os_error();
                assert_eq!(errno, Some(Errno::EROFS as i32), "{what}");
            }
            // Each file is a mount, which is looked at before what it is mounted on.
            let error = fs::remove_file(&library).unwrap_err().raw_os_error();
            assert!(matches!(
                error.map(Errno::from_raw),
                Some(Errno::EROFS | Errno::EBUSY)
            ));
            for path in [nvidia, &library] {
                let flags = statvfs(path).unwrap().flags();
                let all = FsFlags::ST_RDONLY | FsFlags::ST_NOSUID | FsFlags::ST_NODEV;
                assert!(flags.contains(all), "{}: {flags:?}", path.display());
            }
        };
        refused(&volume);
        Container::start(&volume).run(refused);
        // Its mount came while this one ran already, with what was in it then.
        before.run(move |_| {
            let error = File::create(volume.join("new")).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(Errno::EROFS as i32));
        });
    });
}

#[test]
fn ROOT_programs_run_from_it_though_the_agents_folder_and_the_drivers_are_noexec_and_nodev() {
    in_room(|room| {
        mount_tmpfs(&room.folder(), "noexec,nodev");
        mount_tmpfs(&room.sources(), "noexec,nodev");
        let files = room.driver("580.1");
        let refused = Command::new(room.sources().join("bin/nvidia-smi")).output();
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        let volume = room.open().provide(&files, "a").unwrap();
        Container::start(&volume).run(|nvidia| {
            let output = Command::new(nvidia.join("bin/nvidia-smi"))
                .arg("-L")
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), "-L\n");
        });
    });
}

#[test]
fn ROOT_a_driver_on_an_overlay_or_on_a_read_only_file_system_of_its_own_is_shown_as_well() {
    in_room(|room| {
        mount_tmpfs(&room.sources(), "nodev");
        let files = room.driver("580.1");
        nix::mount::mount(
            None::<&str>,
            &room.sources(),
            None::<&str>,
            nix::mount::MsFlags::MS_REMOUNT | nix::mount::MsFlags::MS_RDONLY,
            None::<&str>,
        )
        .unwrap();
        let mut volumes = room.open();
        let read_only = volumes.provide(&files, "a").unwrap();
        assert_eq!(
            fs::read_to_string(read_only.join("firmware/gsp.bin")).unwrap(),
            "firmware 580.1"
        );
        if let Err(why) = mount_overlay(&room.sources(), &room.path("work")) {
            return fake_nvml::skip(&format!("an overlay: {why}"));
        }
        let overlaid = volumes.provide(&files, "b").unwrap();
        assert_ne!(read_only, overlaid, "the files are others now");
        assert_eq!(
            fs::read_to_string(overlaid.join("firmware/gsp.bin")).unwrap(),
            "firmware 580.1"
        );
        assert_eq!(volumes.provide(&files, "c").unwrap(), overlaid);
    });
}

#[test]
fn ROOT_no_byte_of_the_driver_is_copied() {
    const SIZE: u64 = 100 << 20;
    in_room(|room| {
        let files = room.driver("580.1");
        let library = &files
            .files
            .iter()
            .find(|file| file.place == Place::Lib64)
            .unwrap()
            .source;
        File::options()
            .write(true)
            .open(library)
            .unwrap()
            .set_len(SIZE)
            .unwrap();
        mount_tmpfs(&room.folder(), "size=1m");
        let volume = room.open().provide(&files, "a").unwrap();
        let shown = volume.join("lib64/libcuda.so.1").metadata().unwrap();
        assert_eq!(shown.len(), SIZE);
        for filesystem in [&volume, &room.folder()] {
            let used = statvfs(filesystem).unwrap();
            let used = (used.blocks() - used.blocks_free()) * used.fragment_size();
            assert!(used < 200 << 10, "{}: {used} bytes", filesystem.display());
        }
    });
}

#[test]
fn ROOT_a_file_that_cannot_be_shown_is_named_and_nothing_stays_mounted() {
    in_room(|room| {
        let mut volumes = room.open();
        let fails = |volumes: &mut DriverVolumes, change: &dyn Fn(&Room, &Path), reason: &str| {
            let files = room.driver("580.1");
            let last = files.files.last().unwrap();
            change(room, &last.source);
            let error = volumes.provide(&files, "a").unwrap_err();
            assert!(
                error.contains(&last.source.display().to_string()) && error.contains(reason),
                "{error}"
            );
            assert_eq!(mounts_below(&room.folder()), [""; 0]);
            assert_eq!(room.volumes_left(), [""; 0]);
            let _ = fs::remove_file(&last.source).or_else(|_| fs::remove_dir(&last.source));
        };
        fails(
            &mut volumes,
            &|_, last| fs::remove_file(last).unwrap(),
            "No such file",
        );
        let make_folder = |_: &Room, last: &Path| {
            fs::remove_file(last).unwrap();
            fs::create_dir(last).unwrap();
        };
        fails(&mut volumes, &make_folder, "no regular file");
        let make_link = |room: &Room, last: &Path| {
            fs::write(room.path("secret"), "a secret").unwrap();
            fs::remove_file(last).unwrap();
            symlink(room.path("secret"), last).unwrap();
        };
        fails(&mut volumes, &make_link, "no regular file");

        let mut twice = room.driver("580.1");
        let again = twice.files[0].clone();
        twice.files.push(again);
        let error = volumes.provide(&twice, "a").unwrap_err();
        assert!(error.contains("another file has the name"), "{error}");
        let mut many = room.driver("580.1");
        many.files = vec![many.files[0].clone(); MOST_FILES + 1];
        let error = volumes.provide(&many, "a").unwrap_err();
        assert!(error.contains("more than the 512"), "{error}");
        assert_eq!(mounts_below(&room.folder()), [""; 0]);
        assert_eq!(room.volumes_left(), [""; 0]);

        let files = room.driver("580.1");
        let volume = volumes.provide(&files, "a").unwrap();
        assert_eq!(
            mounts_below(&volume).len(),
            files.files.len() + 1,
            "what failed is in nobody's way"
        );
    });
}

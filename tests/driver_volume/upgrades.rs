// SPDX-License-Identifier: Apache-2.0
//! Drivers that change under a running agent, and containers that outlive a volume.

use crate::room::{Container, in_room, listing, mounts_below};
use nix::mount::{MsFlags, mount};
use std::fs;

#[test]
fn ROOT_containers_share_one_volume_while_the_driver_is_the_same() {
    in_room(|room| {
        let mut volumes = room.open();
        assert_eq!(
            fs::read_dir(room.folder()).unwrap().count(),
            0,
            "nothing is made before it is needed"
        );
        let mut files = room.driver("580.1");
        let volume = volumes.provide(&files, "a").unwrap();
        let mounts = mounts_below(&room.folder());
        files.notes.push("another remark".to_owned());
        assert_eq!(volumes.provide(&files, "b").unwrap(), volume);
        volumes.ended("a");
        volumes.ended("b");
        volumes.ended("never fitted");
        assert_eq!(volumes.provide(&files, "c").unwrap(), volume);
        assert_eq!(
            mounts_below(&room.folder()),
            mounts,
            "the current one stays without users"
        );
    });
}

#[test]
fn ROOT_a_changed_driver_gets_a_new_volume_and_the_old_one_stays_until_its_last_user_has_ended() {
    in_room(|room| {
        let mut volumes = room.open();
        let old = room.driver("550.1");
        let first = volumes.provide(&old, "a").unwrap();
        // Two that were merely prepared: nothing is mounted from it yet.
        assert_eq!(volumes.provide(&old, "b").unwrap(), first);
        let new = room.driver("580.1");
        let second = volumes.provide(&new, "c").unwrap();
        assert_ne!(first, second);
        assert_eq!(
            fs::read_to_string(second.join("lib64/libcuda.so.1")).unwrap(),
            "lib64 580.1"
        );
        volumes.ended("a");
        let late = Container::start(&first);
        assert_eq!(
            late.run(|nvidia| fs::read_to_string(nvidia.join("lib64/libcuda.so.1")).unwrap()),
            "lib64 550.1"
        );
        volumes.ended("b");
        assert!(!first.exists() && mounts_below(&first).is_empty());
        assert_eq!(mounts_below(&second).len(), new.files.len() + 1);
        drop(volumes);
        assert_eq!(
            room.volumes_left(),
            [second.file_name().unwrap().to_str().unwrap()],
            "c may yet mount it"
        );
    });
}

#[test]
fn ROOT_the_same_version_installed_anew_gets_a_new_volume() {
    in_room(|room| {
        let mut volumes = room.open();
        let first = volumes.provide(&room.driver("580.1"), "a").unwrap();
        volumes.ended("a");
        let again = room.driver("580.1");
        let second = volumes.provide(&again, "b").unwrap();
        assert_ne!(first, second);
        assert!(!first.exists(), "nobody uses it");
        let library = &again.files[1].source;
        // Written over: the same file, and as large.
        fs::write(library, "lib64 580.2").unwrap();
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        fs::File::open(library).unwrap().set_modified(long_ago).unwrap();
        let third = volumes.provide(&again, "c").unwrap();
        assert_ne!(second, third);
        fs::remove_file(library).unwrap();
        let error = volumes.provide(&again, "d").unwrap_err();
        assert!(error.contains("libcuda.so.580.1"), "{error}");
        assert!(third.exists(), "c uses it");
    });
}

#[test]
fn ROOT_a_volume_that_somebody_unmounted_is_built_anew() {
    in_room(|room| {
        let mut volumes = room.open();
        let files = room.driver("580.1");
        let first = volumes.provide(&files, "a").unwrap();
        nix::mount::umount(&first.join("firmware/gsp.bin")).unwrap();
        let second = volumes.provide(&files, "b").unwrap();
        assert_ne!(first, second, "one file of it was gone");
        nix::mount::umount2(&second, nix::mount::MntFlags::MNT_DETACH).unwrap();
        fs::remove_dir(&second).unwrap();
        volumes.ended("a");
        fs::remove_dir(second.parent().unwrap()).unwrap();
        let third = volumes.provide(&files, "c").unwrap();
        assert_eq!(
            mounts_below(&third).len(),
            files.files.len() + 1,
            "even its folder was gone"
        );
    });
}

#[test]
fn ROOT_a_running_container_keeps_its_driver_when_the_host_takes_the_volume_down() {
    in_room(|room| {
        let files = room.driver("550.1");
        let count = files.files.len() + 1;
        let mut volumes = room.open();
        let volume = volumes.provide(&files, "a").unwrap();
        let running = Container::start(&volume);
        let other = Container::without_volume();
        let library = files.files[1].source.clone();
        let whole = listing(&volume);
        let copy = volume.clone();
        assert_eq!(
            other.run(move |_| mounts_below(&copy).len()),
            count,
            "a copy, as every namespace gets"
        );

        fs::remove_file(library).unwrap();
        volumes.provide(&room.driver("580.1"), "b").unwrap();
        volumes.ended("a");
        assert!(!volume.exists());
        running.run(move |nvidia| {
            assert_eq!(listing(nvidia), whole);
            assert_eq!(
                fs::read_to_string(nvidia.join("lib64/libcuda.so.1")).unwrap(),
                "lib64 550.1"
            );
            assert_eq!(mounts_below(nvidia).len(), count);
        });
        for container in [&running, &other] {
            let gone = volume.clone();
            let left = container.run(move |_| mounts_below(&gone));
            assert_eq!(
                left, [""; 0],
                "copies that nobody uses would hold the old driver's file system"
            );
        }
    });
}

#[test]
fn ROOT_what_the_host_mounts_later_is_not_seen_in_the_volume() {
    in_room(|room| {
        let files = room.driver("580.1");
        let mut volumes = room.open();
        let volume = volumes.provide(&files, "a").unwrap();
        let running = Container::start(&volume);
        let (library, other) = (&files.files[1].source, room.path("other"));
        fs::write(&other, "something else").unwrap();
        let none: Option<&str> = None;
        mount(Some(&other), library, none, MsFlags::MS_BIND, none).unwrap();
        assert_eq!(fs::read_to_string(library).unwrap(), "something else");
        let read = |nvidia: &std::path::Path| fs::read_to_string(nvidia.join("lib64/libcuda.so.1")).unwrap();
        assert_eq!(read(&volume), "lib64 580.1");
        assert_eq!(running.run(read), "lib64 580.1");
        let next = volumes.provide(&files, "b").unwrap();
        assert_eq!(
            read(&next),
            "something else",
            "the next container gets what is there now"
        );
    });
}

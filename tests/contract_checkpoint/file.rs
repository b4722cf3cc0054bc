// SPDX-License-Identifier: Apache-2.0
//! What only a file can suffer: crashes in the middle, other hands, other versions.

use crate::record;
use crate::room::Room;
use mesos_gpu::domain::container::ContainerId;
use mesos_gpu::domain::record::Record;
use mesos_gpu::ports::checkpoint::{Checkpoint, Loaded};
use mesos_gpu::system::checkpoint_file::{CheckpointFile, LARGEST};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Puts something at a path.
type Put<'a> = &'a dyn Fn(&Path);

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn the_folder_and_the_file_are_for_their_owner_only() {
    let room = Room::new();
    room.file().save(&record(1)).unwrap();
    assert_eq!(mode(&room.path()), 0o600);
    assert_eq!(mode(&room.folder()), 0o700);
    assert_eq!(mode(room.folder().parent().unwrap()), 0o700);

    // A leftover that others could read does not pass its mode on; a folder that was there keeps its own.
    fs::write(room.beside(".tmp"), "").unwrap();
    fs::set_permissions(room.beside(".tmp"), PermissionsExt::from_mode(0o666)).unwrap();
    fs::set_permissions(room.folder(), PermissionsExt::from_mode(0o750)).unwrap();
    room.file().save(&record(2)).unwrap();
    assert_eq!(mode(&room.path()), 0o600);
    assert_eq!(mode(&room.folder()), 0o750);
}

#[test]
fn a_half_written_file_beside_the_whole_one_counts_nothing() {
    let room = Room::new();
    room.file().save(&record(1)).unwrap();
    let whole = fs::read(room.path()).unwrap();
    fs::write(room.beside(".tmp"), &whole[..whole.len() / 2]).unwrap();
    assert_eq!(room.file().load(), Loaded::Present(record(1)));
    room.file().save(&record(2)).unwrap();
    assert_eq!(room.file().load(), Loaded::Present(record(2)));
    assert_eq!(room.names(), ["books.json", "books.json.durable"]);

    let first = Room::with_folder();
    fs::write(first.beside(".tmp"), &whole).unwrap();
    assert_eq!(first.file().load(), Loaded::Absent);
}

/// Books of which only each 64th advertises something else, so that the others wait for no disk.
fn books(number: usize) -> Record {
    Record {
        advertised: record(number / 64).advertised,
        ..record(number)
    }
}

#[test]
fn what_an_agent_leaves_beside_the_file_is_passed_over_by_the_next_and_cleared() {
    let room = Room::new();
    let file = room.file();
    file.save(&books(1)).unwrap();
    let old = fs::read(room.path()).unwrap();
    file.save(&books(2)).unwrap();
    // The old file has two names then, as the durable one is the same.
    assert_eq!(
        room.names(),
        ["books.json", "books.json.durable", "books.json.tmp"]
    );

    let next = room.file();
    assert_eq!(next.load(), Loaded::Present(books(2)));
    assert_eq!(fs::read(room.beside(".durable")).unwrap(), old);
    next.save(&books(3)).unwrap();
    assert_eq!(room.names(), ["books.json", "books.json.durable"]);
    next.save(&books(4)).unwrap();
    next.save(&books(5)).unwrap();
    assert_eq!(room.file().load(), Loaded::Present(books(5)));
    assert_eq!(
        room.names(),
        ["books.json", "books.json.durable", "books.json.tmp"],
        "two files take turns, and nothing else is left over"
    );
}

#[test]
fn two_files_take_turns_unless_somebody_touched_the_one_that_is_written_next() {
    let inode = |path: PathBuf| fs::symlink_metadata(path).unwrap().ino();
    let room = Room::new();
    let file = room.file();
    for number in 1..4 {
        file.save(&books(number)).unwrap();
    }
    let (now, next) = (inode(room.path()), inode(room.beside(".tmp")));
    file.save(&books(4)).unwrap();
    assert_eq!((inode(room.path()), inode(room.beside(".tmp"))), (next, now));
    // Of another length, shorter and longer.
    for few in [1, 64, 2] {
        let record = Record {
            held: (0..few)
                .map(|n| (ContainerId::root_of(&format!("c{n}")), Vec::new()))
                .collect(),
            ..books(5)
        };
        file.save(&record).unwrap();
        assert_eq!(room.file().load(), Loaded::Present(record));
    }

    let outside = room.beside(".other");
    let touched: [Put<'_>; 4] = [
        &|path| fs::write(path, "changed").unwrap(),
        &|path| fs::hard_link(path, &outside).unwrap(),
        &|path| fs::rename(path, &outside).unwrap(),
        &|path| {
            fs::remove_file(path).unwrap();
            symlink(&outside, path).unwrap();
        },
    ];
    for (number, touch) in touched.iter().enumerate() {
        fs::write(&outside, "").unwrap();
        fs::remove_file(&outside).unwrap();
        file.save(&books(6)).unwrap();
        touch(&room.beside(".tmp"));
        let before = fs::read(&outside).unwrap_or_default();
        file.save(&books(7 + number)).unwrap();
        assert_eq!(room.file().load(), Loaded::Present(books(7 + number)));
        assert_eq!(fs::read(&outside).unwrap_or_default(), before, "{number}");
        assert!(!room.path().is_symlink());
    }
}

const SAVE_FOR_EVER: &str = "MESOS_GPU_TEST_SAVE_FOR_EVER";

/// In the child: saves until it is killed.
#[test]
fn an_agent_killed_while_it_saves_leaves_a_whole_checkpoint() {
    if let Some(path) = std::env::var_os(SAVE_FOR_EVER) {
        let file = CheckpointFile::new(path.into());
        for number in 0.. {
            file.save(&books(number)).unwrap();
        }
    }
    let room = Room::new();
    room.file().save(&books(0)).unwrap();
    let mut last = Loaded::Present(books(0));
    let mut changes = 0;
    for round in 0..12 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "file::an_agent_killed_while_it_saves_leaves_a_whole_checkpoint",
            ])
            .env(SAVE_FOR_EVER, room.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        sleep(Duration::from_millis(60 + 7 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let found = room.file().load();
        let Loaded::Present(read) = &found else {
            panic!("round {round}: {found:?}")
        };
        let unit = &read.held[&ContainerId::root_of("a")][0];
        let number = unit.as_str().split('-').nth(1).unwrap().parse().unwrap();
        assert_eq!(*read, books(number), "no mixture of two states");
        changes += usize::from(found != last);
        last = found;
    }
    assert!(changes > 0, "no child got to save anything");
}

#[test]
fn what_cannot_be_used_says_why_and_is_moved_aside_with_its_bytes() {
    let room = Room::with_folder();
    fs::write(room.path(), r#"{"version": 9, "anything": []}"#).unwrap();
    let why = room.unusable();
    assert!(why.contains("version 9") && why.contains("version 1"), "{why}");
    room.file().save(&record(1)).unwrap();
    let aside = || fs::read_to_string(room.beside(".unusable")).unwrap();
    assert_eq!(aside(), r#"{"version": 9, "anything": []}"#);

    // The first is kept.
    fs::write(room.path(), "later").unwrap();
    assert!(room.unusable().contains("corrupt"));
    room.file().save(&record(2)).unwrap();
    assert_eq!(aside(), r#"{"version": 9, "anything": []}"#);
    assert_eq!(room.file().load(), Loaded::Present(record(2)));
    assert_eq!(
        room.names(),
        ["books.json", "books.json.durable", "books.json.unusable"]
    );
}

#[test]
fn a_save_that_fails_leaves_even_the_unusable_in_its_place() {
    let room = Room::with_folder();
    fs::write(room.path(), "ruin").unwrap();
    fs::create_dir(room.beside(".tmp")).unwrap();
    let error = room.file().save(&record(1)).unwrap_err();
    assert!(error.contains("books.json.tmp: "), "{error}");
    assert_eq!(fs::read_to_string(room.path()).unwrap(), "ruin");
}

#[test]
fn what_is_no_regular_file_is_neither_followed_nor_waited_for() {
    let outside = tempfile::NamedTempFile::new().unwrap();
    let put: [(&str, Put<'_>); 3] = [
        ("no regular file", &|path| fs::create_dir(path).unwrap()),
        ("no regular file", &|path| mkfifo(path, Mode::S_IRUSR).unwrap()),
        ("a symbolic link", &|path| symlink(outside.path(), path).unwrap()),
    ];
    for (why, put) in put {
        let room = Room::with_folder();
        put(&room.path());
        let told = room.unusable();
        assert!(told.contains(why), "{told}");
        room.file().save(&record(1)).unwrap();
        assert_eq!(room.file().load(), Loaded::Present(record(1)));
        assert_eq!(
            room.names(),
            ["books.json", "books.json.durable", "books.json.unusable"]
        );
    }
    assert_eq!(fs::read(outside.path()).unwrap(), b"");
}

#[test]
fn what_somebody_put_where_the_new_file_is_written_gets_nothing() {
    let outside = tempfile::NamedTempFile::new_in(std::env::temp_dir()).unwrap();
    fs::write(outside.path(), "precious").unwrap();
    let put: [Put<'_>; 3] = [
        &|path| symlink(outside.path(), path).unwrap(),
        &|path| fs::hard_link(outside.path(), path).unwrap(),
        &|path| mkfifo(path, Mode::S_IRUSR).unwrap(),
    ];
    for put in put {
        let room = Room::with_folder();
        put(&room.beside(".tmp"));
        put(&room.beside(".durable.tmp"));
        room.file().save(&record(1)).unwrap();
        assert_eq!(room.file().load(), Loaded::Present(record(1)));
        assert!(!room.path().is_symlink());
    }
    assert_eq!(fs::read_to_string(outside.path()).unwrap(), "precious");
}

#[test]
fn a_file_of_absurd_size_is_not_read_and_not_written() {
    let room = Room::with_folder();
    File::create(room.path())
        .unwrap()
        .set_len(LARGEST * 1000)
        .unwrap();
    assert!(room.unusable().contains("larger than"));
    fs::remove_file(room.path()).unwrap();

    let mut huge = record(1);
    huge.boot_id = "x".repeat(usize::try_from(LARGEST).unwrap());
    let error = room.file().save(&huge).unwrap_err();
    assert!(error.contains("larger than"), "{error}");
    assert_eq!(room.names(), Vec::<String>::new());
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let room = Room::new();
    fs::write(room.0.path().join("agent"), "").unwrap();
    assert!(room.unusable().contains("Not a directory"));
    let error = room.file().save(&record(1)).unwrap_err();
    let folder = format!("cannot make folder {}", room.folder().display());
    assert!(error.contains(&folder), "{error}");
}

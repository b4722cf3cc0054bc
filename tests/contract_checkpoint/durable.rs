// SPDX-License-Identifier: Apache-2.0
//! What of the file is there after the machine has stopped: a file that was not forced to the disk can be empty then, cut
//! short or an older one.

use crate::room::Room;
use crate::{BOOT, record};
use mesos_gpu::domain::record::Record;
use mesos_gpu::ports::checkpoint::{Checkpoint, Loaded};
use std::fs;
use std::os::unix::fs::MetadataExt;

/// The same books with another holder.
fn later(number: usize) -> Record {
    let mut later = record(number);
    later.held.clear();
    later
}

fn durable(room: &Room) -> u64 {
    fs::metadata(room.beside(".durable")).unwrap().ino()
}

/// A file is forced to the disk just before it gets its second name.
#[test]
fn who_holds_what_waits_for_no_disk_and_what_is_advertised_does() {
    let room = Room::new();
    let file = room.file();
    file.save(&record(1)).unwrap();
    let first = durable(&room);
    for books in [later(1), record(1), later(1)] {
        file.save(&books).unwrap();
        assert_eq!(durable(&room), first);
        assert_eq!(room.file().load(), Loaded::Present(books));
    }
    file.save(&record(2)).unwrap();
    let second = durable(&room);
    assert_ne!(second, first, "something else is advertised");
    file.save(&later(2)).unwrap();
    assert_eq!(durable(&room), second);

    // An agent that starts does not know what is on the disk.
    let next = room.file();
    next.save(&later(2)).unwrap();
    assert_ne!(durable(&room), second);

    // Nor does one that finds another file than its own.
    let third = durable(&room);
    fs::write(room.path(), "{}").unwrap();
    next.save(&later(2)).unwrap();
    assert_ne!(durable(&room), third);
    assert_eq!(fs::read_to_string(room.beside(".unusable")).unwrap(), "{}");
}

#[test]
fn a_clone_knows_what_the_other_has_saved() {
    let room = Room::new();
    let file = room.file();
    file.clone().save(&record(1)).unwrap();
    let first = durable(&room);
    file.save(&later(1)).unwrap();
    assert_eq!(durable(&room), first);
}

#[test]
fn what_was_advertised_outlives_a_machine_that_stopped_and_the_books_of_that_boot_are_ruled_out() {
    for ruin in ["", "{\"version\": 1, \"boot", "\0\0\0\0\0\0"] {
        let room = Room::new();
        let file = room.file();
        file.save(&record(1)).unwrap();
        file.save(&later(1)).unwrap();
        fs::write(room.path(), ruin).unwrap();
        // In the same boot nothing can be lost, so this is somebody's work.
        assert!(room.unusable().contains("corrupt"));

        let after = room.file_in_boot("the next boot");
        let Loaded::Present(found) = after.load() else {
            panic!("{ruin:?}: what was advertised is lost")
        };
        assert_eq!(found.advertised, record(1).advertised);
        assert_eq!(
            found.boot_id, BOOT,
            "so nobody takes its holders for present ones"
        );

        let books = Record {
            boot_id: "the next boot".to_owned(),
            ..later(1)
        };
        after.save(&books).unwrap();
        assert_eq!(fs::read_to_string(room.beside(".unusable")).unwrap(), ruin);
        assert_eq!(room.file_in_boot("the next boot").load(), Loaded::Present(books));
    }
}

/// The exchange is not forced to the disk: its names may be there without what the new file says, and without the removal.
#[test]
fn a_machine_that_stopped_in_the_middle_of_an_exchange_knows_what_was_advertised() {
    for (at_path, beside) in [
        ("", None),
        ("", Some("")),
        ("", Some("whole")),
        ("whole", Some("")),
    ] {
        let room = Room::new();
        let file = room.file();
        file.save(&record(1)).unwrap();
        let whole = fs::read_to_string(room.path()).unwrap();
        file.save(&later(1)).unwrap();
        let left = |text: &str| text.replace("whole", &whole);
        fs::write(room.path(), left(at_path)).unwrap();
        // It has the bytes of the durable one until it is written again, which makes a new one.
        fs::remove_file(room.beside(".tmp")).unwrap();
        if let Some(text) = beside {
            fs::write(room.beside(".tmp"), left(text)).unwrap();
        }
        let after = room.file_in_boot("the next boot");
        assert_eq!(after.load(), Loaded::Present(record(1)), "{at_path:?} {beside:?}");
        let books = Record {
            boot_id: "the next boot".to_owned(),
            ..later(1)
        };
        after.save(&books).unwrap();
        assert_eq!(room.file_in_boot("the next boot").load(), Loaded::Present(books));
        assert!(!room.beside(".tmp").exists());
    }
}

#[test]
fn where_boots_cannot_be_told_apart_every_save_is_durable_and_a_ruin_stays_one() {
    let room = Room::new();
    let file = room.file_in_boot("");
    let nameless = |books: Record| Record {
        boot_id: String::new(),
        ..books
    };
    file.save(&nameless(record(1))).unwrap();
    let first = durable(&room);
    file.save(&nameless(later(1))).unwrap();
    assert_ne!(durable(&room), first);
    fs::write(room.path(), "").unwrap();
    assert!(matches!(room.file_in_boot("").load(), Loaded::Unusable(_)));
    assert!(matches!(room.file_in_boot("new").load(), Loaded::Unusable(_)));
}

#[test]
fn without_a_second_name_every_save_is_forced_to_the_disk_and_succeeds() {
    let room = Room::with_folder();
    // A folder cannot be replaced by a file.
    fs::create_dir(room.beside(".durable")).unwrap();
    let file = room.file();
    for books in [record(1), later(1), record(1)] {
        file.save(&books).unwrap();
        assert_eq!(room.file().load(), Loaded::Present(books));
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The contract of `Checkpoint`, held by a real file and by the fake alike; and what only a file can suffer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "contract_checkpoint/durable.rs"]
mod durable;
#[path = "contract_checkpoint/file.rs"]
mod file;
#[path = "contract_checkpoint/room.rs"]
mod room;
mod support;

use mesos_gpu::domain::container::ContainerId;
use mesos_gpu::domain::gpu::UnitId;
use mesos_gpu::domain::record::{Advertised, Record};
use mesos_gpu::ports::checkpoint::{Checkpoint, Loaded};
use mesos_gpu::system::checkpoint_file::CheckpointFile;
use room::Room;
use std::fs;
use support::FakeCheckpoint;

/// The boot that a machine of the tests is in.
const BOOT: &str = "boot of the tests";

/// A record of this boot whose other parts all tell its number.
fn record(number: usize) -> Record {
    let unit = |part: usize| UnitId::new(&format!("GPU-{number}-{part}"));
    let container = |path: &[&str]| ContainerId::from_path(path.iter().map(|v| (*v).to_owned()).collect());
    Record {
        boot_id: BOOT.to_owned(),
        advertised: Some(Advertised {
            selection: "model=\"H200\" & \u{1f600}\n".to_owned(),
            units: vec![unit(3), unit(1), unit(2)],
        }),
        held: [
            (container(&["a"]).unwrap(), vec![unit(2), unit(1)]),
            (container(&["a", "b.c", "d"]).unwrap(), vec![unit(1)]),
            (container(&["a.b"]).unwrap(), vec![]),
        ]
        .into(),
        guests: [(container(&["g"]).unwrap(), vec![unit(1), unit(3)])].into(),
    }
}

/// What every side promises. `again` is what an agent that starts anew has; `ruin` makes what was written unusable;
/// `break_saving` makes a save fail until it is called with false.
fn contract(
    checkpoint: &dyn Checkpoint,
    again: &dyn Fn() -> Box<dyn Checkpoint>,
    ruin: &dyn Fn(),
    break_saving: &dyn Fn(bool),
) {
    assert_eq!(checkpoint.load(), Loaded::Absent);
    assert!(!checkpoint.boot_id().is_empty());
    assert_eq!(checkpoint.boot_id(), again().boot_id());

    for written in [Record::default(), record(1), record(2)] {
        checkpoint.save(&written).unwrap();
        assert_eq!(checkpoint.load(), Loaded::Present(written.clone()));
        assert_eq!(again().load(), Loaded::Present(written));
    }

    break_saving(true);
    let error = checkpoint.save(&record(3)).unwrap_err();
    assert!(error.starts_with("cannot save checkpoint"), "{error}");
    assert_eq!(again().load(), Loaded::Present(record(2)), "what was there stays");
    break_saving(false);
    checkpoint.save(&record(3)).unwrap();

    ruin();
    for _ in 0..2 {
        let Loaded::Unusable(why) = again().load() else {
            panic!("a ruin was read")
        };
        assert!(why.starts_with("cannot use checkpoint"), "{why}");
    }
    checkpoint.save(&record(4)).unwrap();
    assert_eq!(again().load(), Loaded::Present(record(4)));
}

#[test]
fn the_fake_holds_the_contract() {
    let fake = FakeCheckpoint::new();
    contract(
        &fake,
        &|| Box::new(fake.clone()),
        &|| fake.ruin("cut short"),
        &|broken| {
            if broken {
                fake.fail_saving("no space")
            } else {
                fake.heal()
            }
        },
    );
    assert_eq!(fake.saves().len(), 5);
    assert_eq!(fake.aside().as_deref(), Some("cannot use checkpoint: cut short"));
}

#[test]
fn the_real_file_holds_the_contract() {
    let room = Room::new();
    contract(
        &room.file(),
        &|| Box::new(room.file()),
        &|| fs::write(room.path(), "{").unwrap(),
        // A folder where the new file is to be written cannot be taken away as a leftover.
        &|broken| {
            if broken {
                fs::create_dir(room.beside(".tmp")).unwrap();
            } else {
                fs::remove_dir(room.beside(".tmp")).unwrap();
            }
        },
    );
    assert_eq!(
        room.names(),
        ["books.json", "books.json.durable", "books.json.unusable"]
    );
}

#[test]
fn the_boot_is_the_kernels_and_empty_where_it_cannot_be_read() {
    let room = Room::new();
    let kernels = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert_eq!(CheckpointFile::new(room.path()).boot_id(), kernels.trim());
    let other = room.0.path().join("boot_id");
    let file = room.file().with_boot_id_at(other.clone());
    assert_eq!(file.boot_id(), "");
    fs::write(other, "boot-2\n").unwrap();
    assert_eq!(file.boot_id(), "boot-2");
}

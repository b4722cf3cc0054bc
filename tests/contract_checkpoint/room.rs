// SPDX-License-Identifier: Apache-2.0
//! Where the tests keep a real checkpoint file.

use super::BOOT;
use mesos_gpu::ports::checkpoint::{Checkpoint, Loaded};
use mesos_gpu::system::checkpoint_file::CheckpointFile;
use std::fs;
use std::path::PathBuf;

/// A folder that has the checkpoint's folder in it, which does not exist yet.
pub struct Room(pub tempfile::TempDir);

impl Room {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> PathBuf {
        self.0.path().join("agent/mesos-gpu/books.json")
    }

    pub fn folder(&self) -> PathBuf {
        self.0.path().join("agent/mesos-gpu")
    }

    pub fn beside(&self, end: &str) -> PathBuf {
        self.folder().join(format!("books.json{end}"))
    }

    /// As an agent that starts has it, in the boot of the tests.
    pub fn file(&self) -> CheckpointFile {
        self.file_in_boot(BOOT)
    }

    pub fn file_in_boot(&self, id: &str) -> CheckpointFile {
        let path = self.0.path().join(format!("boot id {id}"));
        fs::write(&path, id).unwrap();
        CheckpointFile::new(self.path()).with_boot_id_at(path)
    }

    /// A room whose folder is there.
    pub fn with_folder() -> Self {
        let room = Self::new();
        fs::create_dir_all(room.folder()).unwrap();
        room
    }

    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.folder())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Why what is there cannot be used; the path is in it.
    pub fn unusable(&self) -> String {
        let Loaded::Unusable(why) = self.file().load() else {
            panic!("it was used")
        };
        assert!(why.contains(self.path().to_str().unwrap()), "{why}");
        why
    }
}

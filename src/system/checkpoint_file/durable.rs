// SPDX-License-Identifier: Apache-2.0
//! What of a checkpoint must outlive the machine, and how it does without a wait for the disk at each launch.

use super::CheckpointFile;
use crate::domain::record::{Advertised, Record};
use crate::ports::checkpoint::Checkpoint;
use crate::system::file_state::FileState;
use crate::system::replaced_file::remove;
use std::fs;
use std::path::Path;

/// The end of the second name of the file that was forced to the disk last.
const END: &str = ".durable";

/// What was saved last.
#[derive(Debug)]
pub(super) struct Saved {
    /// The file, to know it again.
    pub state: FileState,
    /// The one before, where it was left beside it to be written over.
    pub spare: Option<FileState>,
    /// Whether a file with the same of these two is on the disk, and has a second name.
    durable: bool,
    boot_id: String,
    advertised: Option<Advertised>,
}

impl Saved {
    pub fn new(state: FileState, spare: Option<FileState>, record: &Record, durable: bool) -> Self {
        Self {
            state,
            spare,
            durable,
            boot_id: record.boot_id.clone(),
            advertised: record.advertised.clone(),
        }
    }

    /// Whether what stands at the path is that file: nobody has put another there.
    pub fn is_at(&self, path: &Path) -> bool {
        self.state.is_at(path)
    }

    /// Whether what is on the disk says all of the record that counts in another boot. Where boots cannot be told apart,
    /// everything counts.
    pub fn is_durable_for(&self, record: &Record) -> bool {
        self.durable
            && !record.boot_id.is_empty()
            && (&self.boot_id, &self.advertised) == (&record.boot_id, &record.advertised)
    }
}

impl CheckpointFile {
    /// Gives a file that is on the disk its second name; without that, each file has to be forced to the disk.
    pub(super) fn keep_durable(&self, written: &Path) -> bool {
        let (new, kept) = (self.beside(".durable.tmp"), self.beside(END));
        let linked = remove(&new)
            .and_then(|()| fs::hard_link(written, &new))
            .and_then(|()| fs::rename(&new, &kept));
        if let Err(error) = &linked {
            log::warn!(
                "each checkpoint is forced to the disk, since {} cannot be made: {error}",
                kept.display()
            );
        }
        linked.is_ok()
    }

    /// What was on the disk when the machine stopped; none if it is of this boot, in which nothing of what was written after
    /// it can have been lost.
    pub(super) fn durable(&self) -> Option<Record> {
        let record = Self::read(&self.beside(END)).ok().flatten()?;
        let now = self.boot_id();
        let other_boot = !record.boot_id.is_empty() && !now.is_empty() && record.boot_id != now;
        other_boot.then_some(record)
    }
}

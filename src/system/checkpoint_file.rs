// SPDX-License-Identifier: Apache-2.0
//! The checkpoint as one file: what the agent's books were is known after a crash, and is whole or not there.
//!
//! A new state is written beside the old one and then put in its place: whatever kills the agent, the next one finds the
//! old or the new state, whole. The other is left beside it, where nobody reads it; the next state is written over it, so that
//! two files take turns, unless somebody touched it meanwhile.
//! What stands at the path and cannot be read is evidence, so it is moved aside and never overwritten. The path may hold
//! anything, and nothing that stands there makes the agent wait.
//!
//! A machine that stops is another matter, as what is not forced to the disk may be lost or cut short then. But who held
//! what is worth nothing in the next boot; only what was advertised is. So a launch waits for no disk: the file is forced to
//! it when that part is new, and is then given a second name, under which it is found when what replaced it is ruined.

mod durable;
mod files;
mod format;

use crate::domain::record::Record;
use crate::ports::checkpoint::{Checkpoint, Loaded};
use crate::system::file_state::FileState;
use crate::system::replaced_file::exchange_or_rename;
use durable::Saved;
use files::folder_of;
use nix::libc::{ELOOP, O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The largest file that is read or written; thousands of containers fit.
pub const LARGEST: u64 = 16 << 20;

/// Where the kernel tells which boot this is.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// One checkpoint file.
#[derive(Debug, Clone)]
pub struct CheckpointFile {
    path: PathBuf,
    boot_id: PathBuf,
    /// What was read there; one process sees one boot.
    boot: Arc<OnceLock<String>>,
    /// What was saved last; clones are of one file.
    saved: Arc<Mutex<Option<Saved>>>,
}

impl CheckpointFile {
    /// The file at `path`, which need not exist; nor need its folder.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            boot_id: PathBuf::from(BOOT_ID),
            boot: Arc::default(),
            saved: Arc::default(),
        }
    }

    /// The same with another source of the boot's id, for tests.
    pub fn with_boot_id_at(self, boot_id: PathBuf) -> Self {
        Self { boot_id, ..self }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn beside(&self, end: &str) -> PathBuf {
        let mut name = OsString::from(self.path.as_os_str());
        name.push(end);
        PathBuf::from(name)
    }

    /// The folder the file is in.
    fn folder(&self) -> &Path {
        folder_of(&self.path)
    }

    /// What a file says; none where there is no file.
    fn read(path: &Path) -> Result<Option<Record>, String> {
        let mut options = OpenOptions::new();
        // O_NONBLOCK: a named pipe without a writer would hold the agent for ever.
        options
            .read(true)
            .custom_flags(O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        let file = match options.open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) if error.raw_os_error() == Some(ELOOP) => {
                return Err("it is a symbolic link".to_owned());
            }
            Err(error) => return Err(error.to_string()),
        };
        let metadata = file.metadata().map_err(|error| error.to_string())?;
        if !metadata.is_file() {
            return Err("it is no regular file".to_owned());
        }
        let mut text = Vec::new();
        file.take(LARGEST + 1)
            .read_to_end(&mut text)
            .map_err(|error| error.to_string())?;
        if too_large(&text) {
            return Err(format!("it is larger than {LARGEST} bytes"));
        }
        format::decode(&text).map(Some)
    }

    /// Moves aside what is there, if it cannot be used. The first that was moved is kept: it is the nearest to what went
    /// wrong.
    fn spare_the_unusable(&self) -> Result<(), String> {
        let Err(why) = Self::read(&self.path) else {
            return Ok(());
        };
        let why = self.unusable(&why);
        let aside = self.beside(".unusable");
        if aside.symlink_metadata().is_ok() {
            log::warn!(
                "{why}; it is replaced, since {} is there already",
                aside.display()
            );
            return Ok(());
        }
        fs::rename(&self.path, &aside)
            .map_err(|error| format!("{why}, and cannot move it to {}: {error}", aside.display()))?;
        log::warn!("{why}; it is now {}", aside.display());
        Ok(())
    }

    fn unusable(&self, why: &str) -> String {
        format!("cannot use checkpoint {}: {why}", self.path.display())
    }
}

impl Checkpoint for CheckpointFile {
    fn load(&self) -> Loaded {
        match Self::read(&self.path) {
            Ok(None) => Loaded::Absent,
            Ok(Some(record)) => Loaded::Present(record),
            Err(why) => {
                let why = self.unusable(&why);
                match self.durable() {
                    Some(record) => {
                        log::warn!(
                            "{why}; the machine was started anew since, and what was advertised is known"
                        );
                        Loaded::Present(record)
                    }
                    None => Loaded::Unusable(why),
                }
            }
        }
    }

    fn save(&self, record: &Record) -> Result<(), String> {
        let failed = |step: &str, path: &Path, why: &dyn std::fmt::Display| {
            format!(
                "cannot save checkpoint {}: cannot {step} {}: {why}",
                self.path.display(),
                path.display()
            )
        };
        let text = format::encode(record).map_err(|why| failed("write", &self.path, &why))?;
        if too_large(&text) {
            let why = format!("it would be larger than {LARGEST} bytes");
            return Err(failed("write", &self.path, &why));
        }
        // Whoever panicked in here left files, which are looked at again.
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        let last = saved.take();
        let written = self.beside(".tmp");
        let is_ours = last.as_ref().is_some_and(|last| last.is_at(&self.path));
        if !is_ours {
            files::make_folder(self.folder()).map_err(|why| failed("make folder", self.folder(), &why))?;
        }
        let spare = last.as_ref().and_then(|last| last.spare.as_ref());
        let file = files::write(&written, spare, &text).map_err(|why| failed("write", &written, &why))?;
        let last = last.filter(|_| is_ours);
        let durable = last.as_ref().is_some_and(|last| last.is_durable_for(record));
        if !durable {
            file.sync_all()
                .map_err(|why| failed("force to the disk", &written, &why))?;
        }
        let state = file.metadata().map(|found| FileState::of(&found));
        let state = state.map_err(|why| failed("look at", &written, &why))?;
        if !is_ours {
            self.spare_the_unusable()
                .map_err(|why| failed("replace", &self.path, &why))?;
        }
        let kept = durable || self.keep_durable(&written);
        // What is on the disk already, and what may stand over anything, is renamed in one step.
        let left = match durable {
            true => exchange_or_rename(&written, &self.path),
            false => fs::rename(&written, &self.path).map(|()| false),
        };
        let left = left.map_err(|why| failed("rename", &written, &why))?;
        if !durable {
            File::open(self.folder())
                .and_then(|folder| folder.sync_all())
                .map_err(|why| failed("force to the disk folder", self.folder(), &why))?;
        }
        let spare = last.filter(|_| left).map(|last| last.state);
        *saved = Some(Saved::new(state, spare, record, kept));
        Ok(())
    }

    /// Empty where it cannot be read; that is the id of no boot.
    fn boot_id(&self) -> String {
        if let Some(known) = self.boot.get() {
            return known.clone();
        }
        match fs::read_to_string(&self.boot_id) {
            Ok(id) => self.boot.get_or_init(|| id.trim().to_owned()).clone(),
            Err(error) => {
                log::warn!(
                    "cannot tell which boot this is from {}: {error}",
                    self.boot_id.display()
                );
                String::new()
            }
        }
    }
}

fn too_large(text: &[u8]) -> bool {
    u64::try_from(text.len()).is_ok_and(|length| length > LARGEST)
}

// SPDX-License-Identifier: Apache-2.0
//! The checkpoint as one file: what the agent's books were is known after a crash, and is whole or not there.
//!
//! A new state is written beside the old one, forced to the disk and then renamed over it. What stands at the path and
//! cannot be read is evidence, so it is moved aside and never overwritten. The path may hold anything, and nothing that
//! stands there makes the agent wait.

mod format;

use crate::domain::record::Record;
use crate::ports::checkpoint::{Checkpoint, Loaded};
use nix::libc::{ELOOP, O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The largest file that is read or written; thousands of containers fit.
pub const LARGEST: u64 = 16 << 20;

/// Where the kernel tells which boot this is.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// One checkpoint file.
#[derive(Debug, Clone)]
pub struct CheckpointFile {
    path: PathBuf,
    boot_id: PathBuf,
}

impl CheckpointFile {
    /// The file at `path`, which need not exist; nor need its folder.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            boot_id: PathBuf::from(BOOT_ID),
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

    /// What the file says; none where there is no file.
    fn read(&self) -> Result<Option<Record>, String> {
        let mut options = OpenOptions::new();
        // O_NONBLOCK: a named pipe without a writer would hold the agent for ever.
        options
            .read(true)
            .custom_flags(O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        let file = match options.open(&self.path) {
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

    /// Makes the folder, for root's eyes only, and lasting as the file itself.
    fn make_folder(&self) -> io::Result<()> {
        let folder = self.folder();
        let missing: Vec<&Path> = folder
            .ancestors()
            .take_while(|above| !above.as_os_str().is_empty() && !above.exists())
            .collect();
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        missing
            .iter()
            .try_for_each(|made| File::open(folder_of(made))?.sync_all())
    }

    /// Writes a file that must be new: what a crash left there is taken away first, and a link, a pipe or another name of
    /// a file that somebody put there gets nothing.
    fn write_new(path: &Path, text: &[u8]) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(O_NOFOLLOW | O_CLOEXEC);
        let mut file = options.open(path)?;
        file.write_all(text)?;
        file.sync_all()
    }

    /// Moves aside what is there, if it cannot be used. The first that was moved is kept: it is the nearest to what went
    /// wrong.
    fn spare_the_unusable(&self) -> Result<(), String> {
        let Loaded::Unusable(why) = self.load() else {
            return Ok(());
        };
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
}

impl Checkpoint for CheckpointFile {
    fn load(&self) -> Loaded {
        match self.read() {
            Ok(None) => Loaded::Absent,
            Ok(Some(record)) => Loaded::Present(record),
            Err(why) => Loaded::Unusable(format!("cannot use checkpoint {}: {why}", self.path.display())),
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
        let written = self.beside(".tmp");
        self.make_folder()
            .map_err(|why| failed("make folder", self.folder(), &why))?;
        Self::write_new(&written, &text).map_err(|why| failed("write", &written, &why))?;
        self.spare_the_unusable()
            .map_err(|why| failed("replace", &self.path, &why))?;
        fs::rename(&written, &self.path).map_err(|why| failed("rename", &written, &why))?;
        File::open(self.folder())
            .and_then(|folder| folder.sync_all())
            .map_err(|why| failed("force to the disk folder", self.folder(), &why))
    }

    /// Empty where it cannot be read; that is the id of no boot.
    fn boot_id(&self) -> String {
        match fs::read_to_string(&self.boot_id) {
            Ok(id) => id.trim().to_owned(),
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

/// The folder that a path is in; for a bare name the current one.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) => Path::new("."),
        None => path,
    }
}

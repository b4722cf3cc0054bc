// SPDX-License-Identifier: Apache-2.0
//! The steps on the disk that a checkpoint is saved with. Nothing that somebody put in their way is written to.

use crate::system::file_state::FileState;
use crate::system::replaced_file::remove;
use nix::libc::{O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Makes a folder, for root's eyes only, and lasting as the file in it.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = folder
        .ancestors()
        .take_while(|above| !above.as_os_str().is_empty() && !above.exists())
        .collect();
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    missing
        .iter()
        .try_for_each(|made| File::open(folder_of(made))?.sync_all())
}

/// Writes a file over the one that was left here, and a new one where that is not there any more.
pub(super) fn write(path: &Path, left: Option<&FileState>, text: &[u8]) -> io::Result<File> {
    let over = left.map_or(Ok(None), |left| write_over(path, left, text))?;
    over.map_or_else(|| write_new(path, text), Ok)
}

/// Writes a file that must be new: what a crash left there is taken away first, and a link, a pipe or another name of a
/// file that somebody put there gets nothing.
fn write_new(path: &Path, text: &[u8]) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(O_NOFOLLOW | O_CLOEXEC);
    let mut file = match options.open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            remove(path)?;
            options.open(path)?
        }
        opened => opened?,
    };
    file.write_all(text)?;
    Ok(file)
}

/// Writes over a file that was left here, so that none has to be made, which is most of what a save takes: ext4 looks for a
/// number that was not in use for some seconds. None where something else is there by now, or the file has another name.
fn write_over(path: &Path, left: &FileState, text: &[u8]) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .custom_flags(O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    let Ok(mut file) = options.open(path) else {
        return Ok(None);
    };
    let found = file.metadata()?;
    if found.nlink() != 1 || FileState::of_file(&found).as_ref() != Some(left) {
        return Ok(None);
    }
    file.write_all(text)?;
    // Never cut to nothing: ext4 writes such a file out when it is closed.
    let length = text.len() as u64;
    if found.len() > length {
        file.set_len(length)?;
    }
    Ok(Some(file))
}

/// The folder that a path is in; for a bare name the current one.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) => Path::new("."),
        None => path,
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Replacing a file as a whole, so that whoever reads it gets all of the old one or all of the new one.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Puts a text into the place of the file at `path`.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let unfinished = unfinished(path);
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // Made anew, so that nobody's link is followed.
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&unfinished)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&unfinished, path)
}

/// Where it is written at first. Collectors read files that end in .prom or are a number, so this one must not.
fn unfinished(path: &Path) -> PathBuf {
    let mut unfinished = OsString::from(path.as_os_str());
    unfinished.push(UNFINISHED);
    unfinished.into()
}

/// How the name of an unfinished file ends.
pub(super) const UNFINISHED: &str = ".tmp";

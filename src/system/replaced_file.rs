// SPDX-License-Identifier: Apache-2.0
//! Replacing a file as a whole, so that whoever reads it gets all of the old one or all of the new one.

use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Puts a text into the place of the file at `path`.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let unfinished = unfinished(path);
    remove(&unfinished)?;
    // Made anew, so that nobody's link is followed.
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&unfinished)?;
    file.write_all(text.as_bytes())?;
    put_in_place(&unfinished, path)
}

/// Puts a file in the place of another, which goes. Whatever ends this process, one of the two is there, whole. What is no
/// file keeps its place, as with a rename.
///
/// The two change places first: of a file that is renamed over another, ext4 begins to write what it holds to the disk, which
/// takes longer than all the rest together and now and then waits for others' writing. So this is for a file that may be lost
/// with the machine. File systems that cannot exchange rename.
fn put_in_place(new: &Path, old: &Path) -> io::Result<()> {
    put_by(exchange, new, old)
}

fn put_by(exchange: impl Fn(&Path, &Path) -> io::Result<()>, new: &Path, old: &Path) -> io::Result<()> {
    if !exchange_by(&exchange, new, old)? {
        return Ok(());
    }
    remove(new).inspect_err(|_| {
        if let Err(error) = exchange(new, old) {
            log::warn!("cannot put {} back to {}: {error}", new.display(), old.display());
        }
    })
}

/// The same, and the other is left where the new one was, if it could be: whether it was.
pub(super) fn exchange_or_rename(new: &Path, old: &Path) -> io::Result<bool> {
    exchange_by(exchange, new, old)
}

fn exchange_by(
    exchange: impl Fn(&Path, &Path) -> io::Result<()>,
    new: &Path,
    old: &Path,
) -> io::Result<bool> {
    match exchange(new, old) {
        Ok(()) => Ok(true),
        Err(_) => fs::rename(new, old).map(|()| false),
    }
}

fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

/// Takes a file away that may not be there.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Where it is written at first. Collectors read files that end in .prom or are a number, so this one must not.
fn unfinished(path: &Path) -> PathBuf {
    let mut unfinished = OsString::from(path.as_os_str());
    unfinished.push(UNFINISHED);
    unfinished.into()
}

/// How the name of an unfinished file ends.
pub(super) const UNFINISHED: &str = ".tmp";

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A folder with the new and the old file.
    fn two() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let room = tempfile::tempdir().unwrap();
        let (new, old) = (room.path().join("new"), room.path().join("old"));
        fs::write(&new, "new").unwrap();
        fs::write(&old, "old").unwrap();
        (room, new, old)
    }

    #[test]
    fn a_file_is_in_the_place_of_the_other_whether_or_not_the_two_can_be_exchanged() {
        let (_room, new, old) = two();
        put_in_place(&new, &old).unwrap();
        assert_eq!(fs::read(&old).unwrap(), b"new");
        assert!(!new.exists());

        for error in [
            ErrorKind::InvalidInput,
            ErrorKind::Unsupported,
            ErrorKind::PermissionDenied,
        ] {
            let (_room, new, old) = two();
            let asked = Cell::new(0);
            let cannot = |_: &Path, _: &Path| {
                asked.set(asked.get() + 1);
                Err(error.into())
            };
            put_by(cannot, &new, &old).unwrap();
            assert_eq!(asked.get(), 1);
            assert_eq!(fs::read(&old).unwrap(), b"new");
            assert!(!new.exists());
        }
    }

    #[test]
    fn the_place_may_be_empty_by_now() {
        let (_room, new, old) = two();
        fs::remove_file(&old).unwrap();
        put_in_place(&new, &old).unwrap();
        assert_eq!(fs::read(&old).unwrap(), b"new");
    }

    #[test]
    fn what_is_no_file_keeps_its_place_and_the_error_is_told() {
        let (_room, new, old) = two();
        fs::remove_file(&old).unwrap();
        fs::create_dir(&old).unwrap();
        put_in_place(&new, &old).unwrap_err();
        assert!(old.is_dir());
        assert_eq!(fs::read(&new).unwrap(), b"new");
    }

    #[test]
    fn a_second_name_of_the_old_file_keeps_what_it_says() {
        let (room, new, old) = two();
        let second = room.path().join("second");
        fs::hard_link(&old, &second).unwrap();
        put_in_place(&new, &old).unwrap();
        assert_eq!(fs::read(&second).unwrap(), b"old");
        assert_eq!(fs::read(&old).unwrap(), b"new");
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Mesos 1.11's built-in `gpu/nvidia` reads the loader's cache with a parser of its own, which knows only the layout of
//! old C libraries: an old header, the new table inside it, and nothing after the strings. A present `ldconfig` writes an
//! extension after them, at which that parser gives up and the agent does not start.

use crate::machine_file::{failed, replace};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes to `destination` a cache of this machine's libraries that Mesos 1.11 can read, to be put over
/// `/etc/ld.so.cache` in a private mount namespace. The machine's own cache stays as it is.
///
/// # Errors
/// `ldconfig` is missing or fails, or writes a layout that is not known here.
pub fn trimmed_loader_cache(destination: &Path) -> io::Result<()> {
    trimmed_loader_cache_with(destination, &[])
}

/// The same with the libraries of more folders, for example those of [`crate::DriverFiles`].
///
/// # Errors
/// As [`trimmed_loader_cache`].
pub fn trimmed_loader_cache_with(destination: &Path, folders: &[PathBuf]) -> io::Result<()> {
    let mut raw = destination.as_os_str().to_owned();
    raw.push(".whole");
    let raw = Path::new(&raw);
    let written =
        run_ldconfig(raw, folders).and_then(|()| fs::read(raw).map_err(|e| failed("read", raw, &e)));
    let removed = fs::remove_file(raw);
    let whole = written?;
    removed.map_err(|e| failed("remove", raw, &e))?;
    let trimmed = trim(&whole).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "ldconfig -c compat wrote a cache of a layout that is not known",
        )
    })?;
    replace(destination, &trimmed)
}

fn run_ldconfig(cache: &Path, folders: &[PathBuf]) -> io::Result<()> {
    // Not on the path of ordinary users.
    let program = ["/sbin/ldconfig", "/usr/sbin/ldconfig"]
        .into_iter()
        .find(|file| Path::new(file).exists());
    let mut command = Command::new(program.unwrap_or("ldconfig"));
    command
        .args(["-X", "-c", "compat", "-C"])
        .arg(cache)
        .args(folders);
    let output = command
        .output()
        .map_err(|e| failed("run ldconfig for", cache, &e))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(io::Error::other(format!(
        "ldconfig failed with {}: {}",
        output.status,
        said.trim()
    )))
}

/// The cache up to the end of its strings, with no word of an extension; none when the layout is another.
fn trim(whole: &[u8]) -> Option<Vec<u8>> {
    const OLD_HEADER: usize = 16;
    const OLD_ENTRY: usize = 12;
    const NEW_HEADER: usize = 48;
    const NEW_ENTRY: usize = 24;
    let number = |at: usize| {
        let bytes = whole.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_ne_bytes(bytes)).ok()
    };
    if !whole.starts_with(b"ld.so-1.7.0") {
        return None;
    }
    let new = (OLD_HEADER + OLD_ENTRY * number(12)?).next_multiple_of(8);
    if !whole.get(new..)?.starts_with(b"glibc-ld.so.cache1.1") {
        return None;
    }
    let (entries, strings) = (number(new + 20)?, number(new + 24)?);
    let mut trimmed = whole
        .get(..new + NEW_HEADER + NEW_ENTRY * entries + strings)?
        .to_vec();
    // Flags, the extension's offset, and three unused words: zero before there were extensions.
    trimmed.get_mut(new + 28..new + NEW_HEADER)?.fill(0);
    Some(trimmed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache with one entry in each table, `strings`, and something after them.
    fn cache(strings: &[u8]) -> Vec<u8> {
        let length = u32::try_from(strings.len()).unwrap();
        let mut bytes = b"ld.so-1.7.0\0".to_vec();
        bytes.extend(1u32.to_ne_bytes());
        bytes.extend([1; 12]);
        bytes.extend([0; 4]);
        bytes.extend(b"glibc-ld.so.cache1.1");
        bytes.extend(1u32.to_ne_bytes());
        bytes.extend(length.to_ne_bytes());
        bytes.extend([9; 20]);
        bytes.extend([2; 24]);
        bytes.extend(strings);
        bytes.extend(b"extension");
        bytes
    }

    #[test]
    fn the_extension_and_every_word_of_it_go() {
        let whole = cache(b"libc.so.6\0/lib/libc.so.6\0");
        let trimmed = trim(&whole).unwrap();
        assert_eq!(trimmed.len(), whole.len() - b"extension".len());
        assert!(trimmed.ends_with(b"/lib/libc.so.6\0"));
        assert!(!trimmed.contains(&9));
    }

    #[test]
    fn another_layout_is_none() {
        assert_eq!(trim(b""), None);
        assert_eq!(trim(b"glibc-ld.so.cache1.1"), None);
        let whole = cache(b"libc.so.6\0");
        assert_eq!(trim(&whole[..40]), None);
        assert_eq!(trim(&whole[..whole.len() - 12]), None, "strings cut short");
    }

    #[test]
    fn this_machines_cache_ends_with_its_strings() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ld.so.cache");
        if !["/sbin/ldconfig", "/usr/sbin/ldconfig"]
            .iter()
            .any(|file| Path::new(file).exists())
        {
            crate::skip("ldconfig");
            return;
        }
        trimmed_loader_cache(&file).unwrap();
        let bytes = fs::read(&file).unwrap();
        assert_eq!(trim(&bytes).as_deref(), Some(&bytes[..]));
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "the whole cache stayed"
        );
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Where the built shared library is, and how it becomes a `libnvidia-ml.so.1` of some driver: older ones lack functions,
//! and a program that loads them must notice.

use crate::machine_file::{failed, replace};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The name that programs load.
pub(crate) const LIBRARY_NAME: &str = "libnvidia-ml.so.1";
const BUILT_NAME: &str = "libfake_nvml.so";

/// The library as cargo built it for the running program, a test or a binary of a crate that depends on this one.
///
/// # Errors
/// It is in none of the folders that cargo uses.
pub fn built_library() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let own = program.parent().unwrap_or(Path::new("/"));
    let above = own.parent().unwrap_or(own);
    let folders = [
        own.to_owned(),
        own.join("deps"),
        above.join("deps"),
        above.to_owned(),
    ];
    // The newest, as cargo refreshes the copy in the outer folder only when asked for this very crate.
    let found = folders
        .iter()
        .map(|folder| folder.join(BUILT_NAME))
        .filter_map(|file| {
            let modified = fs::metadata(&file)
                .and_then(|metadata| metadata.modified())
                .ok()?;
            Some((modified, file))
        });
    found.max().map(|(_, file)| file).ok_or_else(|| {
        let message =
            format!("cannot find {BUILT_NAME} in any of {folders:?}: was this crate built as a library?");
        io::Error::new(io::ErrorKind::NotFound, message)
    })
}

/// Puts a copy of the built library into `folder` as `libnvidia-ml.so.1`, without the functions named in `missing`, and
/// says where it is. A copy that a process has loaded stays what it was for that process.
///
/// # Errors
/// The library cannot be read, does not have a function named in `missing`, or cannot be written.
pub fn install_library(built: &Path, folder: &Path, missing: &[&str]) -> io::Result<PathBuf> {
    let mut image = fs::read(built).map_err(|e| failed("read the library", built, &e))?;
    for name in missing {
        hide_symbol(&mut image, name).map_err(|why| {
            let message = format!("cannot take {name} out of {}: {why}", built.display());
            io::Error::new(io::ErrorKind::InvalidInput, message)
        })?;
    }
    fs::create_dir_all(folder).map_err(|e| failed("make the folder", folder, &e))?;
    let installed = folder.join(LIBRARY_NAME);
    replace(&installed, &image)?;
    Ok(installed)
}

/// Takes the name off a dynamic symbol of a 64-bit little-endian ELF image. The symbol is made nameless instead of its
/// text being overwritten, because linkers let names share their tails.
fn hide_symbol(image: &mut [u8], name: &str) -> Result<(), String> {
    const SYMBOL_SIZE: usize = 24;
    const SECTION_SIZE: usize = 64;
    const DYNAMIC_SYMBOLS: u32 = 11;
    let cut = || "it is cut short".to_owned();
    if !image.starts_with(b"\x7fELF\x02\x01") {
        return Err("it is not a 64-bit little-endian ELF file".to_owned());
    }
    let table = long(image, 0x28).ok_or_else(cut)?;
    let sections = usize::from(short(image, 0x3c).ok_or_else(cut)?);
    let header = |number: usize| table + number * SECTION_SIZE;
    let dynamic = (0..sections)
        .map(header)
        .find(|at| word(image, at + 4) == Some(DYNAMIC_SYMBOLS));
    let dynamic = dynamic.ok_or("it has no dynamic symbols")?;
    let (symbols, size) = (long(image, dynamic + 0x18), long(image, dynamic + 0x20));
    let (symbols, size) = (symbols.ok_or_else(cut)?, size.ok_or_else(cut)?);
    let texts = word(image, dynamic + 0x28).and_then(|link| usize::try_from(link).ok());
    let texts = texts
        .and_then(|link| long(image, header(link) + 0x18))
        .ok_or_else(cut)?;

    let is_named = |symbol: &usize| {
        let offset = word(image, *symbol).and_then(|offset| usize::try_from(offset).ok());
        let text = offset.and_then(|offset| image.get(texts + offset..));
        text.is_some_and(|text| text.starts_with(name.as_bytes()) && text.get(name.len()) == Some(&0))
    };
    let symbol = (symbols..symbols + size)
        .step_by(SYMBOL_SIZE)
        .find(is_named)
        .ok_or("it does not have it")?;
    image.get_mut(symbol..symbol + 4).ok_or_else(cut)?.fill(0);
    Ok(())
}

fn short(image: &[u8], at: usize) -> Option<u16> {
    image.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes)
}

fn word(image: &[u8], at: usize) -> Option<u32> {
    image.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

fn long(image: &[u8], at: usize) -> Option<usize> {
    let value = image.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)?;
    usize::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_library_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("text");
        fs::write(&file, "no ELF file").unwrap();
        let error = install_library(&file, folder.path(), &["nvmlInit_v2"])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("nvmlInit_v2") && error.contains("not a 64-bit"),
            "{error}"
        );
    }
}

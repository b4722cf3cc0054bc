// SPDX-License-Identifier: Apache-2.0
//! Where the loader would find a library or the shell a program, without either being asked.

use crate::domain::loader_cache;
use std::fs;
use std::path::{Path, PathBuf};

/// The loader's cache.
const CACHE: &str = "/etc/ld.so.cache";
/// How a cache begins that has the one form of glibc 2.32 and newer.
const NEW_FORM: &[u8] = b"glibc-ld.so.cache1.1";
/// The loader's own folders.
const FOLDERS: [&str; 6] = [
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
];

/// Where a library of this name is found, with what `LD_LIBRARY_PATH` says.
pub(super) fn library(name: &str, library_path: Option<&str>) -> Option<PathBuf> {
    let told = library_path
        .unwrap_or_default()
        .split([':', ';'])
        .filter(|folder| !folder.is_empty());
    let in_told = told
        .map(|folder| Path::new(folder).join(name))
        .find(|path| path.is_file());
    let in_cache = || {
        let entries = loader_cache::parse(&fs::read(CACHE).ok()?).ok()?;
        let named = entries
            .into_iter()
            .find(|entry| entry.name == name && !entry.is_32_bit());
        named
            .map(|entry| PathBuf::from(entry.path))
            .filter(|path| path.is_file())
    };
    let in_folders = || {
        FOLDERS
            .iter()
            .map(|folder| Path::new(folder).join(name))
            .find(|path| path.is_file())
    };
    in_told.or_else(in_cache).or_else(in_folders)
}

/// Where a program of this name is found on `PATH`; a path is one already.
pub(super) fn program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// Whether the host's cache has the new form only.
pub(super) fn has_new_cache() -> bool {
    fs::read(CACHE).is_ok_and(|bytes| bytes.starts_with(NEW_FORM))
}

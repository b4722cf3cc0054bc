// SPDX-License-Identifier: Apache-2.0
//! A test runner that is killed cannot clean up: `testbed clean` does it later, by the names of what it finds.

use std::fs;
use std::path::{Path, PathBuf};

use super::cgroups::Hierarchies;
use super::room::{clear, maker};
use crate::error::{Error, Tried};

/// Removes the cgroups, mounts, processes and folders of testbeds whose process is gone.
pub fn clean_stale() -> Result<(), Error> {
    let roots: Vec<String> = match Hierarchies::find() {
        Ok(hierarchies) => hierarchies
            .names()
            .into_iter()
            .filter(|name| is_stale(name))
            .collect(),
        Err(_) => Vec::new(),
    };
    let temp = std::env::temp_dir();
    let entries = fs::read_dir(&temp).tried(|| format!("read {}", temp.display()))?;
    let names = entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_stale));
    let folders: Vec<PathBuf> = names.map(|entry| entry.path()).collect();
    for name in roots
        .iter()
        .cloned()
        .chain(folders.iter().map(|folder| folder.display().to_string()))
    {
        eprintln!("testbed: removing {name}");
    }
    // A folder cannot go while containers use it, so the cgroups go first; they need no folder.
    let mut errors = clear(&roots, Path::new("/nonexistent/testbed"), true);
    errors.extend(folders.iter().flat_map(|folder| clear(&[], folder, false)));
    match errors.into_iter().next() {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

fn is_stale(name: &str) -> bool {
    maker(name).is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists())
}

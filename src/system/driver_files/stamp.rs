// SPDX-License-Identifier: Apache-2.0
//! Tells at the cost of a few calls whether what was found is still there: a search reads thousands of names, and each
//! launch of a container asks.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What changes when a file or folder is replaced or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    dev: u64,
    inode: u64,
    size: u64,
    seconds: i64,
    nanoseconds: i64,
}

/// A path and what was there; none for nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub path: PathBuf,
    stamp: Option<Stamp>,
}

impl Seen {
    pub fn now(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            stamp: stamp(path),
        }
    }

    pub fn is_there(&self) -> bool {
        self.stamp.is_some()
    }

    pub fn is_current(&self) -> bool {
        stamp(&self.path) == self.stamp
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let found = fs::metadata(path).ok()?;
    Some(Stamp {
        dev: found.dev(),
        inode: found.ino(),
        size: found.size(),
        seconds: found.mtime(),
        nanoseconds: found.mtime_nsec(),
    })
}

// SPDX-License-Identifier: Apache-2.0
//! Whether a file is still the one it was: a driver of the same version can be installed anew, and a name says nothing.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Which file or folder it is, and the state of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileState {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl FileState {
    /// Of what this is told of.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            changed: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    /// Of a file; none if it is no regular one.
    pub fn of_file(metadata: &Metadata) -> Option<Self> {
        metadata.is_file().then(|| Self::of(metadata))
    }

    /// Whether this file, which is no link, is at `path` as it was then.
    pub fn is_at(&self, path: &Path) -> bool {
        let metadata = path.symlink_metadata();
        metadata.is_ok_and(|metadata| Self::of_file(&metadata) == Some(*self))
    }
}

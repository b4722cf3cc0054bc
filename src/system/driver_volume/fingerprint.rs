// SPDX-License-Identifier: Apache-2.0
//! Whether a file is still the one it was: a driver of the same version can be installed anew, and a name says nothing.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Which file it is, and the state of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Fingerprint {
    /// Of a file that was opened; none if it is no regular file.
    pub fn of(metadata: &Metadata) -> Option<Self> {
        metadata.is_file().then(|| Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            changed: (metadata.mtime(), metadata.mtime_nsec()),
        })
    }

    /// Whether this file is at `path`, as it was then.
    pub fn is_at(&self, path: &Path) -> bool {
        let metadata = path.symlink_metadata();
        metadata.is_ok_and(|metadata| Self::of(&metadata) == Some(*self))
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Why something in an image could not be done: whoever asked can do without where the image's root is read-only, as with
//! Mesos's `bind` backend, and not where the image is hostile.

use nix::errno::Errno;
use std::error::Error;

/// Why something in an image could not be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// The image's root is on a read-only mount.
    #[error("{0}: the image's root file system is read-only")]
    ReadOnly(String),
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

impl ImageError {
    /// Whether it is only that the image's root is read-only.
    pub fn is_read_only(&self) -> bool {
        matches!(self, Self::ReadOnly(_))
    }

    pub(super) fn from_errno(inside: &str, errno: Errno) -> Self {
        match errno {
            Errno::EROFS => Self::ReadOnly(format!("{inside:?}")),
            errno => Self::Other(format!("{inside:?}: {}", errno.desc().to_lowercase())),
        }
    }

    /// The same with what was tried before it.
    pub(super) fn context(self, doing: &str) -> Self {
        match self {
            Self::ReadOnly(why) => Self::ReadOnly(format!("{doing}: {why}")),
            Self::Other(why) => Self::Other(format!("{doing}: {why}")),
        }
    }
}

impl From<ImageError> for String {
    fn from(error: ImageError) -> Self {
        error.to_string()
    }
}

/// An error of `pathrs` with its reasons, which its own words leave out.
pub fn in_words(error: &pathrs::error::Error) -> String {
    let mut words = error.to_string();
    let mut reason = error.source();
    while let Some(why) = reason {
        words.push_str(&format!(": {why}"));
        reason = why.source();
    }
    words
}

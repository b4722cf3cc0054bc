// SPDX-License-Identifier: Apache-2.0
//! Tells at the cost of a few calls whether what was found is still there: a search reads thousands of names, and each
//! launch of a container asks.

use crate::system::file_state::FileState;
use std::fs;
use std::path::{Path, PathBuf};

/// A path and what was there; none for nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub path: PathBuf,
    state: Option<FileState>,
}

impl Seen {
    pub fn now(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            state: state(path),
        }
    }

    pub fn state(&self) -> Option<FileState> {
        self.state
    }

    pub fn is_there(&self) -> bool {
        self.state.is_some()
    }

    pub fn is_current(&self) -> bool {
        state(&self.path) == self.state
    }
}

/// Through links: what counts is the file that a program would open.
fn state(path: &Path) -> Option<FileState> {
    fs::metadata(path).ok().as_ref().map(FileState::of)
}

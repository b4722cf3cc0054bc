// SPDX-License-Identifier: Apache-2.0
//! What an agent has written: blocks in the volume's place that are not the driver's own, and what the kernel says of the
//! process and the helpers that it waited for.

use super::agents::VOLUMES;
use crate::disk::{MEGA, written_by};
use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use testbed::{Agent, Error};

const BLOCK: u64 = 512;

/// What there was at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Written {
    copied: u64,
    written: u64,
}

impl Written {
    /// Nothing.
    pub const NONE: Self = Self {
        copied: 0,
        written: 0,
    };

    /// What an agent has written so far.
    pub fn by(agent: &Agent, driver: &Path) -> Result<Self, Error> {
        let failed = |e: io::Error| Error::new("see what an agent has written", e);
        let process = Path::new("/proc").join(agent.pid().to_string());
        let mut own = HashSet::new();
        files(driver, &mut |file| {
            own.insert((file.dev(), file.ino()));
        })
        .map_err(failed)?;
        // Links in the path would lead to this process's own folders.
        let real = fs::canonicalize(VOLUMES).map_err(failed)?;
        let place = process.join("root").join(real.strip_prefix("/").unwrap_or(&real));
        let mut copied = 0;
        files(&place, &mut |file| {
            if own.insert((file.dev(), file.ino())) {
                copied += file.blocks() * BLOCK;
            }
        })
        .map_err(failed)?;
        let written = written_by(&process).map_err(failed)?;
        Ok(Self { copied, written })
    }

    /// The megabytes that were copied since `before`.
    pub fn copied_since(self, before: Self) -> f64 {
        mega(self.copied - before.copied)
    }

    /// The megabytes that were written since `before`.
    pub fn written_since(self, before: Self) -> f64 {
        mega(self.written - before.written)
    }
}

#[allow(clippy::cast_precision_loss, reason = "nothing here is that large")]
fn mega(bytes: u64) -> f64 {
    bytes as f64 / MEGA
}

fn files(folder: &Path, each: &mut impl FnMut(&Metadata)) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let found = fs::symlink_metadata(&path)?;
        if found.is_dir() {
            files(&path, each)?;
        } else if found.is_file() {
            each(&found);
        }
    }
    Ok(())
}

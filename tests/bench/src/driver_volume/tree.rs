// SPDX-License-Identifier: Apache-2.0
//! A driver of the size that real ones have, in bytes that are really there.

use mesos_gpu::domain::driver_file::{DriverFile, DriverFiles, Place};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use testbed::Error;

const VERSION: &str = "580.159.04";
const BLOCK: usize = 1 << 20;

/// Where it is and what it has.
pub struct Tree {
    pub root: PathBuf,
    pub files: DriverFiles,
    /// The bytes of all files.
    pub size: u64,
}

impl Tree {
    /// Writes `count` libraries of together about `size` bytes: a few are large and many small, as NVIDIA's are.
    pub fn write(root: &Path, count: usize, size: u64) -> Result<Self, Error> {
        let failed = |e: io::Error| Error::new(format!("write a driver to {}", root.display()), e);
        let place = Place::Lib64;
        let folder = root.join(place.folder());
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let (mut files, mut written) = (Vec::new(), 0);
        let weights: u64 = (1..=count as u64).map(|n| n * n).sum();
        for number in 1..=count as u64 {
            let name = format!("libnvidia-part{number:03}.so.{VERSION}");
            let source = folder.join(&name);
            let share = size * number * number / weights;
            fill(&source, share.max(1)).map_err(failed)?;
            written += share.max(1);
            let links = vec![format!("libnvidia-part{number:03}.so.1")];
            files.push(DriverFile {
                source,
                place: place.clone(),
                name,
                links,
            });
        }
        // So that no round pays for the writing.
        nix::unistd::sync();
        let files = DriverFiles {
            version: VERSION.to_owned(),
            files,
            notes: Vec::new(),
        };
        Ok(Self {
            root: root.to_owned(),
            files,
            size: written,
        })
    }
}

fn fill(path: &Path, mut size: u64) -> io::Result<()> {
    #[allow(clippy::cast_possible_truncation, reason = "a byte of it is what is meant")]
    let block: Vec<u8> = (0..BLOCK)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let mut file = File::create(path)?;
    while size > 0 {
        let part = usize::try_from(size).unwrap_or(BLOCK).min(BLOCK);
        file.write_all(&block[..part])?;
        size -= part as u64;
    }
    Ok(())
}

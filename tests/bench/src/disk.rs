// SPDX-License-Identifier: Apache-2.0
//! What a process has made the kernel write to disks, by the kernel's own count.

use std::path::Path;
use std::{fs, io};

/// A megabyte.
pub const MEGA: f64 = 1e6;

/// The bytes that the process with this folder under `/proc` has written to disks, or will have, with those of the helpers
/// that it waited for.
pub fn written_by(process: &Path) -> io::Result<u64> {
    let file = process.join("io");
    let text = fs::read_to_string(&file)?;
    let line = text.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    line.and_then(|number| number.parse().ok())
        .ok_or_else(|| io::Error::other(format!("{} does not tell write_bytes", file.display())))
}

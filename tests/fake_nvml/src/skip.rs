// SPDX-License-Identifier: Apache-2.0
//! Loud skips: a test that lacks something says so where neither test capture nor a pipe to a summary hides it.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsFd;

/// Names a file that gets every skip as a line.
pub const SKIPS_VARIABLE: &str = "MESOS_GPU_SKIPS";

/// Says that the calling test is skipped and what it lacks: on the real standard error, past test capture, and in the file
/// that [`SKIPS_VARIABLE`] names. The caller returns then.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    // One write, so that lines of parallel tests stay whole.
    let line = format!("SKIPPED: {}: {reason}\n", thread.name().unwrap_or("a test"));
    // Test capture replaces what `eprint!` writes to, not the descriptor behind it.
    if let Ok(descriptor) = std::io::stderr().as_fd().try_clone_to_owned() {
        let _ = File::from(descriptor).write_all(line.as_bytes());
    }
    if let Some(path) = std::env::var_os(SKIPS_VARIABLE) {
        let file = OpenOptions::new().create(true).append(true).open(&path);
        if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
            eprintln!("cannot note a skip in {}: {error}", path.to_string_lossy());
        }
    }
}

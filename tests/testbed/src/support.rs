// SPDX-License-Identifier: Apache-2.0
//! Loud skips: a test that lacks something says so where neither test capture nor a pipe to a summary hides it.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsFd;

/// Reports by name what a test lacks: on the real standard error, past test capture, and in the file that
/// `MESOS_GPU_SKIPS` names.
pub fn skip(reason: &str) {
    let line = format!("SKIPPED: {reason}\n");
    // Test capture replaces what `eprint!` writes to, not the descriptor behind it.
    if let Ok(descriptor) = std::io::stderr().as_fd().try_clone_to_owned() {
        let _ = File::from(descriptor).write_all(line.as_bytes());
    }
    if let Some(path) = std::env::var_os("MESOS_GPU_SKIPS") {
        let file = OpenOptions::new().create(true).append(true).open(&path);
        if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
            eprintln!("cannot note a skip in {}: {error}", path.to_string_lossy());
        }
    }
}

/// What a test with cgroups needs and this machine lacks; `None` when it can run.
pub fn lacking_for_cgroups() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("root".to_owned());
    }
    match crate::bed::cgroups::Hierarchies::find() {
        Ok(_) => None,
        Err(error) => Some(format!("cgroup v1 hierarchies ({error})")),
    }
}

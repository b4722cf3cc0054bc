// SPDX-License-Identifier: Apache-2.0
//! Mounts that end with the test: they are made in a mount namespace that only one thread is in.

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::fs;
use std::path::Path;

const NONE: Option<&str> = None;

/// Runs `work` with an empty folder where its mounts are seen by nobody else; none, and a loud skip, where that is not
/// allowed. The folder goes afterwards, from where nothing is mounted in it.
pub fn in_own_mounts<T: Send>(work: impl FnOnce(&Path) -> T + Send) -> Option<T> {
    let scratch = tempfile::tempdir().unwrap();
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let inside = || {
        let ready = unshare(CloneFlags::CLONE_NEWNS)
            .and_then(|()| mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE));
        if ready.is_err() {
            super::skip("root with CAP_SYS_ADMIN, for a mount namespace");
            return None;
        }
        Some(work(scratch.path()))
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(name);
        thread.spawn_scoped(scope, inside).unwrap().join().unwrap()
    })
}

/// A bind mount, as Mesos's launcher makes one: read-only by a second step.
pub fn bind(source: &Path, target: &Path, read_only: bool) -> nix::Result<()> {
    mount(
        Some(source),
        target,
        NONE,
        MsFlags::MS_BIND | MsFlags::MS_REC,
        NONE,
    )?;
    if read_only {
        let flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
        mount(NONE, target, NONE, flags, NONE)?;
    }
    Ok(())
}

/// A new, empty file system in memory.
pub fn tmpfs(target: &Path, flags: MsFlags) {
    mount(Some("test"), target, Some("tmpfs"), flags, NONE).unwrap();
}

/// Where this thread's mounts are, in their order.
pub fn mount_points() -> Vec<String> {
    let text = fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
    let point = |line: &str| line.split(' ').nth(4).unwrap().to_owned();
    text.lines().map(point).collect()
}

// SPDX-License-Identifier: Apache-2.0
//! A private view of the machine, in which the simulated driver stands where the real one would: programs look at `/dev`
//! and `/proc/driver` and cannot be told otherwise. The machine itself is not touched.

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::statvfs::{FsFlags, statvfs};
use std::fs;
use std::io;
use std::path::Path;

/// Moves the calling process into a mount namespace of its own, in which the simulation laid out in `folder` is the
/// machine's driver: `dev` on `/dev` (with the machine's `/dev/pts` and `/dev/shm` in it), `proc-driver` on `/proc/driver`,
/// and `ld.so.cache`, if there is one, on `/etc/ld.so.cache`. Children inherit it. It ends with the last process in it.
///
/// To be called while the process has one thread, early in `main` or between fork and exec, as another thread would stay
/// outside. Needs root.
///
/// A file system with `nodev` is made to honour the nodes under this one mount.
///
/// # Errors
/// The process has several threads, lacks the right to mount, or `folder` holds no simulation with device nodes.
pub fn enter(folder: &Path) -> io::Result<()> {
    only_thread()?;
    let dev = folder.join("dev");
    if !dev.join("null").exists() {
        let message = format!(
            "{} holds no device nodes: it must be laid out by root",
            dev.display()
        );
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    unshare(CloneFlags::CLONE_NEWNS).map_err(|e| {
        io::Error::new(
            io::Error::from(e).kind(),
            format!("cannot make a mount namespace: {e}"),
        )
    })?;
    // What happens outside is still seen inside (a test's folder that is unmounted must not be kept alive), not the reverse.
    change(Path::new("/"), MsFlags::MS_REC | MsFlags::MS_SLAVE)?;
    for name in ["pts", "shm"] {
        let host = Path::new("/dev").join(name);
        if host.is_dir() {
            bind(&host, &dev.join(name), MsFlags::empty())?;
        }
    }
    bind(&dev, Path::new("/dev"), MsFlags::MS_REC)?;
    honour_nodes(Path::new("/dev"))?;
    bind(
        &folder.join("proc-driver"),
        Path::new("/proc/driver"),
        MsFlags::empty(),
    )?;
    let cache = folder.join("ld.so.cache");
    if cache.is_file() {
        bind(&cache, Path::new("/etc/ld.so.cache"), MsFlags::empty())?;
    }
    Ok(())
}

fn only_thread() -> io::Result<()> {
    let threads = fs::read_dir("/proc/self/task")?.count();
    if threads == 1 {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "cannot enter the simulation with {threads} threads: the others would stay outside"
    )))
}

fn bind(source: &Path, target: &Path, more: MsFlags) -> io::Result<()> {
    let none: Option<&str> = None;
    mount(Some(source), target, none, MsFlags::MS_BIND | more, none).map_err(|e| {
        let message = format!("cannot put {} on {}: {e}", source.display(), target.display());
        io::Error::new(io::Error::from(e).kind(), message)
    })
}

fn change(target: &Path, flags: MsFlags) -> io::Result<()> {
    let none: Option<&str> = None;
    mount(none, target, none, flags, none).map_err(|e| {
        let message = format!("cannot change the mount {} to {flags:?}: {e}", target.display());
        io::Error::new(io::Error::from(e).kind(), message)
    })
}

/// `nodev` belongs to the mount, and the new mount is ours.
fn honour_nodes(dev: &Path) -> io::Result<()> {
    let flags = statvfs(dev)?.flags();
    if !flags.contains(FsFlags::ST_NODEV) {
        return Ok(());
    }
    let mut keep = MsFlags::MS_BIND | MsFlags::MS_REMOUNT;
    let same = [
        (FsFlags::ST_NOSUID, MsFlags::MS_NOSUID),
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
        (FsFlags::ST_RDONLY, MsFlags::MS_RDONLY),
        (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
        (FsFlags::ST_NODIRATIME, MsFlags::MS_NODIRATIME),
        (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
    ];
    for (is, stays) in same {
        if flags.contains(is) {
            keep |= stays;
        }
    }
    change(dev, keep)
}

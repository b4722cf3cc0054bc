// SPDX-License-Identifier: Apache-2.0
//! What a container does to have the driver: a process of its own, as Mesos's launcher is, in a mount namespace that sees
//! the host's changes and not the reverse.

use crate::rounds::milliseconds;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Instant;
use testbed::Error;

const NONE: Option<&str> = None;

/// One thing to do; targets are below the container's `/usr/local/nvidia`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Step {
    /// A file to mount something on.
    Placeholder { target: PathBuf },
    /// A bind mount.
    Bind {
        source: PathBuf,
        target: PathBuf,
        recursive: bool,
        read_only: bool,
    },
    /// Another name of a file.
    Link { to: String, target: PathBuf },
}

/// What it is told.
#[derive(Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Its `/usr/local/nvidia`.
    pub nvidia: PathBuf,
    pub steps: Vec<Step>,
}

/// What it says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Life {
    /// The namespace and the steps.
    pub milliseconds: f64,
    /// To open every file and read its first page.
    pub opening: f64,
    /// The mounts at and below `/usr/local/nvidia`.
    pub mounts: usize,
    /// The bytes that all files say they have.
    pub size: u64,
    /// The files that could be read.
    pub files: usize,
}

/// The sub-command that a container is: reads a plan as JSON from its standard input and says what came of it.
pub fn main() -> Result<(), Error> {
    let plan: Plan =
        serde_json::from_reader(io::stdin()).map_err(|e| Error::new("read the plan of a container", e))?;
    let life =
        live(&plan).map_err(|e| Error::new(format!("be a container with {}", plan.nvidia.display()), e))?;
    let text = serde_json::to_string(&life).map_err(|e| Error::new("write what a container saw", e))?;
    println!("{text}");
    Ok(())
}

fn live(plan: &Plan) -> io::Result<Life> {
    let started = Instant::now();
    unshare(CloneFlags::CLONE_NEWNS)?;
    propagate(MsFlags::MS_SLAVE)?;
    for step in &plan.steps {
        act(step, &plan.nvidia)?;
    }
    let took = milliseconds(started);
    let started = Instant::now();
    let (files, size) = open_all(&plan.nvidia)?;
    let opening = milliseconds(started);
    let mounts = mounts_below(&plan.nvidia)?;
    Ok(Life {
        milliseconds: took,
        opening,
        mounts,
        size,
        files,
    })
}

fn act(step: &Step, nvidia: &Path) -> io::Result<()> {
    match step {
        Step::Placeholder { target } => {
            let target = nvidia.join(target);
            fs::create_dir_all(target.parent().unwrap_or(nvidia))?;
            File::create(target)?;
        }
        Step::Bind {
            source,
            target,
            recursive,
            read_only,
        } => {
            let target = nvidia.join(target);
            let more = if *recursive {
                MsFlags::MS_REC
            } else {
                MsFlags::empty()
            };
            mount(Some(source), &target, NONE, MsFlags::MS_BIND | more, NONE)?;
            if *read_only {
                let again = MsFlags::MS_BIND | MsFlags::MS_REMOUNT;
                let flags = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
                mount(NONE, &target, NONE, again | flags, NONE)?;
            }
        }
        Step::Link { to, target } => symlink(to, nvidia.join(target))?,
    }
    Ok(())
}

fn open_all(folder: &Path) -> io::Result<(usize, u64)> {
    let (mut files, mut size) = (0, 0);
    let mut page = [0; 4096];
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            let (more, larger) = open_all(&entry.path())?;
            (files, size) = (files + more, size + larger);
        } else if kind.is_file() {
            let mut file = File::open(entry.path())?;
            // A name without data would read nothing, or zeros.
            if file.read(&mut page)? > 0 && page.iter().take(256).any(|byte| *byte != 0) {
                files += 1;
            }
            size += file.metadata()?.len();
        }
    }
    Ok((files, size))
}

/// The mounts of this process at and below a folder.
pub fn mounts_below(folder: &Path) -> io::Result<usize> {
    let table = fs::read_to_string("/proc/self/mountinfo")?;
    let targets = table.lines().filter_map(|line| line.split(' ').nth(4));
    Ok(targets
        .filter(|target| Path::new(target).starts_with(folder))
        .count())
}

/// How mounts of this namespace spread from now on.
pub fn propagate(how: MsFlags) -> nix::Result<()> {
    mount(NONE, "/", NONE, MsFlags::MS_REC | how, NONE)
}

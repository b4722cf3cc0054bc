// SPDX-License-Identifier: Apache-2.0
//! One way, measured once: its set-up, then some containers one after the other.

use super::container::{Life, Plan, mounts_below};
use super::tree::Tree;
use super::ways::Way;
use crate::disk::{MEGA, written_by};
use crate::rounds::milliseconds;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statvfs::statvfs;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use testbed::Error;

/// What was seen.
pub struct Taken {
    setting_up: f64,
    written: f64,
    host_mounts: f64,
    lives: Vec<Life>,
    ending: f64,
}

/// One line of the table for each way.
pub struct Figure {
    pub what: &'static str,
    pub unit: &'static str,
    pub of: fn(&Taken) -> Vec<f64>,
}

/// All of them.
pub const FIGURES: [Figure; 7] = [
    Figure {
        what: "set-up, once",
        unit: "ms",
        of: |taken| vec![taken.setting_up],
    },
    Figure {
        what: "written at set-up",
        unit: "MB",
        of: |taken| vec![taken.written / MEGA],
    },
    Figure {
        what: "mounts on the host",
        unit: "",
        of: |taken| vec![taken.host_mounts],
    },
    Figure {
        what: "container: namespace and mounts",
        unit: "ms",
        of: |taken| taken.lives.iter().map(|life| life.milliseconds).collect(),
    },
    Figure {
        what: "container: mounts added",
        unit: "",
        of: |taken| taken.lives.iter().map(|life| count(life.mounts)).collect(),
    },
    Figure {
        what: "container: opening every file",
        unit: "ms",
        of: |taken| taken.lives.iter().map(|life| life.opening).collect(),
    },
    Figure {
        what: "taking down",
        unit: "ms",
        of: |taken| vec![taken.ending],
    },
];

/// Measures a way on a fresh tmpfs at `folder`, which is what `/run`, Mesos's place for such things, is.
pub fn once(way: Way, tree: &Tree, folder: &Path, containers: usize) -> Result<Taken, Error> {
    let failed = |e: io::Error| Error::new(format!("measure {} in {}", way.name(), folder.display()), e);
    let (agent, image) = (folder.join("agent"), folder.join("image"));
    for fresh in [&agent, &image] {
        fs::create_dir_all(fresh).map_err(failed)?;
        let none: Option<&str> = None;
        mount(Some("tmpfs"), fresh, Some("tmpfs"), MsFlags::empty(), none).map_err(|e| failed(e.into()))?;
    }
    let taken = on_fresh_folders(way, tree, &agent, &image, containers);
    for fresh in [&agent, &image] {
        umount2(fresh, MntFlags::MNT_DETACH).map_err(|e| failed(e.into()))?;
    }
    fs::remove_dir_all(folder).map_err(failed)?;
    taken
}

fn on_fresh_folders(
    way: Way,
    tree: &Tree,
    agent: &Path,
    image: &Path,
    containers: usize,
) -> Result<Taken, Error> {
    let failed = |e: io::Error| Error::new(format!("measure {}", way.name()), e);
    let before = (used(agent).map_err(failed)?, to_disk().map_err(failed)?);
    let mounts = mounts_below(agent).map_err(failed)?;
    let started = Instant::now();
    let up = way.set_up(tree, agent)?;
    let setting_up = milliseconds(started);
    let mut written = used(agent).map_err(failed)? - before.0 + to_disk().map_err(failed)? - before.1;
    for made in &up.made {
        written += used(made).map_err(failed)?;
    }
    let host_mounts = count(mounts_below(agent).map_err(failed)? - mounts);
    let mut lives = Vec::new();
    for number in 0..containers {
        let nvidia = image.join(number.to_string()).join("usr/local/nvidia");
        fs::create_dir_all(&nvidia).map_err(failed)?;
        let life = run(&Plan {
            nvidia,
            steps: up.steps.clone(),
        })?;
        let whole = (tree.files.files.len(), tree.size);
        if way.shows() && (life.files, life.size) != whole {
            let why = format!(
                "a container saw {} files of {} bytes, not {whole:?}",
                life.files, life.size
            );
            return Err(Error::new(format!("measure {}", way.name()), why));
        }
        lives.push(life);
    }
    let started = Instant::now();
    if let Some(mut volumes) = up.keep {
        volumes.ended("a container");
        drop(volumes);
    } else if way == Way::Overlay {
        umount2(&agent.join("shown"), MntFlags::MNT_DETACH).map_err(|e| failed(e.into()))?;
    } else if way == Way::Copy {
        fs::remove_dir_all(agent.join("lib64")).map_err(failed)?;
    }
    Ok(Taken {
        setting_up,
        written,
        host_mounts,
        lives,
        ending: milliseconds(started),
    })
}

fn run(plan: &Plan) -> Result<Life, Error> {
    let failed = |e: io::Error| Error::new("run a container", e);
    let mut container = Command::new("/proc/self/exe")
        .arg("driver-volume-container")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let told = container
        .stdin
        .take()
        .map(|input| serde_json::to_writer(input, plan));
    let output = container.wait_with_output().map_err(failed)?;
    if !output.status.success() || !matches!(told, Some(Ok(()))) {
        return Err(Error::new("run a container", output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|e| Error::new("read what a container saw", e))
}

/// The bytes in use on the file system of a path.
fn used(path: &Path) -> io::Result<f64> {
    let found = statvfs(path)?;
    Ok(bytes(
        (found.blocks() - found.blocks_free()) * found.fragment_size(),
    ))
}

fn to_disk() -> io::Result<f64> {
    written_by(Path::new("/proc/self")).map(bytes)
}

#[allow(clippy::cast_precision_loss, reason = "nothing here is that large")]
fn bytes(number: u64) -> f64 {
    number as f64
}

fn count(number: usize) -> f64 {
    bytes(number as u64)
}

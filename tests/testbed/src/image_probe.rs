// SPDX-License-Identifier: Apache-2.0
//! What a program in an image sees of GPUs and of the driver. The program `image-probe` runs inside and prints it as JSON;
//! tests read it from the sandbox. Only loading a library by its name is not done here but in the program itself.

mod look;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Tried};

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sight {
    /// The folder in which it was started.
    pub started_in: String,
    /// The environment.
    pub environment: BTreeMap<String, String>,
    /// The character devices below `/dev`, by their paths below it.
    pub nodes: BTreeMap<String, Node>,
    /// Where the loader found `libcuda.so.1`, or why it did not.
    pub cuda: Result<String, String>,
    /// The same for `libnvidia-ml.so.1`.
    pub nvml: Result<String, String>,
    /// What `nvidia-smi`, found by `PATH`, did; none where there is none.
    pub smi: Option<Ran>,
    /// The mounts at and below `/dev`, `/proc/driver`, `/usr/local/nvidia` and `/etc`.
    pub mounts: Vec<Mount>,
    /// What is below `/usr/local/nvidia`, by paths below it.
    pub driver_files: Vec<String>,
    /// `/proc/driver/nvidia/params`, where it is.
    pub params: Option<String>,
    /// What a child saw that was started with an empty environment (and the path of the same `nvidia-smi`).
    pub bare: Option<Box<Sight>>,
}

/// A device node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its major number.
    pub major: u64,
    /// Its minor number.
    pub minor: u64,
    /// Its permissions.
    pub mode: u32,
    /// Its owner.
    pub user: u32,
    /// Its group.
    pub group: u32,
    /// What opening it for reading and writing answered: 0, or the number of the error. A simulated device answers ENXIO
    /// once the kernel's device control has let it through, and EPERM otherwise.
    pub opened: i32,
    /// What setting its mode to what it is answered: 0, or the number of the error.
    pub changed: i32,
}

/// A program that was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// Where it was found.
    pub path: String,
    /// Whether it ended with success.
    pub success: bool,
    /// What it printed, errors included.
    pub output: String,
}

/// A mount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Where it is.
    pub point: String,
    /// Which part of its file system is there.
    pub root: String,
    /// Its options, `ro` or `rw` first.
    pub options: String,
    /// The kind of the file system.
    pub kind: String,
}

/// The first argument of the child with an empty environment; what `nvidia-smi` to run is the second.
const BARE: &str = "bare";

/// Loads a library by its name and says where it was.
pub type Load = fn(&str) -> Result<String, String>;

/// The program: looks, lets a child look, and prints.
pub fn main(load: Load) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seen = match arguments.as_slice() {
        [first, smi @ ..] if first == BARE => Ok(Sight::look(load, smi.first().cloned())),
        _ => {
            let smi = look::find_program("nvidia-smi");
            Sight::of_child(smi.as_deref()).map(|bare| Sight {
                bare: Some(Box::new(bare)),
                ..Sight::look(load, smi)
            })
        }
    };
    let text = seen.and_then(|seen| serde_json::to_string(&seen).tried(|| "write what was seen".to_owned()));
    match text {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("image-probe: {error}");
            ExitCode::FAILURE
        }
    }
}

impl Sight {
    fn look(load: Load, smi: Option<String>) -> Self {
        Self {
            started_in: std::env::current_dir()
                .map_or_else(|_| String::new(), |folder| folder.display().to_string()),
            environment: std::env::vars().collect(),
            nodes: look::nodes(),
            cuda: load("libcuda.so.1"),
            nvml: load("libnvidia-ml.so.1"),
            smi: smi.map(|path| look::run(&path)),
            mounts: look::mounts(),
            driver_files: look::files_below(Path::new("/usr/local/nvidia")),
            params: fs::read_to_string("/proc/driver/nvidia/params").ok(),
            bare: None,
        }
    }

    fn of_child(smi: Option<&str>) -> Result<Self, Error> {
        let tried = || "look once more with an empty environment".to_owned();
        let mut child = Command::new("/proc/self/exe");
        child.arg(BARE).args(smi).env_clear();
        let output = child.output().tried(tried)?;
        if !output.status.success() {
            return Err(Error::new(tried(), String::from_utf8_lossy(&output.stderr)));
        }
        serde_json::from_slice(&output.stdout).tried(tried)
    }

    /// Finds what the program printed, among whatever else is in a sandbox's `stdout`.
    ///
    /// # Errors
    /// It is not there.
    pub fn from_output(text: &str) -> Result<Self, Error> {
        let line = text
            .lines()
            .find(|line| line.starts_with('{'))
            .unwrap_or_default();
        serde_json::from_str(line).tried(|| format!("read what the image probe saw from {text:?}"))
    }

    /// The nodes of NVIDIA's that are there.
    pub fn nvidia_nodes(&self) -> Vec<&str> {
        let names = self.nodes.keys().map(String::as_str);
        names.filter(|name| name.starts_with("nvidia")).collect()
    }

    /// Those of them that the kernel's device control lets through.
    pub fn open_nodes(&self) -> Vec<&str> {
        let mut nodes = self.nvidia_nodes();
        nodes.retain(|name| self.nodes.get(*name).is_some_and(Node::is_open));
        nodes
    }

    /// The mount at a point, the last one where there are several.
    pub fn mount(&self, point: &str) -> Option<&Mount> {
        self.mounts.iter().rev().find(|mount| mount.point == point)
    }
}

impl Node {
    /// Whether the kernel's device control lets it through.
    pub fn is_open(&self) -> bool {
        self.opened == 0 || self.opened == nix::errno::Errno::ENXIO as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_survives_the_way_through_a_sandbox() {
        let seen = Sight {
            bare: Some(Box::new(Sight::look(|_| Err("none".to_owned()), None))),
            ..Sight::look(|name| Ok(format!("/lib/{name}")), Some("/bin/true".to_owned()))
        };
        let text = format!("before\n{}\nafter\n", serde_json::to_string(&seen).unwrap());
        assert_eq!(Sight::from_output(&text).unwrap(), seen);
        assert_eq!(seen.cuda.as_deref(), Ok("/lib/libcuda.so.1"));
        assert!(seen.smi.unwrap().success);
        assert!(Sight::from_output("nothing").is_err());
    }

    #[test]
    fn a_node_without_a_device_behind_it_counts_as_open_and_a_refused_one_does_not() {
        let node = |opened| Node {
            major: 195,
            minor: 0,
            mode: 0o666,
            user: 0,
            group: 0,
            opened,
            changed: 0,
        };
        assert!(node(0).is_open() && node(6).is_open() && !node(1).is_open());
    }
}

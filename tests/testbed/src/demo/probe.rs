// SPDX-License-Identifier: Apache-2.0
//! What a task sees: `testbed probe` runs inside the container and prints it as JSON; the demo reads it from the sandbox.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use nix::errno::Errno;
use serde::{Deserialize, Serialize};

use crate::bed::Agent;
use crate::error::{Error, Tried};

/// The variables that are shown.
pub const VARIABLES: [&str; 2] = ["NVIDIA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"];

/// What the kernel said to an attempt to open a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opened {
    /// It opened. A simulated node has no driver behind it, so there "no such device" is what comes after the kernel's
    /// device control said yes.
    Opens,
    /// Device control refused.
    Refused,
    /// Something else.
    Failed(String),
}

/// What one task saw.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sight {
    /// The task; filled in by who reads it.
    #[serde(default)]
    pub task: String,
    /// How many GPUs it asked for; filled in by who reads it.
    #[serde(default)]
    pub wanted: u32,
    /// Its environment, as far as it is shown.
    pub variables: BTreeMap<String, String>,
    /// Every node of a GPU, by name.
    pub nodes: BTreeMap<String, Opened>,
}

/// Prints what this process sees.
pub fn main() -> ExitCode {
    let variables = VARIABLES
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)));
    let sight = Sight {
        task: String::new(),
        wanted: 0,
        variables: variables.collect(),
        nodes: gpu_nodes().into_iter().collect(),
    };
    match serde_json::to_string(&sight) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("probe: cannot write what was seen: {error}");
            ExitCode::FAILURE
        }
    }
}

fn gpu_nodes() -> Vec<(String, Opened)> {
    let Ok(entries) = fs::read_dir("/dev") else {
        return Vec::new();
    };
    let names = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    let is_gpu = |name: &String| {
        name.strip_prefix("nvidia")
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    names
        .filter(is_gpu)
        .map(|name| (name.clone(), open(&name)))
        .collect()
}

fn open(name: &str) -> Opened {
    match OpenOptions::new()
        .read(true)
        .write(true)
        .open(format!("/dev/{name}"))
    {
        Ok(_) => Opened::Opens,
        Err(error) if is(&error, Errno::ENXIO) => Opened::Opens,
        Err(error) if is(&error, Errno::EPERM) => Opened::Refused,
        Err(error) => Opened::Failed(error.to_string()),
    }
}

fn is(error: &io::Error, number: Errno) -> bool {
    error.raw_os_error() == Some(number as i32)
}

impl Sight {
    /// What a task wrote into its sandbox.
    pub(super) fn read(agent: &Agent, framework: &str, task: &str, wanted: u32) -> Result<Self, Error> {
        let id = agent
            .id()
            .ok_or_else(|| Error::new("find the sandbox", "the agent is not registered"))?;
        let path: PathBuf = agent
            .work_dir()
            .join("slaves")
            .join(id)
            .join("frameworks")
            .join(framework)
            .join("executors")
            .join(task)
            .join("runs/latest/stdout");
        let text = fs::read_to_string(&path).tried(|| format!("read {}", path.display()))?;
        let line = text
            .lines()
            .find(|line| line.starts_with('{'))
            .unwrap_or_default();
        let seen: Self =
            serde_json::from_str(line).tried(|| format!("read what {task} saw from {}", path.display()))?;
        Ok(Self {
            task: task.to_owned(),
            wanted,
            ..seen
        })
    }

    /// The nodes that opened.
    pub fn open_nodes(&self) -> Vec<&str> {
        self.nodes
            .iter()
            .filter(|(_, opened)| **opened == Opened::Opens)
            .map(|(name, _)| name.as_str())
            .collect()
    }

    /// How many GPUs its environment names.
    pub fn named(&self) -> usize {
        match self.variables.get("NVIDIA_VISIBLE_DEVICES").map(String::as_str) {
            None | Some("" | "void" | "none") => 0,
            Some(list) => list.split(',').count(),
        }
    }

    /// What is not as it should be, in words.
    pub(super) fn wrong(&self, isolated: bool) -> Vec<String> {
        if !isolated {
            return Vec::new();
        }
        let (wanted, mut wrong) = (self.wanted as usize, Vec::new());
        if self.open_nodes().len() != wanted {
            wrong.push(format!(
                "{} asked for {wanted} GPUs and opened {:?}",
                self.task,
                self.open_nodes()
            ));
        }
        if self.named() != wanted {
            wrong.push(format!(
                "{} asked for {wanted} GPUs and its environment names {}",
                self.task,
                self.named()
            ));
        }
        for (name, opened) in &self.nodes {
            if let Opened::Failed(why) = opened {
                wrong.push(format!("{} could not try {name}: {why}", self.task));
            }
        }
        wrong
    }
}

// SPDX-License-Identifier: Apache-2.0
//! What a check is asked about: modules.json as text, and a Mesos process by its flags, planned or running.

use crate::config::MesosFlags;
use crate::tool::modules::{Module, Role};

/// What is checked.
#[derive(Debug, Clone, Default)]
pub struct Subject {
    /// What `--modules` or `--modules_dir` name, in the order in which Mesos loads it.
    pub manifests: Vec<Source>,
    /// The process; none where only a modules.json is checked.
    pub mesos: Option<Mesos>,
}

/// A text and where it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Where from, for messages.
    pub from: String,
    /// The text, or why there is none.
    pub text: Result<String, String>,
}

/// A Mesos process.
#[derive(Debug, Clone)]
pub struct Mesos {
    /// Agent or master.
    pub role: Role,
    /// Its flags.
    pub flags: MesosFlags,
    /// The names of those of the command line, in lower case; the others are from the environment.
    pub typed: Vec<String>,
    /// Its program as it is named; empty where that is not known.
    pub program: String,
    /// Its `LD_LIBRARY_PATH`.
    pub library_path: Option<String>,
    /// The running process, when it is one.
    pub running: Option<Running>,
}

/// What is known of a running process besides its flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// Its id.
    pub pid: u32,
    /// The effective user; none where that cannot be read.
    pub uid: Option<u32>,
    /// Whether it sees other mounts than this program.
    pub other_mounts: bool,
}

impl Mesos {
    /// The words of a flag that is a list; Mesos splits at commas and trims nothing.
    pub fn words(&self, flag: &str) -> Vec<&str> {
        let text = self.flags.get(flag).unwrap_or_default();
        text.split(',').filter(|word| !word.is_empty()).collect()
    }

    /// Whether a list has this word.
    pub fn has(&self, flag: &str, word: &str) -> bool {
        self.words(flag).contains(&word)
    }

    /// Whether it would create a module, if that is loaded.
    pub fn names(&self, module: Module) -> bool {
        self.role == module.role && self.has(module.flag, module.name)
    }

    /// Whether a switch is off.
    pub fn is_off(&self, flag: &str) -> bool {
        matches!(self.flags.get(flag), Some("false" | "0"))
    }
}

impl Subject {
    /// The process, when it is an agent.
    pub fn agent(&self) -> Option<&Mesos> {
        self.mesos.as_ref().filter(|mesos| mesos.role == Role::Agent)
    }

    /// The process, when it is a master.
    pub fn master(&self) -> Option<&Mesos> {
        self.mesos.as_ref().filter(|mesos| mesos.role == Role::Master)
    }
}

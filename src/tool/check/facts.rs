// SPDX-License-Identifier: Apache-2.0
//! What the rules must know of a machine, as plain data.

use crate::domain::device::NodeState;
use crate::domain::gpu::Unit;
use crate::domain::record::Advertised;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a machine is like.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The libraries of modules.json, in its order.
    pub libraries: Vec<LibraryFacts>,
    /// The release of Mesos that the program is linked to, `1.11.0`; none where that is not known.
    pub mesos_release: Option<String>,
    /// Where the cgroup v1 `devices` hierarchy is mounted, or why it is not known to be.
    pub devices_hierarchy: Option<Result<PathBuf, String>>,
    /// Whether `/sys/fs/cgroup` is the one hierarchy of cgroup v2.
    pub only_cgroup_v2: bool,
    /// The driver.
    pub driver: DriverFacts,
    /// The paths that the settings name.
    pub places: BTreeMap<PathBuf, Place>,
    /// Why the CDI specification cannot be used; none where it can or is not asked for.
    pub cdi_problem: Option<String>,
    /// Whether the loader's cache is of the one form that glibc writes since 2.32, which Mesos 1.11 cannot read.
    pub new_loader_cache: bool,
    /// What this agent advertised when it registered; none where it has not.
    pub advertised_before: Option<Advertised>,
}

/// What is known of a library's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LibraryFacts {
    /// It was not looked at: it is not this library, or not named.
    Unknown,
    /// The loader is asked for a name, and it is in none of the usual places.
    NotFound,
    /// It cannot be read, in words.
    Unreadable(String),
    /// It is no shared library for this machine, in words.
    NotElf(String),
    /// It is one.
    Elf {
        /// Where it is.
        path: PathBuf,
        /// Its symbols that begin as a module of ours.
        modules: Vec<String>,
        /// The release of Mesos that its records name; none where that cannot be read.
        mesos_release: Option<String>,
    },
}

/// What is known of the driver.
#[derive(Debug, Clone, Default)]
pub struct DriverFacts {
    /// Whether it was looked at.
    pub known: bool,
    /// The loaded kernel module's version.
    pub loaded: Option<String>,
    /// Where NVML's library is, by its links' end.
    pub library: Option<PathBuf>,
    /// Whether the loader finds NVML for Mesos itself.
    pub has_nvml_on_loader_path: bool,
    /// Why NVML does not answer; none where it does.
    pub nvml_failure: Option<String>,
    /// The GPUs as the agent would find them, and what it would set aside.
    pub units: Vec<Unit>,
    /// What is wrong with others, in words.
    pub problems: Vec<String>,
    /// What stands in the device directory, of what containers need.
    pub nodes: BTreeMap<String, NodeState>,
    /// Whether there is an `nvidia-modprobe`, which makes nodes when the first container needs them.
    pub can_make_nodes: bool,
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// What it is.
    pub kind: PlaceKind,
    /// The nearest folder above that is there, when the path itself is not.
    pub above: Option<PathBuf>,
    /// Whether what is there, or the nearest above, can be written to.
    pub writable: bool,
    /// Whether it is on a file system in memory.
    pub in_memory: bool,
    /// Whether device nodes cannot be opened on it.
    pub nodev: bool,
    /// Whether something is mounted right there.
    pub mount_point: bool,
}

/// What kind of thing stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlaceKind {
    /// Nothing.
    #[default]
    Missing,
    /// A folder.
    Folder,
    /// A file.
    File,
    /// Something else.
    Other,
}

impl Facts {
    /// What stands at a path; none where it was not looked at.
    pub fn place(&self, path: &Path) -> Option<&Place> {
        self.places.get(path)
    }
}

impl Place {
    /// Whether a folder is there or can be made there.
    pub fn can_be_folder(&self) -> bool {
        match self.kind {
            PlaceKind::Folder => self.writable,
            PlaceKind::Missing => self.above.is_some() && self.writable,
            PlaceKind::File | PlaceKind::Other => false,
        }
    }
}

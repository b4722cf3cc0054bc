// SPDX-License-Identifier: Apache-2.0
//! Finds the driver's user-space files on the host: containers need exactly those of the loaded kernel module, and each
//! distribution puts them elsewhere. Nothing is copied and nothing is run; a file that cannot be used is a note.

pub mod cdi;
mod libraries;
mod listed;
mod others;
mod places;
mod root;
mod stamp;

use crate::domain::driver_choice::{self, Others as OtherNames, is_driver_version};
use crate::domain::driver_file::{DriverFile, DriverFiles, Place};
use crate::domain::elf::Machine;
use crate::system::file_state::FileState;
use libraries::Libraries;
use others::Others;
use root::Root;
use stamp::Seen;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where to look.
#[derive(Debug, Clone)]
pub struct DriverSearch {
    root: PathBuf,
    cdi_spec: Option<PathBuf>,
    loader_cache: PathBuf,
    folders: Vec<PathBuf>,
}

/// What was found, and what that rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The files.
    pub files: DriverFiles,
    sources: Vec<Seen>,
    seen: Vec<Seen>,
}

impl Found {
    /// What each of the files was, in their order; none for one that was not there.
    pub fn states(&self) -> Vec<Option<FileState>> {
        self.sources.iter().map(Seen::state).collect()
    }

    /// Whether both hold the same files, none of them replaced: links and mounts made for one serve the other.
    pub fn same_files(&self, other: &Self) -> bool {
        self.files.version == other.files.version
            && self.files.files == other.files.files
            && self.sources == other.sources
    }
}

impl DriverSearch {
    /// A search below `driver_root`, by default the host's own root; or, where it is given, in the CDI specification at
    /// `cdi_spec`, whose paths are the host's own.
    pub fn new(driver_root: Option<PathBuf>, cdi_spec: Option<PathBuf>) -> Self {
        Self {
            root: driver_root.unwrap_or_else(|| PathBuf::from("/")),
            cdi_spec,
            loader_cache: PathBuf::from(places::LOADER_CACHE),
            folders: places::LIBRARY_FOLDERS.map(PathBuf::from).to_vec(),
        }
    }

    /// The same search with another loader cache and other folders of libraries; both within the root.
    pub fn looking_in(self, loader_cache: PathBuf, folders: Vec<PathBuf>) -> Self {
        Self {
            loader_cache,
            folders,
            ..self
        }
    }

    /// Finds the files of the driver `version`; without one, of the only driver there is.
    ///
    /// # Errors
    /// There is none, or there are several and no version; the CDI specification cannot be read.
    pub fn find(&self, version: Option<&str>) -> Result<DriverFiles, String> {
        self.look(version).map(|found| found.files)
    }

    /// As [`DriverSearch::find`], and what the answer rests on.
    ///
    /// # Errors
    /// As there.
    pub fn look(&self, version: Option<&str>) -> Result<Found, String> {
        if let Some(version) = version.filter(|version| !is_driver_version(version)) {
            return Err(format!(
                "cannot look for driver version {version:?}: it must be numbers with dots, for example \"580.159.04\""
            ));
        }
        match &self.cdi_spec {
            Some(spec) => self.in_specification(spec, version),
            None => self.below_root(version),
        }
    }

    /// Whether what was found still is what is there, at the cost of asking for each file's time stamp.
    pub fn is_current(&self, found: &Found) -> bool {
        let there = found.sources.iter().all(Seen::is_there);
        there && found.sources.iter().chain(&found.seen).all(Seen::is_current)
    }

    fn below_root(&self, version: Option<&str>) -> Result<Found, String> {
        let top = self.root.canonicalize().map_err(|error| {
            format!(
                "cannot look for the driver below {}: {error}",
                self.root.display()
            )
        })?;
        let mut root = Root::new(top);
        let mut libraries = Libraries::new(&mut root);
        libraries.take_cache(&self.loader_cache);
        if !libraries.have_cuda() {
            for folder in &self.folders {
                libraries.take_folder(folder);
            }
        }
        libraries.take_their_folders();
        let (candidates, seen, notes) = libraries.finish();
        let version = self.version(version, &driver_choice::versions(&candidates))?;
        let choice = driver_choice::choose(&candidates, &version, Machine::OWN, OtherNames::Known);
        let mut others = Others {
            root: &mut root,
            files: choice.files,
            seen,
            notes: [notes, choice.notes].concat(),
        };
        if others.files.is_empty() {
            let why = others
                .notes
                .iter()
                .map(|note| format!("; {note}"))
                .collect::<String>();
            return Err(format!("{}{why}", self.nothing(&version)));
        }
        others.programs();
        others.shares();
        others.firmware(&version);
        Ok(found(version, others.files, others.seen, others.notes))
    }

    fn in_specification(&self, spec: &Path, version: Option<&str>) -> Result<Found, String> {
        let before = Seen::now(spec);
        let read = listed::read(spec)?;
        let mut host = Root::new(PathBuf::from("/"));
        let mut named = Vec::new();
        let listed = listed::sort(&read, &mut host, &mut named);
        let mut libraries = Libraries::new(&mut host);
        listed::collect(named, &mut libraries);
        let (candidates, mut seen, notes) = libraries.finish();
        seen.push(before);
        let version = self.version(version, &driver_choice::versions(&candidates))?;
        let choice = driver_choice::choose(&candidates, &version, Machine::OWN, OtherNames::All);
        let notes = [listed.notes, notes, choice.notes].concat();
        if choice.files.is_empty() {
            let why = notes.iter().map(|note| format!("; {note}")).collect::<String>();
            return Err(format!("{}{why}", self.nothing(&version)));
        }
        Ok(found(
            version,
            [choice.files, listed.others].concat(),
            seen,
            notes,
        ))
    }

    fn version(&self, wanted: Option<&str>, there: &BTreeSet<String>) -> Result<String, String> {
        if let Some(wanted) = wanted {
            return Ok(wanted.to_owned());
        }
        let mut there = there.iter();
        match (there.next(), there.next()) {
            (Some(only), None) => Ok(only.clone()),
            (None, _) => Err(self.nothing("of any version")),
            (Some(first), Some(second)) => {
                let all: Vec<&str> = [first, second]
                    .into_iter()
                    .chain(there)
                    .map(String::as_str)
                    .collect();
                Err(format!(
                    "there are libraries of several drivers {}, {}, and no driver is loaded that tells which are in use",
                    self.place(),
                    all.join(" and ")
                ))
            }
        }
    }

    fn nothing(&self, version: &str) -> String {
        format!(
            "there are no libraries of NVIDIA driver {version} {}",
            self.place()
        )
    }

    fn place(&self) -> String {
        match &self.cdi_spec {
            Some(spec) => format!("in CDI specification {}", spec.display()),
            None => format!("below {}", self.root.display()),
        }
    }
}

fn found(version: String, files: Vec<DriverFile>, seen: Vec<Seen>, mut notes: Vec<String>) -> Found {
    let files = driver_choice::settled(files, &mut notes);
    let cuda =
        |file: &DriverFile| file.place == Place::Lib64 && driver_choice::stem(&file.name) == "libcuda.so";
    if !files.iter().any(cuda) {
        notes.push(format!(
            "driver {version} has no libcuda of 64 bits here: CUDA will not work in containers"
        ));
    }
    Found {
        sources: files.iter().map(|file| Seen::now(&file.source)).collect(),
        files: DriverFiles {
            version,
            files,
            notes,
        },
        seen,
    }
}

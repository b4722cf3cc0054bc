// SPDX-License-Identifier: Apache-2.0
//! Collects what may be the driver's libraries: from the loader's cache, and from the folders in which they lie, as a cache
//! may be stale or missing and lists no link but one.

use super::places::BELOW_LIBRARY_FOLDERS;
use super::root::Root;
use super::stamp::Seen;
use crate::domain::driver_choice::{self, Candidate, may_belong, of_driver};
use crate::domain::elf;
use crate::domain::loader_cache::{self, Entry};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Far more than a cache of many thousand libraries.
const LARGEST_CACHE: u64 = 64 << 20;

/// What was collected so far.
pub(super) struct Libraries<'a> {
    root: &'a mut Root,
    found: Vec<(PathBuf, BTreeSet<String>)>,
    places: HashMap<PathBuf, usize>,
    listed: HashSet<PathBuf>,
    /// What the collection rests on.
    pub seen: Vec<Seen>,
    pub notes: Vec<String>,
}

impl<'a> Libraries<'a> {
    pub fn new(root: &'a mut Root) -> Self {
        Self {
            root,
            found: Vec::new(),
            places: HashMap::new(),
            listed: HashSet::new(),
            seen: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Collects what the loader's cache names.
    pub fn take_cache(&mut self, cache: &Path) {
        let inside = self.root.resolve(cache).unwrap_or_else(|_| cache.to_owned());
        let host = self.root.host(&inside);
        self.seen.push(Seen::now(&host));
        let entries = match read_cache(&host) {
            Ok(entries) => entries,
            Err(why) => {
                return self
                    .notes
                    .push(format!("cannot use loader cache {}: {why}", host.display()));
            }
        };
        for entry in entries.iter().filter(|entry| !entry.is_named_hwcap()) {
            let path = Path::new(&entry.path);
            if path.is_absolute() {
                self.take_named(path, &entry.name);
            }
        }
    }

    /// Collects a path that somebody named, and its links' names.
    pub fn take_named(&mut self, path: &Path, name: &str) {
        match self.root.resolve(path) {
            Ok(real) if may_belong(&real) => {
                self.add(real, [name, driver_choice::file_name(path)]);
            }
            Ok(_) => {}
            Err(error) if of_driver(name) => self.unresolved(path, &error),
            Err(_) => {}
        }
    }

    /// Collects from every folder that holds one of the driver's libraries, until no new one shows.
    pub fn take_their_folders(&mut self) {
        let mut at = 0;
        while let Some((file, _)) = self.found.get(at) {
            at += 1;
            let folder = file.parent().map(Path::to_owned);
            if let Some(folder) = folder.filter(|_| of_driver(driver_choice::file_name(file))) {
                self.take_folder(&folder);
            }
        }
    }

    /// Collects from a folder and from those below it that may hold some too.
    pub fn take_folder(&mut self, folder: &Path) {
        self.list(folder, false);
        for below in BELOW_LIBRARY_FOLDERS {
            self.list(&folder.join(below), false);
        }
    }

    /// Adds the names of links in the folder to the libraries already there.
    pub fn links_in(&mut self, folder: &Path) {
        self.list(folder, true);
    }

    fn list(&mut self, folder: &Path, links_only: bool) {
        let Ok(folder) = self.root.resolve(folder) else {
            return;
        };
        let host = self.root.host(&folder);
        if self.listed.contains(&folder) || !host.is_dir() {
            return;
        }
        // Before the folder is read: what comes in meanwhile is seen as a change.
        self.seen.push(Seen::now(&host));
        let listing = fs::read_dir(&host).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
        self.listed.insert(folder.clone());
        let mut entries = match listing {
            Ok(entries) => entries,
            Err(error) => {
                return self
                    .notes
                    .push(format!("cannot list {}: {error}", host.display()));
            }
        };
        entries.sort_by_cached_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| name.contains(".so")) else {
                continue;
            };
            let path = folder.join(name);
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() => match self.root.resolve(&path) {
                    Ok(real) if self.places.contains_key(&real) => self.add(real, [name]),
                    Ok(real) if !links_only && may_belong(&real) => self.add(real, [name]),
                    Err(error) if !links_only && of_driver(name) => self.unresolved(&path, &error),
                    _ => {}
                },
                Ok(kind) if kind.is_file() && !links_only && may_belong(&path) => self.add(path, []),
                _ => {}
            }
        }
    }

    /// Collects a file, which is no link, with other names of it.
    pub fn add<'b>(&mut self, real: PathBuf, names: impl IntoIterator<Item = &'b str>) {
        let place = *self.places.entry(real).or_insert_with_key(|real| {
            self.found.push((real.clone(), BTreeSet::new()));
            self.found.len() - 1
        });
        if let Some((_, links)) = self.found.get_mut(place) {
            links.extend(names.into_iter().map(str::to_owned));
        }
    }

    fn unresolved(&mut self, path: &Path, error: &io::Error) {
        let path = self.root.host(path);
        self.notes
            .push(format!("{} is left out: {error}", path.display()));
    }

    /// Whether there is a CUDA driver among them.
    pub fn have_cuda(&self) -> bool {
        let names = self.found.iter().map(|(file, _)| driver_choice::file_name(file));
        names.map(driver_choice::stem).any(|stem| stem == "libcuda.so")
    }

    /// All of them, with the host's paths; what they rest on and what was odd.
    pub fn finish(self) -> (Vec<Candidate>, Vec<Seen>, Vec<String>) {
        let Self {
            root,
            found,
            seen,
            mut notes,
            ..
        } = self;
        let mut candidates = Vec::new();
        for (inside, links) in found {
            let source = root.host(&inside);
            let class = match header(&source) {
                Ok(header) => elf::class(&header),
                Err(error) => {
                    notes.push(format!("{} is left out: {error}", source.display()));
                    continue;
                }
            };
            candidates.push(Candidate { source, class, links });
        }
        (candidates, seen, notes)
    }
}

fn read_cache(path: &Path) -> Result<Vec<Entry>, String> {
    let bytes = read_regular(path, LARGEST_CACHE).map_err(|error| error.to_string())?;
    loader_cache::parse(&bytes).map_err(|error| error.to_string())
}

/// As much of a regular file as an ELF header takes.
pub(super) fn header(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?
        .take(elf::HEADER as u64)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// All of a regular file that is not larger than `most`.
pub(super) fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    if file.metadata()?.len() > most {
        return Err(io::Error::other(format!("it is larger than {most} bytes")));
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Anything else could block the reader for ever.
fn open_regular(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    File::open(path)
}

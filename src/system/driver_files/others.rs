// SPDX-License-Identifier: Apache-2.0
//! The driver's files that are no libraries: programs, descriptions for graphics interfaces, firmware.

use super::libraries::header;
use super::places::{FIRMWARE_FOLDERS, PROGRAM_FOLDERS, PROGRAMS, SHARE_FOLDERS, SHARES};
use super::root::Root;
use super::stamp::Seen;
use crate::domain::driver_choice::file_name;
use crate::domain::driver_file::{DriverFile, Place};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Finds them below one root.
pub(super) struct Others<'a> {
    pub root: &'a mut Root,
    pub files: Vec<DriverFile>,
    pub seen: Vec<Seen>,
    pub notes: Vec<String>,
}

impl Others<'_> {
    /// Each program from the first folder that has it, a script last: a host's wrapper looks for the program where only that
    /// host has it.
    pub fn programs(&mut self) {
        for name in PROGRAMS {
            let paths = PROGRAM_FOLDERS.map(|folder| Path::new(folder).join(name));
            let (scripts, programs): (Vec<_>, Vec<_>) = paths.iter().partition(|path| self.is_script(path));
            if programs
                .into_iter()
                .any(|path| self.add(path, Place::Bin, is_program))
            {
                continue;
            }
            let script = scripts
                .into_iter()
                .find(|path| self.add(path, Place::Bin, is_program));
            if let Some(script) = script {
                let script = self.root.host(script);
                self.notes.push(format!(
                    "{} is a script, and may need what a container does not have",
                    script.display()
                ));
            }
        }
    }

    fn is_script(&mut self, path: &Path) -> bool {
        let found = self.look(path);
        found.is_ok_and(|(source, _)| header(&source).is_ok_and(|header| header.starts_with(b"#!")))
    }

    /// The descriptions by which graphics programs find the driver.
    pub fn shares(&mut self) {
        for below in SHARES {
            for folder in SHARE_FOLDERS {
                let folder = Path::new(folder).join(below);
                for name in self.names(&folder) {
                    if name.contains("nvidia") && name.ends_with(".json") {
                        self.add(
                            &folder.join(name),
                            Place::Share(below.to_owned()),
                            Metadata::is_file,
                        );
                    }
                }
            }
        }
    }

    /// The firmware of this version.
    pub fn firmware(&mut self, version: &str) {
        for folder in FIRMWARE_FOLDERS {
            let folder = Path::new(folder).join("nvidia").join(version);
            for name in self.names(&folder) {
                if name.ends_with(".bin") {
                    self.add(&folder.join(name), Place::Firmware, Metadata::is_file);
                }
            }
        }
    }

    /// Takes the file at `path`, if there is one that suits; says whether.
    fn add(&mut self, path: &Path, place: Place, suits: fn(&Metadata) -> bool) -> bool {
        let asked = file_name(path);
        let (source, found) = match self.look(path) {
            Ok(found) => found,
            Err(error) => {
                // Nothing at all is no news, a link to nothing is.
                if fs::symlink_metadata(self.root.host(path)).is_ok() {
                    self.left_out(path, &error.to_string());
                }
                return false;
            }
        };
        if !suits(&found) {
            let why = if place == Place::Bin {
                "executable"
            } else {
                "regular"
            };
            self.left_out(path, &format!("it is no {why} file"));
            return false;
        }
        let name = file_name(&source).to_owned();
        if name.is_empty() {
            self.left_out(path, "the file's own name is no text");
            return false;
        }
        let links = if name == asked {
            Vec::new()
        } else {
            vec![asked.to_owned()]
        };
        self.files.push(DriverFile {
            source,
            place,
            name,
            links,
        });
        true
    }

    fn look(&mut self, path: &Path) -> io::Result<(PathBuf, Metadata)> {
        let inside = self.root.resolve(path)?;
        let source = self.root.host(&inside);
        let found = fs::metadata(&source)?;
        Ok((source, found))
    }

    fn left_out(&mut self, path: &Path, why: &str) {
        let path = self.root.host(path);
        self.notes.push(format!("{} is left out: {why}", path.display()));
    }

    fn names(&mut self, folder: &Path) -> Vec<String> {
        let Ok(inside) = self.root.resolve(folder) else {
            return Vec::new();
        };
        let host = self.root.host(&inside);
        if !host.is_dir() {
            return Vec::new();
        }
        self.seen.push(Seen::now(&host));
        let listing = fs::read_dir(&host).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
        match listing {
            Ok(entries) => {
                let name = |entry: fs::DirEntry| entry.file_name().into_string().ok();
                let mut names: Vec<String> = entries.into_iter().filter_map(name).collect();
                names.sort();
                names
            }
            Err(error) => {
                self.notes
                    .push(format!("cannot list {}: {error}", host.display()));
                Vec::new()
            }
        }
    }
}

/// Whether it is a regular file that somebody may execute.
pub(super) fn is_program(found: &Metadata) -> bool {
    found.is_file() && found.permissions().mode() & 0o111 != 0
}

// SPDX-License-Identifier: Apache-2.0
//! Places the files that a CDI specification lists: by what they are, as a container finds them at places of our own.

use super::cdi;
use super::libraries::{Libraries, read_regular};
use super::others::is_program;
use super::root::Root;
use crate::domain::driver_choice::{file_name, stem};
use crate::domain::driver_file::{DriverFile, Place};
use std::fs;
use std::path::{Path, PathBuf};

/// Far more than a host with many GPUs and their instances needs.
const LARGEST_SPEC: u64 = 8 << 20;

/// What a specification lists: its libraries go into `libraries`.
pub(super) struct Listed {
    pub others: Vec<DriverFile>,
    pub notes: Vec<String>,
}

/// Reads the specification at `path` and sorts its files.
pub(super) fn read(path: &Path) -> Result<cdi::Spec, String> {
    let failed = |why: String| format!("cannot use CDI specification {}: {why}", path.display());
    let text = read_regular(path, LARGEST_SPEC).map_err(|error| failed(error.to_string()))?;
    cdi::parse(&text).map_err(failed)
}

/// Sorts the files, whose paths are the host's own.
pub(super) fn sort(spec: &cdi::Spec, host: &mut Root, links: &mut Vec<(PathBuf, String)>) -> Listed {
    let mut listed = Listed {
        others: Vec::new(),
        notes: Vec::new(),
    };
    if !spec.unused.is_empty() {
        listed.notes.push(format!(
            "of the CDI specification only the files are used, not its {}",
            spec.unused.join(", ")
        ));
    }
    for path in &spec.paths {
        if let Err(why) = one(Path::new(path), host, links, &mut listed.others) {
            listed
                .notes
                .push(format!("{path:?} of the CDI specification is left out: {why}"));
        }
    }
    listed
}

fn one(
    path: &Path,
    host: &mut Root,
    libraries: &mut Vec<(PathBuf, String)>,
    others: &mut Vec<DriverFile>,
) -> Result<(), String> {
    if !path.is_absolute() {
        return Err("its path is not absolute".to_owned());
    }
    let source = host.resolve(path).map_err(|error| error.to_string())?;
    let found = fs::metadata(&source).map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let asked = file_name(path).to_owned();
    let name = file_name(&source).to_owned();
    if name.is_empty() || asked.is_empty() {
        return Err("its name is no text".to_owned());
    }
    if stem(&name) != name || name.ends_with(".so") {
        libraries.push((source, asked));
        return Ok(());
    }
    let place = if source.components().any(|part| part.as_os_str() == "firmware") {
        Place::Firmware
    } else if is_program(&found) {
        Place::Bin
    } else {
        share(&source).ok_or("it is no library, no program, and not below /usr/share or /etc")?
    };
    let links = if asked == name { Vec::new() } else { vec![asked] };
    others.push(DriverFile {
        source,
        place,
        name,
        links,
    });
    Ok(())
}

/// The folder below a folder of shared files.
fn share(source: &Path) -> Option<Place> {
    let folder = source.parent()?.to_str()?;
    let below = match folder.split_once("/share/") {
        Some((_, below)) => below,
        None => folder.split_once("/etc/")?.1,
    };
    Some(Place::Share(below.to_owned()))
}

/// Hands the libraries on, with the names of the links beside them.
pub(super) fn collect(found: Vec<(PathBuf, String)>, libraries: &mut Libraries<'_>) {
    let folders: Vec<PathBuf> = found
        .iter()
        .filter_map(|(path, _)| Some(path.parent()?.to_owned()))
        .collect();
    for (path, name) in found {
        libraries.add(path, [&name[..]]);
    }
    for folder in folders {
        libraries.links_in(&folder);
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Which libraries of a host are the driver's: those that carry its exact version in their names, whatever they are called,
//! as each branch of the driver brings new ones, and a few that have versions of their own. Libraries of another version or
//! for another machine would only break programs.

use super::driver_file::{DriverFile, Place};
use super::elf::{Bits, Class, Machine};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

mod names;
mod settle;

pub use names::{is_driver_version, may_belong, of_driver, stem, version_in};
pub use settle::settled;

/// A library of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The file itself, no link.
    pub source: PathBuf,
    /// From its first bytes; none if it is no ELF file.
    pub class: Option<Class>,
    /// Names of links to it.
    pub links: BTreeSet<String>,
}

impl Candidate {
    /// The file's own name; empty if it is not text.
    pub fn name(&self) -> &str {
        file_name(&self.source)
    }
}

/// What to take beside libraries of the exact version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// Those that are known to belong to the driver.
    Known,
    /// All: someone who knows has listed them.
    All,
}

/// What was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    /// The driver's libraries, in the order of the candidates.
    pub files: Vec<DriverFile>,
    /// What was left out.
    pub notes: Vec<String>,
}

/// The versions that the candidates' `libcuda` and `libnvidia-ml` carry.
pub fn versions(candidates: &[Candidate]) -> BTreeSet<String> {
    let main = |name: &&str| ["libcuda.so", "libnvidia-ml.so"].contains(&stem(name));
    candidates
        .iter()
        .map(Candidate::name)
        .filter(main)
        .filter_map(version_in)
        .map(str::to_owned)
        .collect()
}

/// The driver's libraries of `version` among the candidates, for programs that run on machine `own`.
pub fn choose(candidates: &[Candidate], version: &str, own: Machine, others: Others) -> Choice {
    let mut choice = Choice::default();
    let mut strangers: BTreeMap<&str, (usize, &Path)> = BTreeMap::new();
    for one in candidates {
        let belongs = match version_in(one.name()) {
            Some(its) if its == version => true,
            Some(its) if of_driver(one.name()) => {
                strangers.entry(its).or_insert((0, &one.source)).0 += 1;
                false
            }
            _ => others == Others::All || names::has_own_version(&one.source),
        };
        if !belongs {
            continue;
        }
        match place(one.class, own) {
            Ok(place) => choice.files.push(DriverFile {
                source: one.source.clone(),
                place,
                name: one.name().to_owned(),
                links: links(one),
            }),
            Err(why) => choice
                .notes
                .push(format!("{} is left out: {why}", one.source.display())),
        }
    }
    for (its, (count, example)) in strangers {
        choice.notes.push(format!(
            "libraries of driver {its} are left out, as the driver is {version}: {count}, for example {}",
            example.display()
        ));
    }
    choice
}

fn links(one: &Candidate) -> Vec<String> {
    let mut links = one.links.clone();
    // By this name, which few hosts still have, programs of other machines' displays ask for it.
    if stem(one.name()) == "libGLX_nvidia.so" {
        links.insert("libGLX_indirect.so.0".to_owned());
    }
    links.remove(one.name());
    links.into_iter().collect()
}

fn place(class: Option<Class>, own: Machine) -> Result<Place, String> {
    let class = class.ok_or("it is no ELF file that can be read")?;
    match (class.machine, class.bits) {
        (machine, Bits::Bits64) if machine == own => Ok(Place::Lib64),
        (Machine::I386, Bits::Bits32) if own == Machine::X86_64 => Ok(Place::Lib32),
        _ => Err(format!(
            "it is for another machine, {:?} of {} bits",
            class.machine,
            if class.bits == Bits::Bits32 { 32 } else { 64 }
        )),
    }
}

/// The last part of a path, as text.
pub(crate) fn file_name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;

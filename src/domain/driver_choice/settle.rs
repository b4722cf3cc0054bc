// SPDX-License-Identifier: Apache-2.0
//! A folder holds each name once: of files found twice, and of links that two of them have, the first stays.

use super::names::{is_part_with_own_version, stem};
use crate::domain::driver_file::{DriverFile, Place};
use std::collections::{BTreeMap, HashSet};

/// The files sorted, each place's names distinct, links' among them. What goes is noted, unless it is the same file.
pub fn settled(files: Vec<DriverFile>, notes: &mut Vec<String>) -> Vec<DriverFile> {
    let mut kept: BTreeMap<(Place, String), DriverFile> = BTreeMap::new();
    for file in newest_linked(files, notes) {
        let key = (file.place.clone(), file.name.clone());
        match kept.get_mut(&key) {
            None => {
                kept.insert(key, file);
            }
            Some(first) => {
                if first.source != file.source {
                    notes.push(format!(
                        "{} is left out, as {} has the same name",
                        file.source.display(),
                        first.source.display()
                    ));
                }
                first.links.extend(file.links);
            }
        }
    }
    let mut taken: HashSet<(Place, String)> = kept.keys().cloned().collect();
    let mut files: Vec<DriverFile> = kept.into_values().collect();
    for file in &mut files {
        file.links.sort();
        file.links.retain(|link| {
            let plain = !link.is_empty() && link != "." && link != ".." && !link.contains('/');
            plain && taken.insert((file.place.clone(), link.clone()))
        });
    }
    files.sort();
    files
}

/// Of several releases of one library with a version of its own, the one that programs would get by its short name.
fn newest_linked(files: Vec<DriverFile>, notes: &mut Vec<String>) -> Vec<DriverFile> {
    let claims = |file: &DriverFile| {
        let short = format!("{}.1", stem(&file.name));
        file.links.contains(&short) || file.name == short
    };
    let linked: HashSet<(Place, String, String)> = files
        .iter()
        .filter(|file| claims(file))
        .map(|file| (file.place.clone(), stem(&file.name).to_owned(), file.name.clone()))
        .collect();
    let beaten = |file: &DriverFile| {
        let rival = |(place, name, other): &(Place, String, String)| {
            *place == file.place && name == stem(&file.name) && *other != file.name
        };
        is_part_with_own_version(&file.name) && !claims(file) && linked.iter().any(rival)
    };
    let (gone, stay): (Vec<_>, Vec<_>) = files.into_iter().partition(beaten);
    for file in gone {
        notes.push(format!(
            "{} is left out, as {}.1 is another file",
            file.source.display(),
            stem(&file.name)
        ));
    }
    stay
}

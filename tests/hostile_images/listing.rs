// SPDX-License-Identifier: Apache-2.0
//! Everything that is outside an image, so that any change to it is seen.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// By path: what it is, whose, since when, and its contents.
pub type Listing = BTreeMap<PathBuf, String>;

/// All that is in `folder`, itself included, but for `without`; the links in it are not followed.
pub fn listing(folder: &Path, without: &Path) -> Listing {
    let mut found = Listing::new();
    add(folder, without, &mut found);
    found
}

/// The places of the host that a path joined as text would reach, each with what is directly in it.
pub fn of_the_host() -> Listing {
    let mut found = Listing::new();
    for place in [
        "/usr/local",
        "/usr/local/nvidia",
        "/etc/ld.so.conf.d",
        "/lib/firmware",
        "/run/nvidia-persistenced",
        "/new",
    ] {
        let place = PathBuf::from(place);
        for entry in fs::read_dir(&place).into_iter().flatten() {
            let entry = entry.unwrap();
            found.insert(entry.path(), one(&entry.path()));
        }
        if place.exists() {
            found.insert(place.clone(), one(&place));
        }
    }
    for file in ["/etc/ld.so.cache", "/etc/ld.so.conf"] {
        if Path::new(file).exists() {
            found.insert(file.into(), one(Path::new(file)));
        }
    }
    found
}

fn add(path: &Path, without: &Path, found: &mut Listing) {
    if path == without {
        return;
    }
    found.insert(path.to_path_buf(), one(path));
    if path.symlink_metadata().unwrap().is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            add(&entry.unwrap().path(), without, found);
        }
    }
}

fn one(path: &Path) -> String {
    let found = path.symlink_metadata().unwrap();
    let mut contents = DefaultHasher::new();
    if found.is_file() {
        fs::read(path).unwrap().hash(&mut contents);
    } else if found.is_symlink() {
        fs::read_link(path).unwrap().hash(&mut contents);
    }
    format!(
        "mode {:o}, {}:{}, device {}, {}.{:09}, contents {:x}",
        found.mode(),
        found.uid(),
        found.gid(),
        found.rdev(),
        found.mtime(),
        found.mtime_nsec(),
        contents.finish()
    )
}

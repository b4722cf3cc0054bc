// SPDX-License-Identifier: Apache-2.0
//! Tells the image's own loader where the driver's libraries are. `LD_LIBRARY_PATH` does not reach a program that is
//! started with an empty environment or as another user; the loader's cache does. It is made here, from the image's: to run
//! the image's `ldconfig`, as root and before the container is one, would be to run whatever the image wants.

mod merged;

pub use merged::LoaderCaches;

use super::{ImageError, ImageRoot};
use crate::domain::driver_file::{DRIVER_FOLDER, DriverFile, Place};
use crate::domain::loader_cache::{AARCH64_FLAGS, Entry, X86_64_FLAGS, X86_FLAGS};

/// The loader's cache.
pub const CACHE: &str = "etc/ld.so.cache";
/// What `ldconfig` reads.
const CONFIGURATION: &str = "etc/ld.so.conf";
/// Folders for `ldconfig` to look into, should it be run in the container: it makes the cache anew from them. The name is
/// the first of its folder in order, so that the driver's libraries go before the image's, as in the cache.
const FOLDERS_FILE: &str = "etc/ld.so.conf.d/00-mesos-gpu.conf";
/// The loaders of the GNU C library, which alone read a cache and with which alone the driver's libraries work.
const GNU_LOADERS: [&str; 2] = ["lib64/ld-linux-x86-64.so.2", "lib/ld-linux-aarch64.so.1"];
/// How the loader of musl begins.
const MUSL_LOADER: &str = "ld-musl-";
/// Far more than an image's cache is.
const LARGEST_CACHE: u64 = 16 << 20;
/// Far more than such a file is.
const LARGEST_CONFIGURATION: u64 = 1 << 20;

/// The entries of a loader's cache with which the driver's libraries are found, by each of their names.
pub fn entries(files: &[DriverFile]) -> Vec<Entry> {
    let mut entries = Vec::new();
    for file in files {
        let Some(flags) = flags(&file.place) else {
            continue;
        };
        let names = file.links.iter().chain([&file.name]);
        for name in names.filter(|name| name.contains(".so")) {
            entries.push(Entry {
                name: name.clone(),
                path: format!("{DRIVER_FOLDER}/{}/{name}", file.place.folder()),
                flags,
                os_version: 0,
                hwcap: 0,
            });
        }
    }
    entries
}

/// What a cache says of a library there, on a machine of this kind; none for a folder without libraries.
fn flags(place: &Place) -> Option<i32> {
    let arm = cfg!(target_arch = "aarch64");
    match place {
        Place::Lib64 if arm => Some(AARCH64_FLAGS),
        Place::Lib64 => Some(X86_64_FLAGS),
        Place::Lib32 if !arm => Some(X86_FLAGS),
        _ => None,
    }
}

/// Makes the image's loader find the driver's libraries below `/usr/local/nvidia`, whatever the environment. What cannot
/// be done is no reason to fail, as programs find them by `LD_LIBRARY_PATH` too: it is what is returned, for the log. What
/// was made for a container of the same image is taken from `caches`.
pub fn show_libraries(image: &ImageRoot, files: &[DriverFile], caches: &mut LoaderCaches) -> Vec<String> {
    match gnu_loader(image) {
        Ok(None) => {}
        Ok(Some(why)) => return vec![why],
        Err(error) => return vec![format!("the image's loader is not told of the driver: {error}")],
    }
    let mut notes = Vec::new();
    if let Err(error) = write_cache(image, files, caches, &mut notes) {
        notes.push(format!(
            "programs with an empty environment do not find the driver: {error}"
        ));
        return notes;
    }
    match write_folders(image) {
        Ok(true) => {}
        Ok(false) => notes.push(format!(
            "the image's {CONFIGURATION} includes no {FOLDERS_FILE}: its ldconfig, once run, forgets the driver"
        )),
        Err(error) => notes.push(format!(
            "the image's ldconfig, once run, forgets the driver: {error}"
        )),
    }
    notes
}

/// None if the image has a loader that reads a cache, else why it is left as it is.
fn gnu_loader(image: &ImageRoot) -> Result<Option<String>, ImageError> {
    for loader in GNU_LOADERS {
        if image.has(loader)? {
            return Ok(None);
        }
    }
    let musl = image
        .names("lib")?
        .into_iter()
        .any(|name| name.starts_with(MUSL_LOADER));
    let why = if musl {
        "the image's C library is musl, which reads no loader cache and with which the driver's libraries do not work; \
         they are there, and so are the devices"
    } else {
        "the image has no loader of the GNU C library, without which the driver's libraries do not work; they are \
         there, and so are the devices"
    };
    Ok(Some(why.to_owned()))
}

fn write_cache(
    image: &ImageRoot,
    files: &[DriverFile],
    caches: &mut LoaderCaches,
    notes: &mut Vec<String>,
) -> Result<(), ImageError> {
    let own = image.read(CACHE, LARGEST_CACHE)?;
    let made = caches
        .with_driver(files, own)
        .map_err(|error| ImageError::Other(error.to_string()))?;
    if let Some(error) = &made.unreadable {
        // Nor can the image's loader read it, so nothing that it finds is lost.
        notes.push(format!(
            "the image's {CACHE} is replaced by one with the driver's libraries alone: {error}"
        ));
    }
    image.replace(CACHE, &made.bytes)
}

/// Writes the file that `ldconfig` reads, if it reads such files; says whether.
fn write_folders(image: &ImageRoot) -> Result<bool, ImageError> {
    let configuration = image.read(CONFIGURATION, LARGEST_CONFIGURATION)?;
    if !includes_folders(&String::from_utf8_lossy(&configuration.unwrap_or_default())) {
        return Ok(false);
    }
    let folders = [Place::Lib64, Place::Lib32].map(|place| format!("{DRIVER_FOLDER}/{}\n", place.folder()));
    image.replace(FOLDERS_FILE, folders.concat().as_bytes())?;
    Ok(true)
}

/// Whether a line of the configuration includes the files of `ld.so.conf.d`.
fn includes_folders(configuration: &str) -> bool {
    configuration.lines().any(|line| {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        words.next() == Some("include") && words.any(|word| word.contains("ld.so.conf.d/"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn every_name_of_a_library_is_found_and_nothing_else_is() {
        let file = |place, name: &str, links: &[&str]| DriverFile {
            source: PathBuf::from("/usr/lib").join(name),
            place,
            name: name.to_owned(),
            links: links.iter().map(|link| (*link).to_owned()).collect(),
        };
        let found = entries(&[
            file(
                Place::Lib64,
                "libcuda.so.580.159.04",
                &["libcuda.so.1", "libcuda.so"],
            ),
            file(Place::Bin, "nvidia-smi", &[]),
            file(Place::Firmware, "gsp_ga10x.bin", &[]),
        ]);
        let paths: Vec<&str> = found.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "/usr/local/nvidia/lib64/libcuda.so.1",
                "/usr/local/nvidia/lib64/libcuda.so",
                "/usr/local/nvidia/lib64/libcuda.so.580.159.04",
            ]
        );
        assert!(
            found
                .iter()
                .all(|one| one.path.ends_with(&format!("/{}", one.name)))
        );
    }

    #[test]
    fn an_include_is_seen_whatever_stands_around_it() {
        for yes in [
            "include /etc/ld.so.conf.d/*.conf\n",
            "/opt/lib\n  include\tld.so.conf.d/*.conf # all\n",
            "include /etc/a.conf /etc/ld.so.conf.d/*.conf",
        ] {
            assert!(includes_folders(yes), "{yes:?}");
        }
        for no in [
            "",
            "/etc/ld.so.conf.d/\n",
            "# include ld.so.conf.d/*.conf\n",
            "include /etc/other\n",
        ] {
            assert!(!includes_folders(no), "{no:?}");
        }
    }
}

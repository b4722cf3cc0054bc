// SPDX-License-Identifier: Apache-2.0
//! A host's file system in a temporary folder.

use mesos_gpu::domain::driver_file::{DriverFile, DriverFiles};
use mesos_gpu::domain::loader_cache::{self, Entry, X86_64_FLAGS, X86_FLAGS};
use mesos_gpu::system::driver_files::DriverSearch;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub const VERSION: &str = "580.159.04";
pub const OTHER: &str = "550.54.15";

pub struct Host {
    folder: TempDir,
}

impl Host {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("etc")).unwrap();
        Self { folder }
    }

    pub fn search(&self) -> DriverSearch {
        DriverSearch::new(Some(self.root()), None)
    }

    pub fn find(&self) -> Result<DriverFiles, String> {
        self.search().find(Some(VERSION))
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// The real path of a path of the host.
    pub fn path(&self, inside: &str) -> PathBuf {
        self.root().join(inside.trim_start_matches('/'))
    }

    pub fn plain(&self, inside: &str, bytes: &[u8]) {
        let path = self.path(inside);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub fn program(&self, inside: &str) {
        self.executable(inside, &elf(64));
    }

    /// What a host puts around a program.
    pub fn script(&self, inside: &str) {
        self.executable(inside, b"#!/bin/sh\n");
    }

    fn executable(&self, inside: &str, bytes: &[u8]) {
        self.plain(inside, bytes);
        fs::set_permissions(self.path(inside), fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn link(&self, inside: &str, target: &str) {
        let path = self.path(inside);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        symlink(target, path).unwrap();
    }

    /// A library with the links that packages bring.
    pub fn library(&self, folder: &str, name: &str, version: &str, bits: u8) {
        self.plain(&format!("{folder}/{name}.so.{version}"), &elf(bits));
        self.link(&format!("{folder}/{name}.so.1"), &format!("{name}.so.{version}"));
        self.link(&format!("{folder}/{name}.so"), &format!("{name}.so.1"));
    }

    /// A loader cache of the short names in `folders`, of the same name in their order, as at `/etc/ld.so.cache`.
    pub fn cache(&self, folders: &[&str]) -> Vec<u8> {
        let mut entries = Vec::new();
        for folder in folders {
            for entry in fs::read_dir(self.path(folder)).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                if !name.ends_with(".so.1") {
                    continue;
                }
                let narrow = folder.contains("i386");
                entries.push(Entry {
                    path: format!("{folder}/{name}"),
                    name,
                    flags: if narrow { X86_FLAGS } else { X86_64_FLAGS },
                    os_version: 0,
                    hwcap: 0,
                });
            }
        }
        let bytes = loader_cache::with_added(None, &entries).unwrap();
        self.plain("/etc/ld.so.cache", &bytes);
        bytes
    }
}

/// The file at a place and name, as `lib64/libcuda.so.1`.
pub fn file<'a>(found: &'a DriverFiles, place_and_name: &str) -> &'a DriverFile {
    found
        .files
        .iter()
        .find(|file| format!("{}/{}", file.place.folder(), file.name) == place_and_name)
        .unwrap_or_else(|| panic!("no {place_and_name} in {found:#?}"))
}

/// The beginning of a library for this machine, of 64 bits or of 32.
pub fn elf(bits: u8) -> Vec<u8> {
    let (class, machine) = match (bits, cfg!(target_arch = "aarch64")) {
        (64, true) => (2, 183u16),
        (64, false) => (2, 62),
        _ => (1, 3),
    };
    let mut bytes = b"\x7fELF".to_vec();
    bytes.extend([class, 1, 1]);
    bytes.resize(16, 0);
    bytes.extend(3u16.to_le_bytes());
    bytes.extend(machine.to_le_bytes());
    bytes.resize(64, 0);
    bytes
}

pub fn within_old_form(new: &[u8]) -> Vec<u8> {
    let mut bytes = b"ld.so-1.7.0\0".to_vec();
    bytes.extend(1u32.to_le_bytes());
    bytes.extend([0; 12]);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes.extend(new);
    bytes
}

/// With the block after the strings in which `ldconfig` names itself.
pub fn extended(new: &[u8]) -> Vec<u8> {
    let mut bytes = new.to_vec();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let at = u32::try_from(bytes.len()).unwrap();
    bytes[32..36].copy_from_slice(&at.to_le_bytes());
    for number in [0xeaa4_2174u32, 1, 0, 0, at + 24, 4] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(b"made");
    bytes
}

/// Whether every source is below `folder`.
pub fn all_below(found: &DriverFiles, folder: &Path) -> bool {
    found.files.iter().all(|file| file.source.starts_with(folder))
}

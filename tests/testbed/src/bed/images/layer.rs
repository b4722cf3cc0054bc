// SPDX-License-Identifier: Apache-2.0
//! One layer of an image: an archive of files in the order in which they were named.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tar::{Builder, EntryType, Header};

use super::libraries;
use crate::error::{Error, Tried};

/// Something in a layer.
#[derive(Debug, Clone)]
pub(super) enum Entry {
    File {
        content: Vec<u8>,
        mode: u32,
    },
    Link(String),
    Folder {
        mode: u32,
    },
    Device {
        major: u32,
        minor: u32,
        mode: u32,
    },
    /// A program of this machine, with what it needs.
    Program(PathBuf),
    /// What a program or library of this machine needs, without itself.
    Needs(PathBuf),
}

/// The entries by their paths, which are relative to the root.
#[derive(Debug, Clone, Default)]
pub(super) struct Layer {
    entries: Vec<(String, Entry)>,
}

impl Layer {
    pub(super) fn add(&mut self, path: String, entry: Entry) {
        self.entries.push((path, entry));
    }

    /// The layer as an archive.
    pub(super) fn archive(&self) -> Result<Vec<u8>, Error> {
        let (mut archive, mut brought) = (Builder::new(Vec::new()), BTreeSet::new());
        for (path, entry) in &self.entries {
            let tried = || format!("put {path} into an image");
            match entry {
                Entry::File { content, mode } => write(&mut archive, path, content, *mode).tried(tried)?,
                Entry::Program(program) | Entry::Needs(program) => {
                    if matches!(entry, Entry::Program(_)) {
                        copy(&mut archive, path, program).tried(tried)?;
                    }
                    for library in libraries::of(program)? {
                        let inside = library.to_string_lossy().trim_start_matches('/').to_owned();
                        if brought.insert(library.clone()) {
                            copy(&mut archive, &inside, &library).tried(tried)?;
                        }
                    }
                }
                Entry::Link(target) => {
                    archive
                        .append_link(&mut header(EntryType::Symlink, 0o777), path, target)
                        .tried(tried)?;
                }
                Entry::Folder { mode } => {
                    let mut header = header(EntryType::Directory, *mode);
                    archive.append_data(&mut header, path, io::empty()).tried(tried)?;
                }
                Entry::Device { major, minor, mode } => {
                    let mut header = header(EntryType::Char, *mode);
                    header.set_device_major(*major).tried(tried)?;
                    header.set_device_minor(*minor).tried(tried)?;
                    archive.append_data(&mut header, path, io::empty()).tried(tried)?;
                }
            }
        }
        archive.into_inner().tried(|| "finish a layer".to_owned())
    }

    /// Unpacks the layer into a folder, which is made.
    pub(super) fn unpack(&self, root: &Path) -> Result<(), Error> {
        let tried = || format!("unpack an image in {}", root.display());
        fs::create_dir_all(root).tried(tried)?;
        let archive = self.archive()?;
        let mut archive = tar::Archive::new(archive.as_slice());
        archive.set_preserve_permissions(true);
        archive.unpack(root).tried(tried)
    }
}

fn header(kind: EntryType, mode: u32) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(0);
    // Fixed, so that an image made twice is the same image.
    header.set_mtime(1);
    header
}

/// Appends a file.
pub(super) fn write(
    archive: &mut Builder<impl Write>,
    path: &str,
    content: &[u8],
    mode: u32,
) -> io::Result<()> {
    let mut header = header(EntryType::Regular, mode);
    header.set_size(content.len() as u64);
    archive.append_data(&mut header, path, content)
}

fn copy(archive: &mut Builder<impl Write>, path: &str, file: &Path) -> io::Result<()> {
    let mode = fs::metadata(file)?.permissions().mode() & 0o777;
    write(archive, path, &fs::read(file)?, mode)
}

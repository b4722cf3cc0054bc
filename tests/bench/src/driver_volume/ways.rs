// SPDX-License-Identifier: Apache-2.0
//! What is compared: this library's volume, and what could be had instead.

use super::container::Step;
use super::tree::Tree;
use mesos_gpu::domain::driver_file::DriverFile;
use mesos_gpu::system::driver_volume::DriverVolumes;
use nix::mount::{MsFlags, mount};
use rustix::fs::{XattrFlags, setxattr};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use testbed::Error;

/// A way to give containers the driver's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// None: what a container costs without.
    None,
    /// This library's volume.
    Volume,
    /// A bind mount for each file, made in each container.
    EachFile,
    /// An overlay of names and sizes whose data is the driver's folder.
    Overlay,
    /// A copy, as Mesos's own isolator makes.
    Copy,
}

/// What was set up for all containers.
pub struct SetUp {
    /// What each container does.
    pub steps: Vec<Step>,
    /// File systems that were made, whose use counts.
    pub made: Vec<PathBuf>,
    /// What must live as long.
    pub keep: Option<DriverVolumes>,
}

impl Way {
    /// All, in the order of the tables.
    pub const ALL: [Way; 5] = [Way::None, Way::Volume, Way::EachFile, Way::Overlay, Way::Copy];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Way::None => "no driver",
            Way::Volume => "volume",
            Way::EachFile => "bind each file",
            Way::Overlay => "overlay",
            Way::Copy => "copy",
        }
    }

    /// Whether containers see the driver.
    pub fn shows(self) -> bool {
        self != Way::None
    }

    /// Does what is done once, below `folder`.
    pub fn set_up(self, tree: &Tree, folder: &Path) -> Result<SetUp, Error> {
        let failed = |e: io::Error| Error::new(format!("set up {} in {}", self.name(), folder.display()), e);
        let mut up = SetUp {
            steps: Vec::new(),
            made: Vec::new(),
            keep: None,
        };
        let one = |source: PathBuf, recursive| {
            vec![Step::Bind {
                source,
                target: PathBuf::new(),
                recursive,
                read_only: false,
            }]
        };
        match self {
            Way::None => {}
            Way::Volume => {
                let mut volumes = DriverVolumes::open(folder);
                let volume = volumes
                    .provide(&tree.files, "a container")
                    .map_err(|why| Error::new("provide a driver volume", why))?;
                up.steps = one(volume.clone(), true);
                up.made.push(volume);
                up.keep = Some(volumes);
            }
            Way::EachFile => up.steps = tree.files.files.iter().flat_map(steps_for).collect(),
            Way::Overlay => {
                let shown = overlay(tree, folder).map_err(failed)?;
                up.steps = one(shown, false);
            }
            Way::Copy => {
                copy(tree, folder).map_err(failed)?;
                up.steps = one(folder.to_owned(), false);
            }
        }
        Ok(up)
    }
}

fn steps_for(file: &DriverFile) -> Vec<Step> {
    let target = Path::new(&file.place.folder()).join(&file.name);
    let mut steps = vec![
        Step::Placeholder {
            target: target.clone(),
        },
        Step::Bind {
            source: file.source.clone(),
            target: target.clone(),
            recursive: false,
            read_only: true,
        },
    ];
    for link in &file.links {
        steps.push(Step::Link {
            to: file.name.clone(),
            target: target.with_file_name(link),
        });
    }
    steps
}

/// A lower layer of names with the size of each file and no data, and the driver's folder as a layer that gives data only
/// and is not seen by itself. Kernels have that since 6.5.
fn overlay(tree: &Tree, folder: &Path) -> io::Result<PathBuf> {
    let (names, shown) = (folder.join("names"), folder.join("shown"));
    fs::create_dir(&shown)?;
    for file in &tree.files.files {
        let below = names.join(file.place.folder());
        fs::create_dir_all(&below)?;
        let name = below.join(&file.name);
        let empty = File::create(&name)?;
        empty.set_len(file.source.metadata()?.len())?;
        let in_layer = file.source.strip_prefix(&tree.root).map_err(io::Error::other)?;
        let redirect = format!("/{}", in_layer.display());
        setxattr(&name, "trusted.overlay.metacopy", b"", XattrFlags::CREATE)?;
        setxattr(
            &name,
            "trusted.overlay.redirect",
            redirect.as_bytes(),
            XattrFlags::CREATE,
        )?;
        for link in &file.links {
            symlink(&file.name, below.join(link))?;
        }
    }
    let layers = format!(
        "lowerdir={}::{},metacopy=on,redirect_dir=follow",
        names.display(),
        tree.root.display()
    );
    let flags = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(
        Some("overlay"),
        &shown,
        Some("overlay"),
        flags,
        Some(layers.as_str()),
    )?;
    Ok(shown)
}

fn copy(tree: &Tree, folder: &Path) -> io::Result<()> {
    for file in &tree.files.files {
        let below = folder.join(file.place.folder());
        fs::create_dir_all(&below)?;
        fs::copy(&file.source, below.join(&file.name))?;
        for link in &file.links {
            symlink(&file.name, below.join(link))?;
        }
    }
    Ok(())
}

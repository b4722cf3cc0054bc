// SPDX-License-Identifier: Apache-2.0
//! Decides where in an image the driver, its helpers and the device nodes are mounted. Mesos's launcher makes the mounts
//! by their path as text, after mounts of its own, and makes what is missing: so each target must be a real place inside
//! the image, and none may be below what something else is mounted over.

mod target;

use crate::domain::driver_file::{DRIVER_FOLDER, DriverFiles, Place};
use crate::domain::mount::Mount;
use crate::ports::images::{DriverOutfit, Outfit};
use crate::system::device_copies::NodeCopy;
use crate::system::driver_params;
use crate::system::image_root::loader::{self, LoaderCaches};
use crate::system::image_root::{ImageError, ImageRoot};
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use target::{Covered, check_apart};

/// Where the persistence daemon listens, on a host that runs it and in a container.
pub const PERSISTENCED_SOCKET: &str = "/run/nvidia-persistenced/socket";

/// Where drivers look for what they load into a GPU.
const FIRMWARE: &str = "lib/firmware/nvidia";

/// What an image is to be fitted with.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fit<'a> {
    /// The driver's files; none for an image that gets no driver.
    pub driver: Option<DriverVolume<'a>>,
    /// The device nodes.
    pub nodes: &'a [NodeCopy],
    /// The copy of the driver's parameters.
    pub params: Option<&'a Path>,
    /// The persistence daemon's socket on the host, used if it is one.
    pub socket: Option<&'a Path>,
    /// The paths in the container that others mount something on, such as volumes and the sandbox. `/dev`, `/proc` and
    /// `/sys` are known.
    pub covered: &'a [String],
}

/// The driver's files, made ready.
#[derive(Debug, Clone, Copy)]
pub struct DriverVolume<'a> {
    /// The folder that becomes `/usr/local/nvidia`.
    pub folder: &'a Path,
    /// What is in it.
    pub files: &'a DriverFiles,
}

/// Fits an image: makes what its mounts stand on, tells its loader of the driver, and says what is to be mounted, in order.
/// `caches` are the loader caches of those before.
///
/// # Errors
/// The driver or a device node has no safe place in the image.
pub fn fit(image: &ImageRoot, fit: &Fit, caches: &mut LoaderCaches) -> Result<Outfit, String> {
    let covered = Covered::new(image, fit.covered);
    let mut outfit = Outfit::default();
    if let Some(driver) = fit.driver {
        let target = covered.uncovered(image.folder(DRIVER_FOLDER)?)?;
        outfit.mounts.push(Mount {
            recursive: true,
            ..read_only(driver.folder, target)
        });
        outfit.driver = Some(DriverOutfit::default());
        outfit
            .notes
            .extend(loader::show_libraries(image, &driver.files.files, caches));
        match firmware(image, &covered, &driver) {
            Ok(mount) => outfit.mounts.extend(mount),
            Err(why) => outfit
                .notes
                .push(format!("the driver's firmware is not in the image: {why}")),
        }
    }
    if let Some(params) = fit.params {
        let proc = own_mount_point(image, "proc")?;
        let below = Path::new(driver_params::PARAMS).strip_prefix("/proc");
        let target = proc.join(below.map_err(|error| error.to_string())?);
        outfit.mounts.push(read_only(params, target));
    }
    if !fit.nodes.is_empty() {
        let dev = own_mount_point(image, "dev")?;
        let nodes = fit.nodes.iter();
        outfit
            .mounts
            .extend(nodes.map(|node| read_only(&node.copy, dev.join(&node.path))));
    }
    match fit.socket.map(|socket| persistenced(image, &covered, socket)) {
        None => {}
        Some(Ok(mount)) => outfit.mounts.extend(mount),
        Some(Err(why)) => outfit.notes.push(format!(
            "the persistence daemon's socket is not in the image: {why}"
        )),
    }
    check_apart(image, &outfit.mounts)?;
    Ok(outfit)
}

fn read_only(source: &Path, target: PathBuf) -> Mount {
    Mount {
        source: source.to_path_buf(),
        target,
        recursive: false,
        read_only: true,
    }
}

/// The folder of the image that Mesos mounts something new on, by its path as text. If the image has a link there, that
/// mount is elsewhere, and what is mounted below it would be made in the image or outside it.
fn own_mount_point(image: &ImageRoot, name: &str) -> Result<PathBuf, String> {
    let place = image.folder(name)?;
    if place == image.path().join(name) {
        return Ok(place);
    }
    Err(format!(
        "cannot mount below /{name} of image {}: it is a link, which leads to {:?}",
        image.path().display(),
        place
    ))
}

fn firmware(image: &ImageRoot, covered: &Covered, driver: &DriverVolume) -> Result<Option<Mount>, String> {
    let has_some = driver
        .files
        .files
        .iter()
        .any(|file| file.place == Place::Firmware);
    if !has_some {
        return Ok(None);
    }
    let version = &driver.files.version;
    let is_version = version.starts_with(|first: char| first.is_ascii_digit())
        && version.chars().all(|c| c.is_ascii_digit() || c == '.');
    if !is_version {
        return Err(format!("the driver's version {version:?} is none"));
    }
    let target = covered.uncovered(image.folder(&format!("{FIRMWARE}/{version}"))?)?;
    let source = driver.folder.join(Place::Firmware.folder());
    Ok(Some(Mount {
        recursive: true,
        ..read_only(&source, target)
    }))
}

/// The socket's mount; writable, since to connect is to write. None where the host has no such socket.
fn persistenced(image: &ImageRoot, covered: &Covered, socket: &Path) -> Result<Option<Mount>, String> {
    if !fs::symlink_metadata(socket).is_ok_and(|found| found.file_type().is_socket()) {
        return Ok(None);
    }
    let target = image
        .file(PERSISTENCED_SOCKET)
        .map_err(|error: ImageError| error.to_string())?;
    Ok(Some(Mount {
        read_only: false,
        ..read_only(socket, covered.uncovered(target)?)
    }))
}

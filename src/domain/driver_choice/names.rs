// SPDX-License-Identifier: Apache-2.0
//! What the names of libraries tell. A list of the driver's libraries grows stale with each of its branches, so names are
//! listed here only for the few that do not carry its version.

use std::path::Path;

/// Parts of the driver with versions of their own: EGL's bridges to displays, the interface for tools, and the compiler that
/// the driver keeps beside the present one for what older releases of CUDA made.
const OWN_VERSION: [&str; 8] = [
    "libnvidia-api.so",
    "libnvidia-egl-gbm.so",
    "libnvidia-egl-wayland.so",
    "libnvidia-egl-wayland2.so",
    "libnvidia-egl-xcb.so",
    "libnvidia-egl-xlib.so",
    "libnvidia-nvvm70.so",
    "libnvidia-vulkan-producer.so",
];
/// Where Windows puts the driver for Linux programs, with no version in any name.
const WSL_FOLDER: &str = "wsl/lib";
/// The beginnings of the driver's names there; the folder holds Direct3D too.
const WSL_NAMES: [&str; 3] = ["libcuda", "libnv", "libdxcore.so"];
/// In the names of those of the driver's libraries that stand in for a vendor's neutral one.
const VENDOR: &str = "_nvidia";

/// Whether `text` is a driver's version, for example `580.159.04`: numbers with dots, the first of three digits or four.
pub fn is_driver_version(text: &str) -> bool {
    let mut parts = text.split('.');
    let branch = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    (3..=4).contains(&branch.len())
        && is_number(branch)
        && !rest.is_empty()
        && rest.into_iter().all(is_number)
}

/// The driver version that the name of a library ends in.
pub fn version_in(name: &str) -> Option<&str> {
    let (_, version) = name.split_once(".so.")?;
    is_driver_version(version).then_some(version)
}

/// The name up to `.so`, with it; all of it if it is not that of a library.
pub fn stem(name: &str) -> &str {
    match name.find(".so") {
        Some(at) if matches!(name.as_bytes().get(at + 3), None | Some(b'.')) => &name[..at + 3],
        _ => name,
    }
}

/// Whether a library of this name and of whatever version is a driver's.
pub fn of_driver(name: &str) -> bool {
    let stem = stem(name);
    stem == "libcuda.so"
        || stem == "libcudadebugger.so"
        || stem == "libnvcuvid.so"
        || stem == "libnvoptix.so"
        || stem.contains(VENDOR)
        // The container toolkit's own, which has versions of its own.
        || (stem.starts_with("libnvidia-") && !stem.starts_with("libnvidia-container"))
}

/// Whether the file may be the driver's, of whatever version: worth a look into it.
pub fn may_belong(source: &Path) -> bool {
    version_in(super::file_name(source)).is_some() || has_own_version(source)
}

/// Whether the file is the driver's though its name carries another version, or none.
pub(super) fn has_own_version(source: &Path) -> bool {
    let name = super::file_name(source);
    let stem = stem(name);
    if stem == name && !name.ends_with(".so") {
        return false;
    }
    if is_part_with_own_version(name) {
        return true;
    }
    let folder = source.parent().is_some_and(|folder| folder.ends_with(WSL_FOLDER));
    folder && WSL_NAMES.iter().any(|start| stem.starts_with(start))
}

/// Whether the name is that of a part of the driver with a version of its own, and carries one.
pub(super) fn is_part_with_own_version(name: &str) -> bool {
    OWN_VERSION.contains(&stem(name)) && version_in(name).is_none()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

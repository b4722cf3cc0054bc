// SPDX-License-Identifier: Apache-2.0
//! The names of the `libcuda` that an image brings for use with an older driver. Whether it is used is decided by its
//! version, which is in its name; the file itself is never opened.

use super::ImageRoot;
use crate::domain::compat::COMPAT_FOLDER;

/// Far more than such a folder has.
const MOST: usize = 64;

/// The names of the libraries in the image's [`COMPAT_FOLDER`]; empty where there are none, or where what is there is no
/// such folder.
pub fn compat_names(image: &ImageRoot) -> Vec<String> {
    let names = image.names(COMPAT_FOLDER).unwrap_or_default();
    names
        .into_iter()
        .filter(|name| name.starts_with("lib") && name.contains(".so") && !name.chars().any(char::is_control))
        .take(MOST)
        .collect()
}

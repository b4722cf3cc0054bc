// SPDX-License-Identifier: Apache-2.0
//! The folder that an agent takes its helper programs from: links to the one program of the testbed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::base::Base;
use crate::error::{Error, Tried};
use crate::program::{BASE_LINK, HELPERS};

/// Makes `folder` with a link for every helper and one to the base.
pub(crate) fn make(folder: &Path, program: &Path, base: &Base) -> Result<(), Error> {
    let tried = || format!("make the launcher folder {}", folder.display());
    fs::create_dir_all(folder).tried(tried)?;
    for name in HELPERS {
        symlink(program, folder.join(name)).tried(tried)?;
    }
    symlink(base.folder(), folder.join(BASE_LINK)).tried(tried)
}

// SPDX-License-Identifier: Apache-2.0
//! Where an agent's loader finds a library by its name alone: a folder that holds nothing else.

use std::env;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::error::{Error, Tried};

const SEARCH_PATH: &str = "LD_LIBRARY_PATH";

/// Makes `folder` with a link to the library, and puts it before what is searched already.
pub(super) fn add(
    library: &Path,
    folder: &Path,
    environment: &mut Vec<(String, String)>,
) -> Result<(), Error> {
    let tried = || format!("make {} findable in {}", library.display(), folder.display());
    let name = library
        .file_name()
        .ok_or_else(|| Error::new(tried(), "it has no name"))?;
    std::fs::create_dir_all(folder).tried(tried)?;
    symlink(library, folder.join(name)).tried(tried)?;
    let searched = match environment.iter().position(|(name, _)| name == SEARCH_PATH) {
        Some(at) => Some(environment.remove(at).1),
        None => env::var(SEARCH_PATH).ok(),
    };
    let folders = [folder.display().to_string()].into_iter().chain(searched);
    environment.push((SEARCH_PATH.to_owned(), folders.collect::<Vec<_>>().join(":")));
    Ok(())
}

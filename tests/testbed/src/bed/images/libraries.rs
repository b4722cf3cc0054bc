// SPDX-License-Identifier: Apache-2.0
//! Which files a program of this machine needs to start elsewhere: its loader knows, and says it through `ldd`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Tried};

/// The loader and the libraries of a program, as absolute paths; none for one that needs none.
pub(super) fn of(program: &Path) -> Result<Vec<PathBuf>, Error> {
    let tried = || format!("find the libraries of {}", program.display());
    let mut ldd = Command::new("ldd");
    // The image will not have the folders that it names.
    ldd.arg(program).env_remove("LD_LIBRARY_PATH");
    let output = ldd.output().tried(tried)?;
    let text = String::from_utf8_lossy(&output.stdout);
    if text.contains("statically linked") || String::from_utf8_lossy(&output.stderr).contains("not a dynamic")
    {
        return Ok(Vec::new());
    }
    if !output.status.success() {
        return Err(Error::new(tried(), format!("ldd ended with {}", output.status)));
    }
    listed(&text).map_err(|name| Error::new(tried(), format!("this machine has no {name}")))
}

/// The files that `ldd` lists, or the name of one that it did not find. What the kernel brings has no file.
fn listed(text: &str) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for line in text.lines().map(str::trim) {
        let (name, place) = line.split_once(" => ").unwrap_or((line, line));
        if place.starts_with("not found") {
            return Err(name.to_owned());
        }
        let file = place.split(" (").next().unwrap_or_default();
        if file.starts_with('/') {
            files.push(PathBuf::from(file));
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_taken_and_what_is_missing_is_named() {
        let text = "\tlinux-vdso.so.1 (0x1)\n\tlibc.so.6 => /lib/libc.so.6 (0x2)\n\t/lib64/ld-linux-x86-64.so.2 (0x3)\n";
        let files = listed(text).unwrap();
        assert_eq!(
            files,
            [
                Path::new("/lib/libc.so.6"),
                Path::new("/lib64/ld-linux-x86-64.so.2")
            ]
        );
        assert_eq!(listed("\tlibx.so.1 => not found\n"), Err("libx.so.1".to_owned()));
    }

    #[test]
    fn this_very_program_has_a_loader_and_a_c_library() {
        let files = of(&std::env::current_exe().unwrap()).unwrap();
        assert!(files.iter().all(|file| file.is_file()), "{files:?}");
        assert!(
            files.iter().any(|file| file.to_string_lossy().contains("libc.")),
            "{files:?}"
        );
        assert!(of(Path::new("/nonexistent")).is_err());
    }
}

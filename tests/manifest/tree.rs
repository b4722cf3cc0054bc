// SPDX-License-Identifier: Apache-2.0
//! The files of the repository: what git tracks or would track, else every file but the build's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A file of the repository.
pub struct Entry {
    /// Relative to the root.
    pub path: PathBuf,
    pub data: Vec<u8>,
}

impl Entry {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.data).into_owned()
    }

    pub fn is_code(&self) -> bool {
        self.path
            .extension()
            .is_some_and(|end| ["rs", "cpp", "hpp", "h"].iter().any(|code| end == *code))
    }

    pub fn is_rust(&self) -> bool {
        self.path.extension().is_some_and(|end| end == "rs")
    }
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file of the repository, by path.
pub fn entries() -> Vec<Entry> {
    let mut paths = from_git().unwrap_or_else(|| {
        let mut found = Vec::new();
        walk(root(), &mut found);
        found
    });
    paths.sort();
    assert!(
        paths.len() > 100,
        "only {} files were found: the test no longer sees the tree",
        paths.len()
    );
    let read = |path: PathBuf| fs::read(root().join(&path)).map(|data| Entry { path, data });
    // What git tracks may be deleted and not yet committed.
    paths
        .into_iter()
        .filter(|path| root().join(path).is_file())
        .map(|path| read(path).unwrap())
        .collect()
}

/// None outside a git work tree (a source archive), or where git is not installed or does not trust the folder.
fn from_git() -> Option<Vec<PathBuf>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root());
    let output = git.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout)
        .ok()
        .filter(|_| output.status.success())?;
    let paths: Vec<PathBuf> = text.split_terminator('\0').map(PathBuf::from).collect();
    (!paths.is_empty()).then_some(paths)
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let relative = path.strip_prefix(root()).unwrap().to_path_buf();
        if path.is_symlink()
            || [".git", "target"]
                .iter()
                .any(|other| relative == Path::new(other))
        {
            continue;
        }
        if path.is_dir() {
            walk(&path, found);
        } else {
            found.push(relative);
        }
    }
}

/// Fails with all that is wrong, not only the first.
pub fn assert_none(what: &str, wrong: &[String]) {
    assert!(wrong.is_empty(), "{what}:\n  {}", wrong.join("\n  "));
}

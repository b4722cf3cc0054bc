// SPDX-License-Identifier: Apache-2.0
//! Paths below a root that is not this process's own: a driver's container or another system's tree. An absolute link there
//! means that root's, and none leads out of it.

use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// As many as the kernel follows.
const MOST_LINKS: usize = 40;

/// A root, and what is known of the links in it: libraries share their folders.
pub(super) struct Root {
    top: PathBuf,
    links: HashMap<PathBuf, Option<PathBuf>>,
    /// Folders, by a path with links and by one without.
    folders: HashMap<PathBuf, PathBuf>,
}

impl Root {
    /// `top` holds no link itself.
    pub fn new(top: PathBuf) -> Self {
        Self {
            top,
            links: HashMap::new(),
            folders: HashMap::new(),
        }
    }

    /// The host's path of what is at `inside`, whose links are resolved already.
    pub fn host(&self, inside: &Path) -> PathBuf {
        self.top.join(inside.strip_prefix("/").unwrap_or(inside))
    }

    /// The path of the same file or folder without links, as seen within the root.
    pub fn resolve(&mut self, inside: &Path) -> io::Result<PathBuf> {
        let (Some(folder), Some(name)) = (inside.parent(), inside.file_name()) else {
            return self.walk(PathBuf::from("/"), parts(inside));
        };
        let folder = match self.folders.get(folder) {
            Some(known) => known.clone(),
            None => {
                let found = self.walk(PathBuf::from("/"), parts(folder))?;
                self.folders.insert(folder.to_owned(), found.clone());
                found
            }
        };
        self.walk(folder, VecDeque::from([name.to_owned()]))
    }

    /// Goes from `done`, which has no links in it, over the parts of `todo`.
    fn walk(&mut self, mut done: PathBuf, mut todo: VecDeque<OsString>) -> io::Result<PathBuf> {
        let mut followed = 0;
        while let Some(part) = todo.pop_front() {
            if part == ".." {
                done.pop();
                continue;
            }
            let next = done.join(&part);
            let Some(target) = self.link(&next)? else {
                done = next;
                continue;
            };
            followed += 1;
            if followed > MOST_LINKS {
                return Err(io::Error::other("its links go in a circle"));
            }
            if target.is_absolute() {
                done = PathBuf::from("/");
            }
            let mut rest = parts(&target);
            rest.append(&mut todo);
            todo = rest;
        }
        Ok(done)
    }

    /// The target, if `path` is a link; its folder has none in it.
    fn link(&mut self, path: &Path) -> io::Result<Option<PathBuf>> {
        if let Some(known) = self.links.get(path) {
            return Ok(known.clone());
        }
        let host = self.host(path);
        let target = match fs::read_link(&host) {
            Ok(target) => Some(target),
            // Not a link.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => None,
            Err(error) => return Err(error),
        };
        self.links.insert(path.to_owned(), target.clone());
        Ok(target)
    }
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let part = |component| match component {
        Component::Normal(name) => Some(name),
        Component::ParentDir => Some(OsStr::new("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(part).map(OsStr::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_within_the_root_only() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        fs::create_dir_all(top.join("root/usr/lib")).unwrap();
        fs::write(top.join("outside"), "").unwrap();
        fs::write(top.join("root/usr/lib/file"), "").unwrap();
        symlink("usr/lib", top.join("root/lib")).unwrap();
        symlink("/lib/file", top.join("root/absolute")).unwrap();
        symlink(
            "../../../../../../lib/../lib/./file",
            top.join("root/usr/lib/climbing"),
        )
        .unwrap();
        symlink("../../outside", top.join("root/usr/out")).unwrap();
        symlink(top.join("outside"), top.join("root/usr/away")).unwrap();
        symlink("circle", top.join("root/circle")).unwrap();
        let mut root = Root::new(top.join("root"));
        for same in [
            "/absolute",
            "/lib/file",
            "lib/climbing",
            "/usr/lib/file",
            "/usr/../absolute",
        ] {
            assert_eq!(
                root.resolve(Path::new(same)).unwrap(),
                Path::new("/usr/lib/file"),
                "{same}"
            );
        }
        for none in ["/usr/out", "/usr/away", "/usr/lib/file/below", "/nothing"] {
            assert!(root.resolve(Path::new(none)).is_err(), "{none}");
        }
        let circle = root.resolve(Path::new("/circle")).unwrap_err();
        assert_eq!(circle.to_string(), "its links go in a circle");
        assert_eq!(root.host(Path::new("/usr/lib")), top.join("root/usr/lib"));
    }
}

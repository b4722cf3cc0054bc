// SPDX-License-Identifier: Apache-2.0
//! The root file system of an untrusted image, as root may touch it: an image can hold a link at any place, and a path
//! that is joined to its root as text leads wherever the image wants. Here every path is resolved by the kernel as if the
//! root were the machine's (`openat2`), what is made is made through the folder that was so found, and what is handed out
//! is the real place, below the root and without a link.

mod compat;
mod contents;
mod error;
mod found;
pub mod loader;
mod resolve;

pub use compat::compat_names;
pub use error::{ImageError, in_words};
pub(super) use found::mount_of;

use found::Found;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::libc::{O_CLOEXEC, O_DIRECTORY, O_PATH};
use nix::sys::stat::{Mode, SFlag, mkdirat};
use pathrs::Root;
use resolve::resolve;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The mode of a folder that is made.
const FOLDER_MODE: Mode = Mode::from_bits_truncate(0o755);
/// The mode of a file that is made.
const FILE_MODE: Mode = Mode::from_bits_truncate(0o644);

/// The opened root of an image. Paths inside it are written with or without a leading `/`, and without `.` and `..`.
#[derive(Debug)]
pub struct ImageRoot {
    root: Root,
    /// Without links, so that what is found in the image can be compared with it.
    path: PathBuf,
    /// The mount that the root is on.
    mount: u64,
}

impl ImageRoot {
    /// Opens the root of an image, a folder of the host named by an absolute path.
    ///
    /// # Errors
    /// There is no such folder, or it is the host's own root.
    pub fn open(path: &Path) -> Result<Self, String> {
        let failed = |why: &dyn Display| format!("cannot open image root {}: {why}", path.display());
        if !path.is_absolute() {
            return Err(failed(&"the path must be absolute"));
        }
        let mut options = OpenOptions::new();
        let open = options.read(true).custom_flags(O_PATH | O_DIRECTORY | O_CLOEXEC);
        let opened = open.open(path).map_err(|error| failed(&error))?;
        let root = Found::of(opened.into()).map_err(|errno| failed(&errno.desc()))?;
        let real = root.place().map_err(|why| failed(&why))?;
        if real.parent().is_none() {
            return Err(failed(&"it is the root of the host"));
        }
        if !root.is_at(&real) {
            return Err(failed(&format!("it is no longer at {}", real.display())));
        }
        let mount = root.mount().map_err(|why| failed(&why))?;
        Ok(Self {
            root: Root::from_fd(root.open),
            path: real,
            mount,
        })
    }

    /// Where it is on the host, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The real place on the host of a folder of the image; it and the folders above it are made where they are missing,
    /// for everybody to read, whatever the process's umask.
    ///
    /// # Errors
    /// Something else is in the way, a link leads to nothing or in circles, another mount is there, or it cannot be made.
    pub fn folder(&self, inside: &str) -> Result<PathBuf, ImageError> {
        let failed = |error: ImageError| error.context(&self.doing("make folder", inside));
        let folder = self
            .make_folders(&parts(inside).map_err(failed)?)
            .map_err(failed)?;
        self.real_place(&folder).map_err(failed)
    }

    /// The real place on the host of a folder of the image; none where there is nothing.
    ///
    /// # Errors
    /// Something else is there, a link leads in circles, or another mount is there.
    pub fn existing_folder(&self, inside: &str) -> Result<Option<PathBuf>, ImageError> {
        let failed = |error: ImageError| error.context(&self.doing("look at folder", inside));
        let Some(found) = self.look(&parts(inside).map_err(failed)?).map_err(failed)? else {
            return Ok(None);
        };
        found.must_be(SFlag::S_IFDIR, inside).map_err(failed)?;
        self.real_place(&found).map(Some).map_err(failed)
    }

    /// The real place on the host of a regular file of the image, to mount something on; an empty one is made where there
    /// is nothing, and the folders above it.
    ///
    /// # Errors
    /// As for [`ImageRoot::folder`].
    pub fn file(&self, inside: &str) -> Result<PathBuf, ImageError> {
        let failed = |error: ImageError| error.context(&self.doing("make file", inside));
        let parts = parts(inside).map_err(failed)?;
        let file = match self.look(&parts).map_err(failed)? {
            Some(found) => found,
            None => self.new_file(&parts).map_err(failed)?,
        };
        file.must_be(SFlag::S_IFREG, inside).map_err(failed)?;
        self.real_place(&file).map_err(failed)
    }

    fn doing(&self, what: &str, inside: &str) -> String {
        format!("cannot {what} {inside:?} in image {}", self.path.display())
    }

    /// What a path leads to, not opened; none where it leads to nothing.
    fn look(&self, parts: &[&str]) -> Result<Option<Found>, ImageError> {
        // Of no parts, the root itself.
        let inside = if parts.is_empty() {
            ".".to_owned()
        } else {
            parts.join("/")
        };
        let Some(open) = resolve(&self.root, &inside)? else {
            return Ok(None);
        };
        let found = Found::of(open).map_err(|errno| ImageError::from_errno(&inside, errno))?;
        if found.mount().map_err(ImageError::Other)? != self.mount {
            // What is mounted there is not the image's: it may be the host's or another container's.
            return Err(ImageError::Other(format!(
                "{inside:?} is on another mount than the image's root"
            )));
        }
        Ok(Some(found))
    }

    /// A folder, made where it is missing. Most of the way there is there, so it is looked for from below.
    fn make_folders(&self, parts: &[&str]) -> Result<Found, ImageError> {
        let mut depth = parts.len();
        let mut folder = loop {
            match self.look(&parts[..depth]) {
                Ok(Some(found)) => break found,
                Ok(None) if depth == 0 => return Err(ImageError::Other("the root is gone".to_owned())),
                Ok(None) => depth -= 1,
                // Which part of the path it is that is in the way is seen from above.
                Err(_) => return self.make_each_folder(parts),
            }
        };
        folder.must_be(SFlag::S_IFDIR, &parts[..depth].join("/"))?;
        while depth < parts.len() {
            depth += 1;
            folder = make_folder(&folder, &parts[..depth])?;
        }
        Ok(folder)
    }

    fn make_each_folder(&self, parts: &[&str]) -> Result<Found, ImageError> {
        let mut folder = self
            .look(&[])?
            .ok_or_else(|| ImageError::Other("the root is gone".to_owned()))?;
        for depth in 1..=parts.len() {
            let above = &parts[..depth];
            folder = match self.look(above)? {
                Some(found) => found,
                None => make_folder(&folder, above)?,
            };
            folder.must_be(SFlag::S_IFDIR, &above.join("/"))?;
        }
        Ok(folder)
    }

    fn new_file(&self, parts: &[&str]) -> Result<Found, ImageError> {
        let (name, above) = split(parts)?;
        let folder = self.make_folders(above)?;
        let flags = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_WRONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let file = openat(&folder.open, name, flags, FILE_MODE)
            .map_err(|errno| new_failed(&parts.join("/"), errno))?;
        let made = Found::of(file).and_then(|file| file.settled(FILE_MODE));
        made.map_err(|errno| ImageError::from_errno(name, errno))
    }

    /// The path on the host of what was found, proven to be below the root and to lead there without a link.
    fn real_place(&self, found: &Found) -> Result<PathBuf, ImageError> {
        let wrong = |why: String| Err(ImageError::Other(why));
        let place = found.place().map_err(ImageError::Other)?;
        if !place.starts_with(&self.path) {
            return wrong(format!("it is at {place:?}, outside the image"));
        }
        // Mesos gets it in a message, which holds nothing but UTF-8, and writes it to its log.
        if place
            .to_str()
            .is_none_or(|text| text.chars().any(char::is_control))
        {
            return wrong(format!(
                "it is at {place:?}, whose name is no printable UTF-8 text"
            ));
        }
        if !found.is_at(&place) {
            return wrong(format!("it is no longer at {place:?}"));
        }
        Ok(place)
    }
}

/// The components of a path inside an image.
fn parts(inside: &str) -> Result<Vec<&str>, ImageError> {
    let parts: Vec<&str> = inside.split('/').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() || parts.iter().any(|part| [".", ".."].contains(part)) {
        let why = "the path must name something below the root, without \".\" and \"..\"";
        return Err(ImageError::Other(why.to_owned()));
    }
    Ok(parts)
}

/// The last component, and those above it.
fn split<'a, 'b>(parts: &'b [&'a str]) -> Result<(&'a str, &'b [&'a str]), ImageError> {
    let (name, above) = parts
        .split_last()
        .ok_or_else(|| ImageError::Other("the path is empty".to_owned()))?;
    Ok((name, above))
}

fn make_folder(parent: &Found, path: &[&str]) -> Result<Found, ImageError> {
    let (name, _) = split(path)?;
    let inside = path.join("/");
    mkdirat(&parent.open, name, FOLDER_MODE).map_err(|errno| new_failed(&inside, errno))?;
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let made = openat(&parent.open, name, flags, Mode::empty())
        .and_then(Found::of)
        .and_then(|folder| folder.settled(FOLDER_MODE));
    made.map_err(|errno| ImageError::from_errno(&inside, errno))
}

/// Why something new could not be made. What is there already and leads to nothing is a link.
fn new_failed(inside: &str, errno: Errno) -> ImageError {
    match errno {
        Errno::EEXIST => ImageError::Other(format!("{inside:?} is a link that leads to nothing")),
        errno => ImageError::from_errno(inside, errno),
    }
}

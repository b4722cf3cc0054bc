// SPDX-License-Identifier: Apache-2.0
//! The root file system of an untrusted image, as root may touch it: an image can hold a link at any place, and a path
//! that is joined to its root as text leads wherever the image wants. Here every path is resolved by the kernel as if the
//! root were the machine's (`openat2`), what is made is made through the folder that was so found, and what is handed out
//! is the real place, below the root and without a link.

mod compat;
mod contents;
mod error;
pub mod loader;

pub use compat::compat_names;
pub use error::{ImageError, in_words};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fchmod, fstat, lstat, mkdirat};
use nix::unistd::{fchown, getegid, geteuid};
use pathrs::Root;
use pathrs::error::ErrorKind;
use std::fmt::Display;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
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
    mount: String,
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
        let real = fs::canonicalize(path).map_err(|error| failed(&error))?;
        if real.parent().is_none() {
            return Err(failed(&"it is the root of the host"));
        }
        let root = Root::open(&real).map_err(|error| failed(&in_words(&error)))?;
        let at_root = root.resolve("/").map_err(|error| failed(&in_words(&error)))?;
        let found = fstat(&at_root).map_err(|errno| failed(&errno.desc()))?;
        if !is(&found, SFlag::S_IFDIR) {
            return Err(failed(&format!("it is {}", kind(&found))));
        }
        let mount = mount_of(&at_root).map_err(|why| failed(&why))?;
        Ok(Self {
            root,
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
        must_be(&found, SFlag::S_IFDIR, inside).map_err(failed)?;
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
        must_be(&file, SFlag::S_IFREG, inside).map_err(failed)?;
        self.real_place(&file).map_err(failed)
    }

    fn doing(&self, what: &str, inside: &str) -> String {
        format!("cannot {what} {inside:?} in image {}", self.path.display())
    }

    /// What a path leads to, not opened; none where it leads to nothing.
    fn look(&self, parts: &[&str]) -> Result<Option<OwnedFd>, ImageError> {
        let inside = parts.join("/");
        let found = match self.root.resolve(&inside) {
            Ok(found) => OwnedFd::from(found),
            Err(error) => {
                let errno = match error.kind() {
                    ErrorKind::OsError(Some(number)) => Some(Errno::from_raw(number)),
                    _ => None,
                };
                return match errno {
                    Some(Errno::ENOENT) => Ok(None),
                    Some(Errno::ENOTDIR) => Err(ImageError::Other(format!(
                        "{inside:?} goes through something that is no folder"
                    ))),
                    Some(Errno::ELOOP) => Err(ImageError::Other(format!(
                        "{inside:?} goes through too many links"
                    ))),
                    Some(errno) => Err(ImageError::from_errno(&inside, errno)),
                    None => Err(ImageError::Other(format!("{inside:?}: {}", in_words(&error)))),
                };
            }
        };
        if mount_of(&found).map_err(ImageError::Other)? != self.mount {
            // What is mounted there is not the image's: it may be the host's or another container's.
            return Err(ImageError::Other(format!(
                "{inside:?} is on another mount than the image's root"
            )));
        }
        Ok(Some(found))
    }

    fn make_folders(&self, parts: &[&str]) -> Result<OwnedFd, ImageError> {
        let mut folder = self
            .look(&["."])?
            .ok_or_else(|| ImageError::Other("the root is gone".to_owned()))?;
        for depth in 1..=parts.len() {
            let above = &parts[..depth];
            folder = match self.look(above)? {
                Some(found) => found,
                None => make_folder(&folder, above)?,
            };
            must_be(&folder, SFlag::S_IFDIR, &above.join("/"))?;
        }
        Ok(folder)
    }

    fn new_file(&self, parts: &[&str]) -> Result<OwnedFd, ImageError> {
        let (name, above) = split(parts)?;
        let folder = self.make_folders(above)?;
        let flags = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_WRONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let file =
            openat(&folder, name, flags, FILE_MODE).map_err(|errno| new_failed(&parts.join("/"), errno))?;
        settle(&file, FILE_MODE).map_err(|errno| ImageError::from_errno(name, errno))?;
        Ok(file)
    }

    /// The path on the host of what was found, proven to be below the root and to lead there without a link.
    fn real_place(&self, found: &OwnedFd) -> Result<PathBuf, ImageError> {
        let wrong = |why: String| Err(ImageError::Other(why));
        let link = format!("/proc/self/fd/{}", found.as_raw_fd());
        let place = match fs::read_link(&link) {
            Ok(place) => place,
            Err(error) => return wrong(format!("cannot read {link}: {error}")),
        };
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
        match (lstat(&place), fstat(found)) {
            (Ok(there), Ok(here)) if (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino) => Ok(place),
            _ => wrong(format!("it is no longer at {place:?}")),
        }
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

fn make_folder(parent: &OwnedFd, path: &[&str]) -> Result<OwnedFd, ImageError> {
    let (name, _) = split(path)?;
    let inside = path.join("/");
    mkdirat(parent, name, FOLDER_MODE).map_err(|errno| new_failed(&inside, errno))?;
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let folder =
        openat(parent, name, flags, Mode::empty()).map_err(|errno| ImageError::from_errno(&inside, errno))?;
    settle(&folder, FOLDER_MODE).map_err(|errno| ImageError::from_errno(&inside, errno))?;
    Ok(folder)
}

/// Owner and mode as meant: the umask has taken from the mode, and a folder can give its group to what is made in it.
fn settle(made: &OwnedFd, mode: Mode) -> nix::Result<()> {
    fchown(made, Some(geteuid()), Some(getegid()))?;
    fchmod(made, mode)
}

/// Why something new could not be made. What is there already and leads to nothing is a link.
fn new_failed(inside: &str, errno: Errno) -> ImageError {
    match errno {
        Errno::EEXIST => ImageError::Other(format!("{inside:?} is a link that leads to nothing")),
        errno => ImageError::from_errno(inside, errno),
    }
}

fn must_be(found: &OwnedFd, wanted: SFlag, inside: &str) -> Result<(), ImageError> {
    let found = fstat(found).map_err(|errno| ImageError::from_errno(inside, errno))?;
    if is(&found, wanted) {
        return Ok(());
    }
    Err(ImageError::Other(format!("{inside:?} is {}", kind(&found))))
}

fn is(found: &FileStat, wanted: SFlag) -> bool {
    found.st_mode & SFlag::S_IFMT.bits() == wanted.bits()
}

/// What kind of file it is, in words.
fn kind(found: &FileStat) -> &'static str {
    match SFlag::from_bits_truncate(found.st_mode & SFlag::S_IFMT.bits()) {
        SFlag::S_IFDIR => "a folder",
        SFlag::S_IFREG => "a regular file",
        SFlag::S_IFLNK => "a link",
        SFlag::S_IFIFO => "a named pipe",
        SFlag::S_IFSOCK => "a socket",
        SFlag::S_IFCHR => "a character device",
        SFlag::S_IFBLK => "a block device",
        _ => "of an unknown kind",
    }
}

/// The kernel's id of the mount that an open file is on.
pub(super) fn mount_of(open: &impl AsFd) -> Result<String, String> {
    let path = format!("/proc/self/fdinfo/{}", open.as_fd().as_raw_fd());
    let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
    text.lines()
        .find_map(|line| line.strip_prefix("mnt_id:"))
        .map(|id| id.trim().to_owned())
        .ok_or_else(|| format!("{path} names no mount"))
}

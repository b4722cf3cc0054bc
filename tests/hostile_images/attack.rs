// SPDX-License-Identifier: Apache-2.0
//! What an image can put in the way of root, and where.

use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::mkfifo;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// Every place that fitting an image goes through.
pub const PLACES: [&str; 24] = [
    "usr",
    "usr/local",
    "usr/local/nvidia",
    "etc",
    "etc/ld.so.cache",
    "etc/ld.so.conf",
    "etc/ld.so.conf.d",
    "etc/ld.so.conf.d/00-mesos-gpu.conf",
    "dev",
    "proc",
    "sys",
    "lib",
    "lib/firmware",
    "lib/firmware/nvidia",
    "lib/firmware/nvidia/580.159.04",
    "lib64",
    "lib64/ld-linux-x86-64.so.2",
    "run",
    "run/nvidia-persistenced",
    "run/nvidia-persistenced/socket",
    "mnt",
    "mnt/mesos/sandbox",
    "usr/local/cuda",
    "usr/local/cuda/compat",
];

/// What is put there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attack {
    AbsoluteLink,
    RelativeLink,
    /// Links that lead one to the next and then out.
    Chain,
    /// More links than the kernel follows.
    EndlessChain,
    LinkToItself,
    LinksInACircle,
    LinkToRoot,
    LinkAbove,
    LinkToDev,
    LinkToProc,
    LinkIntoTheSandbox,
    /// The kernel's own kind of link, that leads out of any root.
    MagicLink,
    /// A link to a path that exists on the host and, in the image, not.
    LinkToNothing,
    LinkToOddName,
    LongName,
    DeepFolders,
    Pipe,
    Socket,
    BlockDevice,
    CharacterDevice,
    RegularFile,
    /// Another name of a file outside.
    HardLink,
    FolderInPlaceOfFile,
    HugeFile,
    /// A loader cache that announces more than it has.
    LyingCache,
    ClosedFolder,
}

pub const ATTACKS: [Attack; 26] = [
    Attack::AbsoluteLink,
    Attack::RelativeLink,
    Attack::Chain,
    Attack::EndlessChain,
    Attack::LinkToItself,
    Attack::LinksInACircle,
    Attack::LinkToRoot,
    Attack::LinkAbove,
    Attack::LinkToDev,
    Attack::LinkToProc,
    Attack::LinkIntoTheSandbox,
    Attack::MagicLink,
    Attack::LinkToNothing,
    Attack::LinkToOddName,
    Attack::LongName,
    Attack::DeepFolders,
    Attack::Pipe,
    Attack::Socket,
    Attack::BlockDevice,
    Attack::CharacterDevice,
    Attack::RegularFile,
    Attack::HardLink,
    Attack::FolderInPlaceOfFile,
    Attack::HugeFile,
    Attack::LyingCache,
    Attack::ClosedFolder,
];

impl Attack {
    /// Puts it at a place of the image, instead of what is there. What is outside has the same folders that an image has,
    /// so that whoever follows a link finds something to spoil. Where the way to the place is barred by another attack,
    /// nothing is done.
    pub fn put(self, root: &Path, place: &str, outside: &Path) {
        let path = root.join(place);
        let parent = path.parent().unwrap();
        if !is_plainly_below(parent, root) {
            return;
        }
        fs::create_dir_all(parent).unwrap();
        remove(&path);
        let twin = outside.join(place);
        let link = |to: PathBuf| symlink(to, &path).unwrap();
        let up = Path::new("../../../../../../../../../../../../../../../..");
        match self {
            Self::AbsoluteLink => link(twin),
            Self::RelativeLink => link(up.join(twin.strip_prefix("/").unwrap())),
            Self::Chain => chain(root, &path, 12, &twin),
            Self::EndlessChain => chain(root, &path, 60, &twin),
            Self::LinkToItself => link(path.file_name().unwrap().into()),
            Self::LinksInACircle => {
                link(PathBuf::from("/circle"));
                let _ = symlink(Path::new("/").join(place), root.join("circle"));
            }
            Self::LinkToRoot => link(PathBuf::from("/")),
            Self::LinkAbove => link(PathBuf::from("..")),
            Self::LinkToDev => link(PathBuf::from("/dev")),
            Self::LinkToProc => link(PathBuf::from("/proc")),
            Self::LinkIntoTheSandbox => link(PathBuf::from("/mnt/mesos/sandbox")),
            Self::MagicLink => link(Path::new("/proc/self/root").join(twin.strip_prefix("/").unwrap())),
            Self::LinkToNothing => link(outside.join("new")),
            Self::LinkToOddName => {
                let _ = fs::create_dir(root.join("two\nlines"));
                link(PathBuf::from("/two\nlines"));
            }
            Self::LongName => link(PathBuf::from("n".repeat(300))),
            Self::DeepFolders => {
                let deep = "d/".repeat(100);
                fs::create_dir_all(root.join(&deep)).unwrap();
                link(Path::new("/").join(deep));
            }
            Self::Pipe => mkfifo(&path, Mode::S_IRWXU).unwrap(),
            Self::Socket => drop(UnixListener::bind(&path).unwrap()),
            Self::BlockDevice => node(&path, SFlag::S_IFBLK),
            Self::CharacterDevice => node(&path, SFlag::S_IFCHR),
            Self::RegularFile => fs::write(&path, "not ours").unwrap(),
            Self::HardLink => fs::hard_link(outside.join("file"), &path).unwrap(),
            Self::FolderInPlaceOfFile => fs::create_dir_all(path.join("full")).unwrap(),
            Self::HugeFile => File::create(&path).unwrap().set_len(1 << 42).unwrap(),
            Self::LyingCache => {
                let mut lies = b"glibc-ld.so.cache1.1".to_vec();
                lies.extend([0xff; 28]);
                fs::write(&path, lies).unwrap();
            }
            Self::ClosedFolder => {
                fs::create_dir(&path).unwrap();
                fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
            }
        }
    }

    /// Opens a folder that was closed, without which only root could remove it.
    pub fn take_away(self, root: &Path, place: &str) {
        let path = root.join(place);
        let is_closed = self == Self::ClosedFolder && is_plainly_below(&path, root) && path.is_dir();
        if is_closed {
            fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        }
    }
}

/// Whether the way to it has nothing but folders, or ends.
fn is_plainly_below(path: &Path, root: &Path) -> bool {
    path.ancestors()
        .take_while(|above| *above != root)
        .all(|above| above.symlink_metadata().map_or(true, |found| found.is_dir()))
}

fn remove(path: &Path) {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

fn chain(root: &Path, path: &Path, length: usize, end: &Path) {
    let name = |number: usize| {
        format!(
            "chain-{length}-{number}-{}",
            path.file_name().unwrap().to_str().unwrap()
        )
    };
    symlink(Path::new("/").join(name(0)), path).unwrap();
    for number in 0..length {
        let to = match number + 1 == length {
            true => end.to_path_buf(),
            false => PathBuf::from(name(number + 1)),
        };
        let _ = symlink(to, root.join(name(number)));
    }
}

/// A device that root alone can make, else a file, which is in the way as well.
fn node(path: &Path, kind: SFlag) {
    if mknod(path, kind, Mode::S_IRWXU, makedev(1, 3)).is_err() {
        fs::write(path, "").unwrap();
    }
}

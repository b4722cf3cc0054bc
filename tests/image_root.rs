// SPDX-License-Identifier: Apache-2.0
//! What is done in the root of an image stays in it, has the meant mode and owner, and is whole.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "image_root/contents.rs"]
mod contents;
mod support;

use mesos_gpu::system::image_root::ImageRoot;
use nix::sys::stat::{Mode, umask};
use nix::unistd::mkfifo;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use support::own_mounts::{bind, in_own_mounts, tmpfs};

/// An image's root with a neighbour that it is not to touch. The agent's umask is as unfriendly as it may be.
struct Case {
    folder: tempfile::TempDir,
    image: ImageRoot,
}

impl Case {
    fn new() -> Self {
        umask(Mode::from_bits_truncate(0o077));
        let folder = tempfile::tempdir().unwrap();
        for name in ["image", "outside"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let image = ImageRoot::open(&folder.path().join("image")).unwrap();
        Self { folder, image }
    }

    fn inside(&self, path: &str) -> PathBuf {
        self.image.path().join(path)
    }

    fn outside(&self) -> PathBuf {
        self.folder.path().join("outside")
    }

    fn make(&self, path: &str) {
        fs::create_dir_all(self.inside(path)).unwrap();
    }

    fn link(&self, path: &str, to: impl AsRef<Path>) {
        self.make(Path::new(path).parent().unwrap().to_str().unwrap());
        symlink(to, self.inside(path)).unwrap();
    }

    fn assert_untouched(&self) {
        let found = fs::read_dir(self.outside()).unwrap().count();
        assert_eq!(found, 0, "something was made outside");
    }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn folders_and_files_are_for_everybody_to_read_whatever_the_umask() {
    let case = Case::new();
    assert_eq!(
        case.image.folder("/usr/local/nvidia").unwrap(),
        case.inside("usr/local/nvidia")
    );
    case.image.replace("etc/ld.so.cache", b"x").unwrap();
    case.image.file("run/nvidia-persistenced/socket").unwrap();
    for folder in [
        "usr",
        "usr/local",
        "usr/local/nvidia",
        "etc",
        "run",
        "run/nvidia-persistenced",
    ] {
        assert_eq!(mode(&case.inside(folder)), 0o755, "{folder}");
    }
    for file in ["etc/ld.so.cache", "run/nvidia-persistenced/socket"] {
        assert_eq!(mode(&case.inside(file)), 0o644, "{file}");
    }
    // A folder that gives its group away, to a user of the image's choice.
    if support::is_root() {
        case.make("opt");
        std::os::unix::fs::chown(case.inside("opt"), Some(1000), Some(1000)).unwrap();
        fs::set_permissions(
            case.inside("opt"),
            std::os::unix::fs::PermissionsExt::from_mode(0o2777),
        )
        .unwrap();
        let made = fs::metadata(case.image.folder("opt/a/b").unwrap()).unwrap();
        assert_eq!((made.uid(), made.gid(), made.mode() & 0o7777), (0, 0, 0o755));
    }
}

#[test]
fn what_is_there_already_stays_as_it_is() {
    let case = Case::new();
    case.make("usr/local/nvidia");
    fs::set_permissions(
        case.inside("usr/local"),
        std::os::unix::fs::PermissionsExt::from_mode(0o711),
    )
    .unwrap();
    fs::write(case.inside("usr/local/nvidia/own"), "own").unwrap();
    case.image.folder("usr/local/nvidia").unwrap();
    assert_eq!(mode(&case.inside("usr/local")), 0o711);
    case.image.file("usr/local/nvidia/own").unwrap();
    assert_eq!(
        fs::read_to_string(case.inside("usr/local/nvidia/own")).unwrap(),
        "own"
    );
}

#[test]
fn links_lead_nowhere_but_into_the_image() {
    let up = "../../../../../../../../../../../../../../../../";
    for component in ["usr", "usr/local", "usr/local/nvidia"] {
        for absolute in [true, false] {
            let case = Case::new();
            let outside = case.outside();
            let to = match absolute {
                true => outside.clone(),
                false => Path::new(up).join(outside.strip_prefix("/").unwrap()),
            };
            case.link(component, &to);
            let error = case.image.folder("usr/local/nvidia").unwrap_err().to_string();
            assert!(error.contains("link that leads to nothing"), "{error}");
            case.assert_untouched();

            // The image has such a folder too, and it is that which is meant.
            case.make(outside.strip_prefix("/").unwrap().to_str().unwrap());
            let place = case.image.folder("usr/local/nvidia").unwrap();
            assert!(place.starts_with(case.image.path()), "{place:?}");
            assert_eq!(
                fs::canonicalize(&place).unwrap(),
                place,
                "a link is left in the path"
            );
            case.assert_untouched();
        }
    }
}

#[test]
fn links_that_circle_or_go_on_and_on_are_refused() {
    let case = Case::new();
    case.link("usr/local", "local");
    let error = case.image.folder("usr/local/nvidia").unwrap_err().to_string();
    assert!(error.contains("too many links"), "{error}");
    for number in 0..60 {
        case.link(
            &format!("chain/{number}"),
            PathBuf::from((number + 1).to_string()),
        );
    }
    case.make("chain/60");
    assert!(
        case.image.folder("chain/30").is_ok(),
        "30 links are what the kernel follows"
    );
    let error = case.image.folder("chain/0").unwrap_err().to_string();
    assert!(error.contains("too many links"), "{error}");
}

#[test]
fn what_is_no_folder_is_refused_by_its_kind() {
    let case = Case::new();
    case.make("a");
    File::create(case.inside("a/file")).unwrap();
    mkfifo(&case.inside("a/pipe"), Mode::S_IRUSR).unwrap();
    let _socket = UnixListener::bind(case.inside("a/socket")).unwrap();
    for (name, kind) in [
        ("file", "a regular file"),
        ("pipe", "a named pipe"),
        ("socket", "a socket"),
    ] {
        let error = case.image.folder(&format!("a/{name}")).unwrap_err().to_string();
        assert!(error.contains(kind), "{error}");
        let error = case.image.folder(&format!("a/{name}/b")).unwrap_err().to_string();
        assert!(error.contains("is no folder") || error.contains(kind), "{error}");
        let error = case
            .image
            .existing_folder(&format!("a/{name}"))
            .unwrap_err()
            .to_string();
        assert!(error.contains(kind), "{error}");
    }
    for name in ["pipe", "socket"] {
        let path = format!("a/{name}");
        assert!(
            case.image.read(&path, 10).is_err(),
            "{name} was opened, which may wait for ever"
        );
        assert!(case.image.replace(&path, b"x").is_err());
        assert!(case.image.file(&path).is_err());
    }
    assert!(case.image.file("a").unwrap_err().to_string().contains("a folder"));
    assert_eq!(case.image.existing_folder("nothing/here").unwrap(), None);
}

#[test]
fn odd_names_are_refused() {
    let case = Case::new();
    for path in ["", "/", "..", "usr/../..", "usr/./local"] {
        assert!(case.image.folder(path).is_err(), "{path:?}");
    }
    let long = "n".repeat(256);
    let error = case.image.folder(&long).unwrap_err().to_string();
    assert!(error.contains("too long"), "{error}");
    case.make("opt/two\nlines");
    case.link("usr/local", "/opt/two\nlines");
    let error = case.image.folder("usr/local/nvidia").unwrap_err().to_string();
    assert!(
        error.contains("no printable") && !error.contains('\n'),
        "{error:?}"
    );
}

#[test]
fn a_root_that_is_none_is_not_opened() {
    let case = Case::new();
    File::create(case.outside().join("file")).unwrap();
    for path in [
        Path::new("/"),
        Path::new("/proc/self/root"),
        Path::new("image"),
        &case.outside().join("none"),
        &case.outside().join("file"),
    ] {
        assert!(ImageRoot::open(path).is_err(), "{path:?}");
    }
}

#[test]
fn a_read_only_root_is_told_apart_and_what_it_has_is_used() {
    in_own_mounts(|scratch| {
        let root = scratch.join("image");
        fs::create_dir_all(root.join("usr/local/nvidia")).unwrap();
        fs::create_dir(root.join("etc")).unwrap();
        bind(&root, &root, true).unwrap();
        let image = ImageRoot::open(&root).unwrap();
        assert_eq!(
            image.folder("usr/local/nvidia").unwrap(),
            root.join("usr/local/nvidia")
        );
        for error in [
            image.folder("run/nvidia").unwrap_err(),
            image.file("etc/file").unwrap_err(),
            image.replace("etc/file", b"x").unwrap_err(),
        ] {
            assert!(error.is_read_only(), "{error}");
            assert!(error.to_string().ends_with("is read-only"), "{error}");
        }
        assert!(!image.folder("..").unwrap_err().is_read_only());
    });
}

/// It may be the host's, or another container's.
#[test]
fn what_is_mounted_below_the_root_is_not_touched() {
    in_own_mounts(|scratch| {
        let root = scratch.join("image");
        fs::create_dir_all(root.join("usr/local")).unwrap();
        fs::create_dir_all(root.join("opt")).unwrap();
        let outside = scratch.join("outside");
        fs::create_dir(&outside).unwrap();
        let image = ImageRoot::open(&root).unwrap();
        // Of the same file system, so that its number does not give it away.
        bind(&outside, &root.join("usr/local"), false).unwrap();
        tmpfs(&root.join("opt"), nix::mount::MsFlags::empty());
        for path in ["usr/local/nvidia", "usr/local", "opt/nvidia"] {
            let error = image.folder(path).unwrap_err().to_string();
            assert!(error.contains("another mount"), "{error}");
        }
        assert!(image.replace("usr/local/file", b"x").is_err());
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    });
}

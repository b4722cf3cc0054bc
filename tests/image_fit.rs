// SPDX-License-Identifier: Apache-2.0
//! Where an image gets the driver and the device nodes, and which images do not get them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "image_fit/refusals.rs"]
mod refusals;
mod support;

use mesos_gpu::config::SANDBOX;
use mesos_gpu::domain::driver_file::{DriverFile, DriverFiles, Place};
use mesos_gpu::ports::images::Outfit;
use mesos_gpu::system::device_copies::NodeCopy;
use mesos_gpu::system::image_fit::{DriverVolume, Fit, fit};
use mesos_gpu::system::image_root::ImageRoot;
use mesos_gpu::system::image_root::loader::LoaderCaches;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// An ordinary image, and a driver.
struct Case {
    folder: tempfile::TempDir,
    driver: DriverFiles,
    nodes: Vec<NodeCopy>,
    covered: Vec<String>,
}

impl Case {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["image/usr/lib", "image/dev", "image/proc", "image/run", "volume"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        symlink("usr/lib", folder.path().join("image/lib")).unwrap();
        let file = |place, name: &str| DriverFile {
            source: PathBuf::from("/nowhere").join(name),
            place,
            name: name.to_owned(),
            links: Vec::new(),
        };
        let nodes = ["nvidia0", "nvidiactl", "nvidia-caps/nvidia-cap2"].map(|path| NodeCopy {
            path: path.to_owned(),
            copy: folder.path().join(path),
        });
        Self {
            driver: DriverFiles {
                version: "580.159.04".to_owned(),
                files: vec![
                    file(Place::Lib64, "libcuda.so.580.159.04"),
                    file(Place::Firmware, "gsp.bin"),
                ],
                notes: Vec::new(),
            },
            nodes: nodes.into(),
            covered: vec![SANDBOX.to_owned()],
            folder,
        }
    }

    fn host(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn root(&self) -> PathBuf {
        self.host("image")
    }

    fn fit(&self) -> Result<Outfit, String> {
        fit(
            &ImageRoot::open(&self.root()).unwrap(),
            &Fit {
                driver: Some(DriverVolume {
                    folder: &self.host("volume"),
                    files: &self.driver,
                }),
                nodes: &self.nodes,
                params: Some(&self.host("params")),
                socket: Some(&self.host("socket")),
                covered: &self.covered,
            },
            &mut LoaderCaches::default(),
        )
    }

    /// The targets, from the image's root.
    fn targets(&self) -> Vec<String> {
        self.fit()
            .unwrap()
            .mounts
            .iter()
            .map(|mount| {
                mount
                    .target
                    .strip_prefix(self.root())
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned()
            })
            .collect()
    }

    fn refusal(&self) -> String {
        self.fit().unwrap_err()
    }
}

#[test]
fn an_image_gets_everything_at_its_place() {
    let case = Case::new();
    let _socket = UnixListener::bind(case.host("socket")).unwrap();
    assert_eq!(
        case.targets(),
        [
            "usr/local/nvidia",
            // Where the image's link leads.
            "usr/lib/firmware/nvidia/580.159.04",
            "proc/driver/nvidia/params",
            "dev/nvidia0",
            "dev/nvidiactl",
            "dev/nvidia-caps/nvidia-cap2",
            "run/nvidia-persistenced/socket",
        ]
    );
    let outfit = case.fit().unwrap();
    for mount in &outfit.mounts {
        let is_socket = mount.target.ends_with("socket");
        assert_eq!(mount.read_only, !is_socket, "{mount:?}");
        let is_folder = mount.target.ends_with("nvidia") || mount.target.ends_with("580.159.04");
        assert_eq!(mount.recursive, is_folder, "{mount:?}");
    }
    assert_eq!(outfit.mounts[1].source, case.host("volume/firmware"));
    assert!(outfit.driver.is_some());
    let made: Vec<_> = fs::read_dir(case.root().join("dev")).unwrap().collect();
    assert!(
        made.is_empty(),
        "Mesos makes nodes on a file system of its own: {made:?}"
    );
}

#[test]
fn an_image_without_the_driver_gets_nodes_alone() {
    let case = Case::new();
    let image = ImageRoot::open(&case.root()).unwrap();
    let outfit = fit(
        &image,
        &Fit {
            nodes: &case.nodes[..1],
            ..Fit::default()
        },
        &mut LoaderCaches::default(),
    )
    .unwrap();
    assert_eq!(outfit.mounts.len(), 1);
    assert_eq!((outfit.driver, outfit.notes), (None, Vec::new()));
    assert!(!case.root().join("usr/local").exists());
    let nothing = fit(&image, &Fit::default(), &mut LoaderCaches::default()).unwrap();
    assert_eq!(nothing, Outfit::default());
}

#[test]
fn the_persistence_daemons_socket_is_optional_and_writable() {
    let case = Case::new();
    assert!(
        !case.targets().iter().any(|one| one.ends_with("socket")),
        "there is none"
    );
    fs::write(case.host("socket"), "").unwrap();
    assert!(
        !case.targets().iter().any(|one| one.ends_with("socket")),
        "it is no socket"
    );
    fs::remove_file(case.host("socket")).unwrap();
    symlink("/nowhere", case.host("socket")).unwrap();
    assert!(
        !case.targets().iter().any(|one| one.ends_with("socket")),
        "it leads to nothing"
    );
    fs::remove_file(case.host("socket")).unwrap();

    let _socket = UnixListener::bind(case.host("socket")).unwrap();
    let outfit = case.fit().unwrap();
    let mount = outfit.mounts.last().unwrap();
    assert!(mount.target.ends_with("run/nvidia-persistenced/socket") && !mount.read_only);

    // The image's own is in the way.
    fs::remove_file(&mount.target).unwrap();
    let _own = UnixListener::bind(&mount.target).unwrap();
    let outfit = case.fit().unwrap();
    assert!(
        outfit.notes.iter().any(|note| note.contains("is a socket")),
        "{:?}",
        outfit.notes
    );
    assert_eq!(outfit.mounts.len(), 6);
}

#[test]
fn run_of_the_host_in_the_container_is_left_alone() {
    let mut case = Case::new();
    case.covered.push("/run".to_owned());
    let _socket = UnixListener::bind(case.host("socket")).unwrap();
    let outfit = case.fit().unwrap();
    assert!(
        outfit.notes.iter().any(|note| note.contains("\"/run\"")),
        "{:?}",
        outfit.notes
    );
    assert!(!outfit.mounts.iter().any(|mount| mount.target.ends_with("socket")));
}

#[test]
fn firmware_that_has_no_place_is_a_note() {
    let case = Case::new();
    fs::write(case.root().join("usr/lib/firmware"), "").unwrap();
    let outfit = case.fit().unwrap();
    assert!(
        outfit.notes.iter().any(|note| note.contains("firmware")),
        "{:?}",
        outfit.notes
    );
    let mut case = Case::new();
    case.driver.version = "../../etc".to_owned();
    let outfit = case.fit().unwrap();
    assert!(
        outfit.notes.iter().any(|note| note.contains("\"../../etc\"")),
        "{:?}",
        outfit.notes
    );
}

#[test]
fn the_target_of_a_node_is_its_path_and_nothing_twice() {
    let case = Case::new();
    let outfit = case.fit().unwrap();
    let node = outfit
        .mounts
        .iter()
        .find(|mount| mount.target.ends_with("nvidia0"))
        .unwrap();
    assert_eq!(node.target, Path::new(&case.root()).join("dev/nvidia0"));
}

// SPDX-License-Identifier: Apache-2.0
//! A host with an image on it, and all that the image is to be fitted with.

use crate::attack::{Attack, PLACES};
use mesos_gpu::config::SANDBOX;
use mesos_gpu::domain::driver_file::{DriverFile, DriverFiles, Place};
use mesos_gpu::ports::images::Outfit;
use mesos_gpu::system::device_copies::NodeCopy;
use mesos_gpu::system::image_fit::{DriverVolume, Fit, fit};
use mesos_gpu::system::image_root::loader::LoaderCaches;
use mesos_gpu::system::image_root::{ImageRoot, compat_names};
use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// An image's root, and beside it what it is after.
pub struct Target {
    folder: PathBuf,
    driver: DriverFiles,
    _socket: UnixListener,
}

impl Target {
    pub fn new(folder: &Path) -> Self {
        for place in PLACES {
            let parent = Path::new(place).parent().unwrap();
            fs::create_dir_all(folder.join("outside").join(parent)).unwrap();
        }
        for (name, contents) in [
            ("outside/file", "the host's"),
            ("outside/etc/ld.so.cache", "the host's cache"),
            ("outside/usr/local/program", "the host's program"),
            ("params", "ModifyDeviceFiles: 0\n"),
            ("nvidia0", ""),
            ("nvidia-cap2", ""),
        ] {
            fs::write(folder.join(name), contents).unwrap();
        }
        fs::create_dir_all(folder.join("volume/firmware")).unwrap();
        fs::create_dir(folder.join("outside/usr/local/nvidia")).unwrap();
        for place in ["usr/local", "etc/ld.so.conf.d", "lib64", "dev", "proc"] {
            fs::create_dir_all(folder.join("image").join(place)).unwrap();
        }
        fs::write(folder.join("image/lib64/ld-linux-x86-64.so.2"), "").unwrap();
        // So that the file in the folder is written too.
        let includes = "include /etc/ld.so.conf.d/*.conf\n";
        fs::write(folder.join("image/etc/ld.so.conf"), includes).unwrap();
        let file = |place, name: &str| DriverFile {
            source: PathBuf::from("/nowhere").join(name),
            place,
            name: name.to_owned(),
            links: vec!["libcuda.so.1".to_owned()],
        };
        Self {
            folder: folder.to_path_buf(),
            driver: DriverFiles {
                version: "580.159.04".to_owned(),
                files: vec![
                    file(Place::Lib64, "libcuda.so.580.159.04"),
                    file(Place::Firmware, "gsp.bin"),
                ],
                notes: Vec::new(),
            },
            _socket: UnixListener::bind(folder.join("socket")).unwrap(),
        }
    }

    pub fn root(&self) -> PathBuf {
        self.folder.join("image")
    }

    pub fn put(&self, attack: Attack, place: &str) {
        attack.put(&self.root(), place, &self.folder.join("outside"));
    }

    pub fn take_away(&self, attack: Attack, place: &str) {
        attack.take_away(&self.root(), place);
    }

    pub fn fit(&self) -> Result<Outfit, String> {
        let image = ImageRoot::open(&self.root())?;
        compat_names(&image);
        let node = |path: &str, copy: &str| NodeCopy {
            path: path.to_owned(),
            copy: self.folder.join(copy),
        };
        fit(
            &image,
            &Fit {
                driver: Some(DriverVolume {
                    folder: &self.folder.join("volume"),
                    files: &self.driver,
                }),
                nodes: &[
                    node("nvidia0", "nvidia0"),
                    node("nvidia-caps/nvidia-cap2", "nvidia-cap2"),
                ],
                params: Some(&self.folder.join("params")),
                socket: Some(&self.folder.join("socket")),
                covered: &[SANDBOX.to_owned()],
            },
            &mut LoaderCaches::default(),
        )
    }
}

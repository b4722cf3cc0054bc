// SPDX-License-Identifier: Apache-2.0
//! This library's own share of a launch, without Mesos around it: the same driver, the same image, in this process. The
//! root file systems are in memory: what a disk's file system takes to make a file depends on what was deleted there a
//! moment ago (ext4 looks for numbers of files that were not in use lately), which is the launches that were measured before.

use super::agents::Setting;
use super::figures::{FIT_FIRST, FIT_LATER, FIT_PROCESSOR, SEARCH, Samples};
use crate::rounds::milliseconds;
use crate::variant::Variant;
use mesos_gpu::domain::device::DeviceNumber;
use mesos_gpu::ports::images::{DriverWant, Images, NodeWant, Want};
use mesos_gpu::system::driver_files::DriverSearch;
use mesos_gpu::system::images::ImagesThread;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::time::{ClockId, clock_gettime};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Instant;
use testbed::Error;

/// Each has a root file system of its own to unpack, and the spread is small.
const MOST_FITS: usize = 10;

/// Measures a search, a first fit, and up to `fits` later ones, below `folder`.
pub fn measure(folder: &Path, setting: &Setting, fits: usize, samples: &mut Samples) -> Result<(), Error> {
    let place = Place::make(folder)?;
    let driver = &setting.driver;
    let cache = place.0.join("ld.so.cache");
    fake_nvml::trimmed_loader_cache_with(&cache, &[driver.lib64(), driver.lib32()])
        .map_err(|e| Error::new("write a loader cache", e))?;
    let search = DriverSearch::new(None, None).looking_in(cache, Vec::new());
    let started = Instant::now();
    search
        .find(Some(driver.version()))
        .map_err(|why| Error::new("search for the driver", why))?;
    samples.add(SEARCH, Variant::Ours, milliseconds(started));

    let search = DriverSearch::new(Some(driver.folder().to_owned()), None);
    let images = ImagesThread::start(place.0.join("images"), search)
        .map_err(|why| Error::new("start the thread that fits images", why))?;
    for number in 0..=fits.min(MOST_FITS) {
        let root = place.0.join(format!("root{number}"));
        setting.image.unpack(&root)?;
        let fitted = fit(&images, root, driver.version())?;
        if number == 0 {
            samples.add(FIT_FIRST, Variant::Ours, fitted.taken);
        } else {
            samples.add(FIT_LATER, Variant::Ours, fitted.taken);
            samples.add(FIT_PROCESSOR, Variant::Ours, fitted.on_processor);
        }
    }
    Ok(())
}

/// What one fit took, in milliseconds.
struct Fitted {
    taken: f64,
    on_processor: f64,
}

fn fit(images: &ImagesThread, root: PathBuf, version: &str) -> Result<Fitted, Error> {
    let (tell, told) = channel();
    let want = Want {
        container: root.display().to_string(),
        root,
        driver: Some(DriverWant {
            version: Some(version.to_owned()),
            compat: true,
            models: Vec::new(),
        }),
        nodes: nodes(),
        volumes: vec!["/mnt/mesos/sandbox".to_owned()],
    };
    let processor = on_processor()?;
    let started = Instant::now();
    images.fit(
        want,
        Box::new(move |outfit| {
            // Who no longer listens has failed already.
            let _ = tell.send(outfit);
        }),
    );
    let outfit = told.recv().map_err(|e| Error::new("fit an image", e))?;
    let fitted = Fitted {
        taken: milliseconds(started),
        on_processor: on_processor()? - processor,
    };
    let outfit = outfit.map_err(|why| Error::new("fit an image", why))?;
    if outfit.driver.is_none() {
        return Err(Error::new("fit an image", "it got no driver"));
    }
    Ok(fitted)
}

/// Those of a container with one GPU.
fn nodes() -> Vec<NodeWant> {
    [
        ("nvidiactl", 195, 255),
        ("nvidia-uvm", 511, 0),
        ("nvidia-uvm-tools", 511, 1),
        ("nvidia-modeset", 195, 254),
        ("nvidia0", 195, 0),
    ]
    .map(|(path, major, minor)| NodeWant {
        path: path.to_owned(),
        number: DeviceNumber { major, minor },
    })
    .to_vec()
}

/// The milliseconds that this process has been on a processor; nothing else happens in it while it waits for a fit.
fn on_processor() -> Result<f64, Error> {
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)
        .map_err(|errno| Error::new("read the clock of this process", errno))?;
    Ok(std::time::Duration::from(time).as_secs_f64() * 1000.0)
}

/// A folder, and whatever is mounted in it, that goes away with the value.
struct Place(PathBuf);

impl Place {
    fn make(folder: &Path) -> Result<Self, Error> {
        fs::create_dir(folder).map_err(|e| Error::new(format!("make folder {}", folder.display()), e))?;
        let place = Self(folder.to_owned());
        let (kind, none) = (Some("tmpfs"), None::<&str>);
        mount(kind, folder, kind, MsFlags::empty(), none)
            .map_err(|errno| Error::new(format!("mount a tmpfs on {}", folder.display()), errno))?;
        Ok(place)
    }

    fn clear(&self) -> io::Result<()> {
        let table = fs::read_to_string("/proc/self/mountinfo")?;
        let targets = table.lines().filter_map(|line| line.split(' ').nth(4));
        let ours: Vec<&str> = targets
            .filter(|target| Path::new(target).starts_with(&self.0))
            .collect();
        for target in ours.iter().rev() {
            umount2(*target, MntFlags::MNT_DETACH)?;
        }
        fs::remove_dir_all(&self.0)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Err(error) = self.clear() {
            eprintln!("bench: cannot clear {}: {error}", self.0.display());
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Fits images on a thread of its own: a file system can be slow, and the agent thread serves every other container
//! meanwhile. One image after the other, so that what they share (the driver volume, the copies of nodes) has one owner.

mod running;

use crate::agent::panic_text;
use crate::domain::compat;
use crate::domain::driver_file::{DriverFiles, Place};
use crate::ports::images::{Done, DriverOutfit, DriverWant, Images, NodeWant, Outfit, Shown, Want};
use crate::system::device_copies::DeviceCopies;
use crate::system::driver_files::{DriverSearch, Found};
use crate::system::driver_params;
use crate::system::driver_volume::DriverVolumes;
use crate::system::image_fit::{self, DriverVolume, Fit, PERSISTENCED_SOCKET};
use crate::system::image_root::loader::LoaderCaches;
use crate::system::image_root::{ImageRoot, compat_names};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

enum Work {
    Fit(Want, Done),
    Show(u32, Vec<NodeWant>, Shown),
    Ended(String),
}

/// The thread that fits images.
#[derive(Debug)]
pub struct ImagesThread {
    work: Sender<Work>,
}

impl ImagesThread {
    /// Starts it. What it puts together lies in `folder`, which is made when the first image needs it.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(folder: PathBuf, search: DriverSearch) -> Result<Self, String> {
        let (work, todo) = channel();
        thread::Builder::new()
            .name("gpu-images".to_owned())
            .spawn(move || run(&mut Fitter::new(folder, search), &todo))
            .map_err(|error| format!("cannot start the thread that fits images: {error}"))?;
        Ok(Self { work })
    }

    fn put(&self, work: Work) {
        // Who waits is told by the reply that goes with the work.
        if self.work.send(work).is_err() {
            log::error!("the thread that fits images is gone");
        }
    }
}

impl Images for ImagesThread {
    fn fit(&self, want: Want, done: Done) {
        self.put(Work::Fit(want, done));
    }

    fn show(&self, process: u32, nodes: Vec<NodeWant>, shown: Shown) {
        self.put(Work::Show(process, nodes, shown));
    }

    fn ended(&self, container: &str) {
        self.put(Work::Ended(container.to_owned()));
    }
}

fn run(fitter: &mut Fitter, todo: &Receiver<Work>) {
    for work in todo {
        match work {
            Work::Fit(want, done) => done(guarded(|| fitter.fit(&want))),
            Work::Show(process, nodes, shown) => shown(guarded(|| running::show(process, &nodes))),
            Work::Ended(container) => fitter.ended(&container),
        }
    }
}

/// A panic is this image's failure, not the next one's.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(format!("it panicked: {}", panic_text(panic.as_ref()))))
}

struct Fitter {
    search: DriverSearch,
    found: Option<Found>,
    folder: PathBuf,
    /// Made with the first image: opening it looks for what dead agents left.
    volumes: Option<DriverVolumes>,
    copies: DeviceCopies,
    caches: LoaderCaches,
}

impl Fitter {
    fn new(folder: PathBuf, search: DriverSearch) -> Self {
        Self {
            search,
            found: None,
            volumes: None,
            copies: DeviceCopies::new(folder.join("devices")),
            caches: LoaderCaches::default(),
            folder,
        }
    }

    fn fit(&mut self, want: &Want) -> Result<Outfit, String> {
        let image = ImageRoot::open(&want.root)?;
        let mut notes = Vec::new();
        let volume = match &want.driver {
            Some(driver) => Some(self.driver(driver, &want.container, &mut notes)?),
            None => None,
        };
        let files = self.found.as_ref().map(|found| &found.files);
        let nodes = self.copies.copies(&want.nodes)?;
        let params = if nodes.is_empty() { None } else { self.params()? };
        let mut outfit = image_fit::fit(
            &image,
            &Fit {
                driver: volume
                    .as_deref()
                    .zip(files)
                    .map(|(folder, files)| DriverVolume { folder, files }),
                nodes: &nodes,
                params: params.as_deref(),
                socket: Some(Path::new(PERSISTENCED_SOCKET)).filter(|_| !nodes.is_empty()),
                covered: &want.volumes,
            },
            &mut self.caches,
        )?;
        if let Some((wanted, files)) = want.driver.as_ref().zip(files) {
            outfit.driver = Some(outfit_of(&image, wanted, files));
        }
        outfit.notes.splice(0..0, notes);
        Ok(outfit)
    }

    /// The folder that shows the driver's files; looked for anew only when something of them has changed.
    fn driver(
        &mut self,
        want: &DriverWant,
        container: &str,
        notes: &mut Vec<String>,
    ) -> Result<PathBuf, String> {
        let version = want.version.as_deref();
        let current = self.found.take().filter(|found| {
            version.is_none_or(|version| version == found.files.version) && self.search.is_current(found)
        });
        let found = match current {
            Some(found) => found,
            None => {
                let found = self.search.look(version)?;
                notes.extend(found.files.notes.iter().cloned());
                found
            }
        };
        let folder = &self.folder;
        let volumes = self.volumes.get_or_insert_with(|| DriverVolumes::open(folder));
        let provided = volumes.provide_seen(&found.files, &found.states(), container);
        self.found = Some(found);
        provided
    }

    /// The driver's parameters, where a container's own `/proc` shows the host's.
    fn params(&self) -> Result<Option<PathBuf>, String> {
        let host = Path::new(driver_params::PARAMS);
        if !driver_params::is_in_every_proc(host) {
            return Ok(None);
        }
        driver_params::copy(host, self.copies.folder()?)
    }

    fn ended(&mut self, container: &str) {
        if let Some(volumes) = &mut self.volumes {
            volumes.ended(container);
        }
    }
}

fn outfit_of(image: &ImageRoot, want: &DriverWant, files: &DriverFiles) -> DriverOutfit {
    let own = || compat::chosen(&compat_names(image), &files.version, &want.models, true);
    let shares: BTreeSet<&String> = files
        .files
        .iter()
        .filter_map(|file| match &file.place {
            Place::Share(below) => Some(below),
            _ => None,
        })
        .collect();
    DriverOutfit {
        compat: (want.compat && own()).then(|| compat::COMPAT_FOLDER.to_owned()),
        shares: shares.into_iter().cloned().collect(),
    }
}

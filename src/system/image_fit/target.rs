// SPDX-License-Identifier: Apache-2.0
//! Where nothing of ours may be mounted: on or below the places that others mount on before us. There, what a path leads
//! to at the launch is not what was looked at; below the sandbox it can even be a link that the task's own files brought.

use crate::domain::mount::Mount;
use crate::system::image_root::ImageRoot;
use std::path::{Path, PathBuf};

/// What Mesos mounts new file systems on in every image.
const ALWAYS: [&str; 3] = ["/dev", "/proc", "/sys"];

/// The places in one image that others mount on.
pub(super) struct Covered {
    root: PathBuf,
    places: Vec<PathBuf>,
}

impl Covered {
    /// Those that Mesos always mounts on, and `more`, paths in the container.
    pub(super) fn new(image: &ImageRoot, more: &[String]) -> Self {
        let mut places = Vec::new();
        for inside in ALWAYS.into_iter().chain(more.iter().map(String::as_str)) {
            places.push(image.path().join(inside.trim_start_matches('/')));
            // What cannot be looked at is no place where something of ours is.
            places.extend(image.existing_folder(inside).ok().flatten());
        }
        Self {
            root: image.path().to_path_buf(),
            places,
        }
    }

    /// The target itself, if nothing is mounted over it and it hides nothing that is mounted.
    pub(super) fn uncovered(&self, target: PathBuf) -> Result<PathBuf, String> {
        let inside = |place: &Path| {
            let below = place.strip_prefix(&self.root).unwrap_or(place);
            Path::new("/").join(below)
        };
        match self.places.iter().find(|place| overlap(place, &target)) {
            None => Ok(target),
            Some(place) => Err(format!(
                "cannot mount on {:?} of image {}: something else is mounted on {:?}",
                inside(&target),
                self.root.display(),
                inside(place)
            )),
        }
    }
}

fn overlap(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Says no where a target is not below the image's root, or two of them hide each other.
pub(super) fn check_apart(image: &ImageRoot, mounts: &[Mount]) -> Result<(), String> {
    for (number, mount) in mounts.iter().enumerate() {
        let target = &mount.target;
        let wrong = |why: String| Err(format!("cannot mount on {target:?}: {why}"));
        if target == image.path() || !target.starts_with(image.path()) {
            return wrong(format!("it is not below {}", image.path().display()));
        }
        let plain = target
            .components()
            .all(|part| part.as_os_str() != ".." && part.as_os_str() != ".");
        if !plain {
            return wrong("it has \"..\"".to_owned());
        }
        if let Some(other) = mounts[..number]
            .iter()
            .find(|other| overlap(&other.target, target))
        {
            return wrong(format!(
                "{:?} is mounted too, and one hides the other",
                other.target
            ));
        }
    }
    Ok(())
}

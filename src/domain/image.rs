// SPDX-License-Identifier: Apache-2.0
//! What an image says about GPUs: the variables and labels of its manifest, as NVIDIA's images use them.
//!
//! All of it is a stranger's text. It can ask for the driver's files and state what it needs to run; it grants nothing, and
//! whatever it says, reading it does not fail: what makes no sense is left out, with a warning for the log.

pub mod capability;
pub mod facts;
pub mod injection;
pub mod requirement;
pub mod version;

use crate::domain::launch_plan::{DEVICE_ORDER, NO_DEVICES, VISIBLE_DEVICES};
use capability::Capability;
use std::collections::{BTreeMap, BTreeSet};

/// What an image does with the driver.
pub const DRIVER_CAPABILITIES: &str = "NVIDIA_DRIVER_CAPABILITIES";
/// The beginning of the variables that state what an image needs to run.
pub const REQUIRE: &str = "NVIDIA_REQUIRE_";
/// Switches those off.
pub const DISABLE_REQUIRE: &str = "NVIDIA_DISABLE_REQUIRE";
/// The label of images that were made for nvidia-docker 1. Its value means nothing.
pub const VOLUMES_NEEDED: &str = "com.nvidia.volumes.needed";

/// The variables of an image that its container's own environment is made from.
const KEPT: [&str; 7] = [
    "PATH",
    "LD_LIBRARY_PATH",
    DEVICE_ORDER,
    "XDG_DATA_DIRS",
    "__EGL_VENDOR_LIBRARY_DIRS",
    "__EGL_EXTERNAL_PLATFORM_CONFIG_DIRS",
    VISIBLE_DEVICES,
];
/// The most warnings of one image.
const WARNINGS: usize = 16;
/// The most of a stranger's text that a message shows.
const SHOWN: usize = 100;

/// What an image says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wishes {
    /// What it does with the driver.
    pub capabilities: BTreeSet<Capability>,
    /// What it needs to run, by variable, in its own order; empty where it switches that off.
    pub requirements: Vec<(String, String)>,
    /// What was left out, for the log.
    pub warnings: Vec<String>,
    variables: BTreeMap<&'static str, String>,
    needs_volumes: bool,
}

impl Wishes {
    /// Reads the entries of an image's environment, `NAME=value` each, and its labels. Of a name that comes twice the
    /// first entry decides, as with Mesos's own isolator.
    pub fn read<'a>(
        env: impl IntoIterator<Item = &'a str>,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let mut wishes = Self {
            needs_volumes: labels.into_iter().any(|(key, _)| key == VOLUMES_NEEDED),
            ..Self::default()
        };
        let (mut capabilities, mut disabled) = (None, None);
        let mut required = BTreeSet::new();
        for entry in env {
            let Some((name, value)) = entry.split_once('=') else {
                if entry.starts_with("NVIDIA_") {
                    wishes.warn(format!("{} of the image has no value", shown(entry)));
                }
                continue;
            };
            if let Some(kept) = KEPT.iter().find(|kept| **kept == name) {
                wishes.variables.entry(kept).or_insert_with(|| value.to_owned());
            } else if name == DRIVER_CAPABILITIES {
                capabilities.get_or_insert(value);
            } else if name == DISABLE_REQUIRE {
                disabled.get_or_insert(value);
            } else if name.starts_with(REQUIRE) && required.insert(name) {
                wishes.requirements.push((name.to_owned(), value.to_owned()));
            }
        }
        let (set, unknown) = capability::read(capabilities.unwrap_or(""));
        wishes.capabilities = set;
        for word in unknown {
            wishes.warn(format!(
                "{DRIVER_CAPABILITIES} of the image: {} is unknown",
                shown(word)
            ));
        }
        if disabled.is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("true")) {
            wishes.requirements.clear();
        }
        wishes
    }

    /// Whether the image asks for the driver's files. `none` asks for them without a GPU; empty or `void` does not,
    /// whatever the label says.
    pub fn asks_for_driver(&self) -> bool {
        match self.variable(VISIBLE_DEVICES) {
            Some(value) => !matches!(value, "" | NO_DEVICES),
            None => self.needs_volumes,
        }
    }

    /// Whether it draws pictures.
    pub fn asks_for_graphics(&self) -> bool {
        [Capability::Graphics, Capability::Display]
            .iter()
            .any(|one| self.capabilities.contains(one))
    }

    /// The value of one of the variables that a container's environment is made from.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// Whether the image chose an order of the devices.
    pub fn orders_devices(&self) -> bool {
        self.variables.contains_key(DEVICE_ORDER)
    }

    fn warn(&mut self, warning: String) {
        add(&mut self.warnings, warning);
    }
}

/// Adds a warning, unless there are so many that one image would fill the log.
fn add(warnings: &mut Vec<String>, warning: String) {
    if warnings.len() < WARNINGS {
        warnings.push(warning);
    } else if warnings.len() == WARNINGS {
        warnings.push("and more of that kind".to_owned());
    }
}

/// A stranger's text for a message: one line, in quotes, and not longer than a person reads.
fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests;

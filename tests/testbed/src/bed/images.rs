// SPDX-License-Identifier: Apache-2.0
//! Images without a registry: Mesos takes them from a folder of archives, in the oldest of Docker's layouts, or from a
//! local store of App Container images, which bring a root file system and nothing of Docker's.
//!
//! Mesos 1.11 knows no OCI images: `oci` is no `--image_providers`, and an archive without `repositories` is refused.

mod archive;
mod layer;
mod libraries;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use layer::{Entry, Layer};

use crate::error::Error;

/// An image to be made.
#[derive(Debug, Clone)]
pub struct Image {
    name: String,
    tag: Option<String>,
    config: Option<Config>,
    layers: Vec<Layer>,
}

/// What an image says about the programs that run in it.
#[derive(Debug, Clone, Default)]
struct Config {
    env: Vec<String>,
    labels: BTreeMap<String, String>,
    working_directory: Option<String>,
}

impl Image {
    /// An empty image. Mesos is asked for it by `name`, for example `probe`, or `team/probe`.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            tag: None,
            config: Some(Config::default()),
            layers: vec![Layer::default()],
        }
    }

    /// Gives it a tag: it is asked for as `name:tag`.
    pub fn tag(mut self, tag: &str) -> Self {
        self.tag = Some(tag.to_owned());
        self
    }

    /// Adds an environment variable, `NAME=value`, or anything else that an image may have there.
    pub fn env(mut self, pair: &str) -> Self {
        self.configured().env.push(pair.to_owned());
        self
    }

    /// Adds a label.
    pub fn label(mut self, name: &str, value: &str) -> Self {
        self.configured().labels.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Sets the folder in which programs start.
    pub fn working_directory(mut self, folder: &str) -> Self {
        self.configured().working_directory = Some(folder.to_owned());
        self
    }

    /// Leaves the whole configuration out of the manifest. Mesos 1.11's own `docker/runtime` aborts the agent then.
    pub fn without_config(mut self) -> Self {
        self.config = None;
        self
    }

    /// Adds a file. Folders above it come by themselves.
    pub fn file(self, path: &str, content: impl Into<Vec<u8>>, mode: u32) -> Self {
        let content = content.into();
        self.entry(path, Entry::File { content, mode })
    }

    /// Adds a symbolic link to whatever `target` says.
    pub fn link(self, path: &str, target: &str) -> Self {
        self.entry(path, Entry::Link(target.to_owned()))
    }

    /// Adds a folder.
    pub fn folder(self, path: &str, mode: u32) -> Self {
        self.entry(path, Entry::Folder { mode })
    }

    /// Adds a character device.
    pub fn device(self, path: &str, major: u32, minor: u32, mode: u32) -> Self {
        self.entry(path, Entry::Device { major, minor, mode })
    }

    /// Adds a program of this machine as `/bin/<its name>`, with its loader and every library that it needs, where they
    /// are on this machine.
    pub fn program_with_libraries(self, program: &Path) -> Self {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let path = format!("bin/{name}");
        self.entry(&path, Entry::Program(program.to_owned()))
    }

    /// Adds every library that a program or library of this machine needs, and not itself: for what a container will be given
    /// from outside.
    pub fn libraries_of(self, file: &Path) -> Self {
        self.entry(&file.display().to_string(), Entry::Needs(file.to_owned()))
    }

    /// Starts another layer above those that are there.
    pub fn layer(mut self) -> Self {
        self.layers.push(Layer::default());
        self
    }

    /// What Mesos is asked for.
    pub fn reference(&self) -> String {
        match &self.tag {
            Some(tag) => format!("{}:{tag}", self.name),
            None => self.name.clone(),
        }
    }

    /// Writes the archive into a folder for [`crate::AgentBuilder::images`], and says where it is. An agent that has had
    /// an image keeps it: what is written under the same name later is not seen.
    ///
    /// # Errors
    /// The folder cannot be written to, or a program or one of its libraries is not found.
    pub fn write_to(&self, folder: &Path) -> Result<PathBuf, Error> {
        archive::docker(self, folder)
    }

    /// Unpacks it into a store for [`crate::AgentBuilder::appc_images`], without its configuration, and says where its
    /// root file system is.
    ///
    /// # Errors
    /// As [`Self::write_to`].
    pub fn write_appc(&self, store: &Path) -> Result<PathBuf, Error> {
        archive::appc(self, store)
    }

    /// Unpacks its layers into a folder, for tests that need a root file system and no Mesos.
    ///
    /// # Errors
    /// As [`Self::write_to`].
    pub fn unpack(&self, root: &Path) -> Result<(), Error> {
        self.layers.iter().try_for_each(|layer| layer.unpack(root))
    }

    fn configured(&mut self) -> &mut Config {
        self.config.get_or_insert_default()
    }

    fn entry(mut self, path: &str, entry: Entry) -> Self {
        let path = path.trim_start_matches('/').to_owned();
        if let Some(layer) = self.layers.last_mut() {
            layer.add(path, entry);
        }
        self
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The flags of an agent that runs images from local files, and the driver files of its simulated machine.

use std::path::{Path, PathBuf};

use fake_nvml::DriverFiles;

use super::AgentBuilder;

/// Where an agent's images come from.
#[derive(Debug, Default)]
pub(super) struct Images {
    docker: Option<PathBuf>,
    appc: Option<PathBuf>,
    backend: Option<String>,
}

impl AgentBuilder {
    /// Lets containers run in Docker images from a folder of archives (see [`super::super::images::Image::write_to`]).
    pub fn images(mut self, folder: &Path) -> Self {
        self.images.docker = Some(folder.to_owned());
        self
    }

    /// Lets containers run in App Container images from a store (see [`super::super::images::Image::write_appc`]).
    pub fn appc_images(mut self, store: &Path) -> Self {
        self.images.appc = Some(store.to_owned());
        self
    }

    /// How root file systems are made of layers: `copy` (as without this), `overlay`, or `bind`, which takes one layer,
    /// read-only, that must have every place where something is mounted: `/dev`, `/proc`, `/sys`, `/mnt/mesos/sandbox`, …
    pub fn image_backend(mut self, backend: &str) -> Self {
        self.images.backend = Some(backend.to_owned());
        self
    }

    /// Puts a driver's files on the simulated machine: its libraries into the loader's cache, in the form that Mesos's own
    /// `gpu/nvidia` can read, and its programs on the agent's `PATH`.
    pub fn driver(mut self, files: &DriverFiles) -> Self {
        self.driver_libraries = Some(vec![files.lib64(), files.lib32()]);
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/sbin:/usr/bin:/sbin:/bin".to_owned());
        self.env("PATH", format!("{}:{path}", files.bin().display()))
    }
}

impl Images {
    /// Adds what is needed to an agent's flags, over nothing that is set.
    pub(super) fn add_to(&self, flags: &mut Vec<(String, String)>) {
        let mut providers = Vec::new();
        let mut add = Vec::new();
        if let Some(folder) = &self.docker {
            providers.push("docker");
            add.push(("docker_registry", folder.display().to_string()));
        }
        if let Some(store) = &self.appc {
            providers.push("appc");
            add.push(("appc_store_dir", store.display().to_string()));
        }
        if providers.is_empty() {
            return;
        }
        add.push(("image_providers", providers.join(",")));
        add.push((
            "image_provisioner_backend",
            self.backend.clone().unwrap_or_else(|| "copy".to_owned()),
        ));
        for (name, value) in add {
            if !flags.iter().any(|(known, _)| known == name) {
                flags.push((name.to_owned(), value));
            }
        }
        // Mesos refuses images without it.
        let isolation = flags.iter_mut().find(|(name, _)| name == "isolation");
        if let Some((_, isolators)) = isolation
            && self.docker.is_some()
            && !isolators.split(',').any(|isolator| isolator == "docker/runtime")
        {
            isolators.push_str(",docker/runtime");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_bring_their_flags_and_leave_what_is_set() {
        let images = Images {
            docker: Some("/i".into()),
            ..Images::default()
        };
        let mut flags = vec![("isolation".to_owned(), "gpu/nvidia".to_owned())];
        images.add_to(&mut flags);
        let get = |flags: &[(String, String)], name: &str| {
            flags
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.clone())
        };
        assert_eq!(
            get(&flags, "isolation").as_deref(),
            Some("gpu/nvidia,docker/runtime")
        );
        assert_eq!(get(&flags, "docker_registry").as_deref(), Some("/i"));
        assert_eq!(get(&flags, "image_provisioner_backend").as_deref(), Some("copy"));
        let before = flags.clone();
        images.add_to(&mut flags);
        assert_eq!(flags, before);
        let mut none = Vec::new();
        Images::default().add_to(&mut none);
        assert!(none.is_empty());
    }
}

// SPDX-License-Identifier: Apache-2.0
//! How a container names its image to Mesos.

use serde_json::{Value, json};

/// By these an App Container image is found; all that [`crate::bed::images`] makes have them.
pub(crate) const APPC_LABELS: [(&str, &str); 3] = [("version", "1.0.0"), ("arch", "amd64"), ("os", "linux")];

/// An image by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageName {
    /// In Docker's terms: `name` or `name:tag`. A plain string is taken for one.
    Docker(String),
    /// In the terms of App Container.
    Appc(String),
}

impl From<&str> for ImageName {
    fn from(name: &str) -> Self {
        Self::Docker(name.to_owned())
    }
}

impl ImageName {
    /// An App Container image.
    pub fn appc(name: &str) -> Self {
        Self::Appc(name.to_owned())
    }

    /// `ContainerInfo.mesos`.
    pub(crate) fn mesos_info(&self) -> Value {
        let image = match self {
            Self::Docker(name) => json!({"type": "DOCKER", "docker": {"name": name}}),
            Self::Appc(name) => {
                let labels = APPC_LABELS
                    .iter()
                    .map(|(key, value)| json!({"key": key, "value": value}));
                let labels: Vec<_> = labels.collect();
                json!({"type": "APPC", "appc": {"name": name, "labels": {"labels": labels}}})
            }
        };
        json!({"image": image})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_asked_for_in_its_own_terms() {
        let docker = ImageName::from("probe:2").mesos_info();
        assert_eq!(docker["image"]["docker"]["name"], "probe:2");
        let appc = ImageName::appc("example.com/probe").mesos_info();
        assert_eq!(appc["image"]["type"], "APPC");
        assert_eq!(appc["image"]["appc"]["labels"]["labels"][0]["key"], "version");
    }
}

// SPDX-License-Identifier: Apache-2.0
//! A mount that a container is launched with.

use std::path::PathBuf;

/// A bind mount that Mesos makes in the container's own mount namespace, before the container changes its root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mount {
    /// What, absolute on the host.
    pub source: PathBuf,
    /// Where, absolute on the host: below the root of the container's image, no component of it a link.
    pub target: PathBuf,
    /// With the mounts below `source`.
    pub recursive: bool,
    /// Not writable through this mount.
    pub read_only: bool,
}

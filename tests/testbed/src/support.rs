// SPDX-License-Identifier: Apache-2.0
//! What tests with a real Mesos need, and the loud skip of those that lack it.

pub use fake_nvml::skip;

/// Whether the tests run as root.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// What a test with cgroups needs and this machine lacks; `None` when it can run.
pub fn lacking_for_cgroups() -> Option<String> {
    if !is_root() {
        return Some("root".to_owned());
    }
    match crate::bed::cgroups::Hierarchies::find() {
        Ok(_) => None,
        Err(error) => Some(format!("cgroup v1 hierarchies ({error})")),
    }
}

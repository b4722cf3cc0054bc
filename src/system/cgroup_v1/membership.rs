// SPDX-License-Identifier: Apache-2.0
//! Which devices cgroup a process is in: what the kernel says under `/proc`, since nothing that a process says of itself
//! decides whose it is.

use crate::ports::device_cgroup::ProcessCgroups;
use nix::libc::ESRCH;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The processes below the cgroup that a mount of the hierarchy shows.
pub(super) struct Membership {
    shown: PathBuf,
}

impl Membership {
    /// The processes below `shown`, `/` for all.
    pub fn below(shown: PathBuf) -> Self {
        Self { shown }
    }
}

impl ProcessCgroups for Membership {
    fn cgroup_of(&self, pid: u32) -> Result<Option<String>, String> {
        let file = format!("/proc/{pid}/cgroup");
        match fs::read(&file) {
            Ok(text) => Ok(devices_cgroup(&String::from_utf8_lossy(&text), &self.shown)),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(format!("cannot read {file}: {error}")),
        }
    }
}

/// It had ended, or did while its file was read.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(ESRCH)
}

/// The cgroup in the line of the `devices` controller.
fn devices_cgroup(text: &str, shown: &Path) -> Option<String> {
    let path = text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        controllers
            .split(',')
            .any(|controller| controller == "devices")
            .then_some(path)
    })?;
    let below = Path::new(path).strip_prefix(shown).ok()?;
    below.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_controller_counts_and_nothing_outside_of_the_mount() {
        let text = "13:cpu,cpuacct:/other\n12:devices:/mesos/a:b\n1:name=devices:/no\n0::/unified\n";
        for (text, shown, want) in [
            (text, "/", Some("mesos/a:b")),
            (text, "/mesos", Some("a:b")),
            (text, "/mesosphere", None),
            ("4:cpu,devices,pids:/mesos/a\n", "/", Some("mesos/a")),
            ("4:devices:/\n", "/", Some("")),
            ("4:devices:/../mesos/a\n", "/", Some("../mesos/a")),
            ("1:name=devices:/mesos/a\n0::/mesos/a\n", "/", None),
            ("devices\n4:devices\n", "/", None),
            ("", "/", None),
        ] {
            assert_eq!(devices_cgroup(text, Path::new(shown)).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn a_process_that_never_was_is_gone() {
        // Above every limit that Linux lets be set.
        let all = Membership::below(PathBuf::from("/"));
        assert_eq!(all.cgroup_of(4_194_305), Ok(None));
    }
}

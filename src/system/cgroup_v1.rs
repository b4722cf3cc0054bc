// SPDX-License-Identifier: Apache-2.0
//! The v1 `devices` controller: the lines that decide which device nodes a container can open.
//!
//! The files are written and read with the crate `cgroups-rs`, of which only the controller of one existing directory
//! is used: that keeps the kernel's reason of a failed write, writes a rule with one write(2), and reads wildcards. Its
//! `Cgroup` is not used: loading one finds mounts of its own, and it creates, moves and deletes. Nor is its reading of
//! mounts, which leaves the kernel's octal escapes as they are and does not look at the mount's root.
//! Two habits of the controller are met here: it opens files with `O_CREAT`, so nothing is opened before the cgroup is
//! known to be there; and it hides the kernel's reason in the error's source, from where it is taken.

mod membership;
mod mountinfo;

use crate::domain::device_rules::{Access, DeviceRule, NodeKind, Number};
use crate::ports::device_cgroup::{DeviceCgroup, ProcessCgroups};
use cgroups_rs::devices::{DevicePermissions, DeviceType, DevicesController};
use membership::Membership;
use std::error::Error;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The mounted hierarchy of the v1 `devices` controller.
#[derive(Debug, Clone)]
pub struct DevicesHierarchy {
    root: PathBuf,
    /// Which cgroup of the hierarchy is mounted there: inside a container often its own.
    shows: PathBuf,
}

impl DevicesHierarchy {
    /// The hierarchy mounted at `root`.
    pub fn at(root: PathBuf) -> Self {
        let shows = PathBuf::from("/");
        Self { root, shows }
    }

    /// The hierarchy that this process sees; where it is mounted several times, below `preferred`.
    ///
    /// # Errors
    /// When there is none, or the mounts cannot be read.
    pub fn find(preferred: &Path) -> Result<Self, String> {
        const MOUNTS: &str = "/proc/self/mountinfo";
        let mounts = fs::read(MOUNTS).map_err(|error| format!("cannot read {MOUNTS}: {error}"))?;
        mountinfo::devices_hierarchy(&String::from_utf8_lossy(&mounts), preferred)
            .map(|found| Self {
                root: found.point,
                shows: found.shows,
            })
            .ok_or_else(|| {
                format!("no cgroup v1 hierarchy with the devices controller is mounted ({MOUNTS})")
            })
    }

    /// Where the hierarchy is mounted.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn dir(&self, cgroup: &str) -> Result<PathBuf, String> {
        let relative = Path::new(cgroup);
        if cgroup.is_empty()
            || !relative
                .components()
                .all(|part| matches!(part, Component::Normal(_)))
        {
            return Err("the path must be relative and without \".\" or \"..\"".to_owned());
        }
        Ok(self.root.join(relative))
    }

    fn controller(&self, cgroup: &str) -> Result<DevicesController, String> {
        let dir = self.dir(cgroup)?;
        if !dir.join("devices.list").is_file() {
            return Err(format!("there is no such cgroup in {}", self.root.display()));
        }
        Ok(DevicesController::new(dir))
    }

    fn write(&self, verb: &str, write: Write, cgroup: &str, rule: DeviceRule) -> Result<(), String> {
        let written = || {
            let line = Line::of(rule)?;
            let controller = self.controller(cgroup)?;
            write(&controller, line.kind, line.major, line.minor, &line.access)
                .map_err(|error| reason(&error))
        };
        written()
            .map_err(|why: String| format!("cannot {verb} \"{rule}\" in devices cgroup {cgroup:?}: {why}"))
    }
}

impl DeviceCgroup for DevicesHierarchy {
    fn exists(&self, cgroup: &str) -> bool {
        self.controller(cgroup).is_ok()
    }

    fn allow(&self, cgroup: &str, rule: DeviceRule) -> Result<(), String> {
        self.write("allow", DevicesController::allow_device, cgroup, rule)
    }

    fn deny(&self, cgroup: &str, rule: DeviceRule) -> Result<(), String> {
        self.write("deny", DevicesController::deny_device, cgroup, rule)
    }

    fn list(&self, cgroup: &str) -> Result<Vec<DeviceRule>, String> {
        let read = || {
            let devices = self
                .controller(cgroup)?
                .allowed_devices()
                .map_err(|error| reason(&error))?;
            devices
                .iter()
                .map(|device| rule_of(device.devtype, device.major, device.minor, &device.access))
                .collect::<Result<Vec<_>, String>>()
        };
        read().map_err(|why: String| format!("cannot list devices cgroup {cgroup:?}: {why}"))
    }

    fn processes(&self) -> Arc<dyn ProcessCgroups> {
        Arc::new(Membership::below(self.shows.clone()))
    }
}

/// The controller's way to allow or to deny.
type Write =
    fn(&DevicesController, DeviceType, i64, i64, &[DevicePermissions]) -> cgroups_rs::error::Result<()>;

/// A rule in the terms of `cgroups-rs`.
struct Line {
    kind: DeviceType,
    major: i64,
    minor: i64,
    access: Vec<DevicePermissions>,
}

impl Line {
    fn of(rule: DeviceRule) -> Result<Self, String> {
        let all = (rule.major, rule.minor, rule.access) == (Number::Any, Number::Any, Access::ALL);
        if rule.kind == NodeKind::All && !all {
            // The kernel looks at nothing behind an "a": "a 195:0 rw" would open every device there is.
            return Err("a rule for all kinds of nodes can only be \"a *:* rwm\"".to_owned());
        }
        if rule.access == Access::default() {
            return Err("the rule names no access".to_owned());
        }
        let number = |number: Number| match number {
            Number::Any => -1,
            Number::Is(number) => i64::from(number),
        };
        let letters = [
            (rule.access.read, DevicePermissions::Read),
            (rule.access.write, DevicePermissions::Write),
            (rule.access.mknod, DevicePermissions::MkNod),
        ];
        Ok(Self {
            kind: match rule.kind {
                NodeKind::All => DeviceType::All,
                NodeKind::Char => DeviceType::Char,
                NodeKind::Block => DeviceType::Block,
            },
            major: number(rule.major),
            minor: number(rule.minor),
            access: letters
                .into_iter()
                .filter_map(|(set, letter)| set.then_some(letter))
                .collect(),
        })
    }
}

fn rule_of(
    kind: DeviceType,
    major: i64,
    minor: i64,
    access: &[DevicePermissions],
) -> Result<DeviceRule, String> {
    let number = |number: i64| match number {
        -1 => Ok(Number::Any),
        _ => u32::try_from(number)
            .map(Number::Is)
            .map_err(|_| format!("device number {number} is out of range")),
    };
    Ok(DeviceRule {
        kind: match kind {
            DeviceType::All => NodeKind::All,
            DeviceType::Char => NodeKind::Char,
            DeviceType::Block => NodeKind::Block,
        },
        major: number(major)?,
        minor: number(minor)?,
        access: Access {
            read: access.contains(&DevicePermissions::Read),
            write: access.contains(&DevicePermissions::Write),
            mknod: access.contains(&DevicePermissions::MkNod),
        },
    })
}

/// The kernel's reason, where there is one.
fn reason(error: &cgroups_rs::error::Error) -> String {
    error
        .source()
        .map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_where_no_cgroup_is() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("plain")).unwrap();
        let hierarchy = DevicesHierarchy::at(dir.path().to_owned());
        let rule = "c 195:0 rw".parse().unwrap();
        for cgroup in ["plain", "missing", "", "/plain", "../plain", "plain/../plain"] {
            assert!(!hierarchy.exists(cgroup), "{cgroup}");
            assert!(hierarchy.allow(cgroup, rule).is_err(), "{cgroup}");
        }
        assert_eq!(fs::read_dir(dir.path().join("plain")).unwrap().count(), 0);
        let error = hierarchy.deny("plain", rule).unwrap_err();
        assert!(
            error.starts_with("cannot deny \"c 195:0 rw\" in devices cgroup \"plain\": there is no such"),
            "{error}"
        );
    }

    #[test]
    fn a_rule_that_the_kernel_would_read_as_more_is_refused() {
        for rule in ["a 195:0 rw", "a *:* r", "a 195:* rwm"] {
            assert!(Line::of(rule.parse().unwrap()).is_err(), "{rule}");
        }
        assert!(Line::of("a *:* rwm".parse().unwrap()).is_ok());
        let nothing = DeviceRule {
            access: Access::default(),
            .."c 195:0 r".parse().unwrap()
        };
        assert!(Line::of(nothing).is_err());
    }
}

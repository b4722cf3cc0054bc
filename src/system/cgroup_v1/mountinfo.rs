// SPDX-License-Identifier: Apache-2.0
//! Finds the v1 `devices` controller among the mounts. Distributions, agents and containers mount it in different
//! places, alone or together with other controllers, so its place is read and never guessed.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A mount of the hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mounted {
    /// Where.
    pub point: PathBuf,
    /// Which cgroup is seen there, `/` for the whole hierarchy.
    pub shows: PathBuf,
}

/// Where `/proc/self/mountinfo`, whose contents these are, says that the hierarchy is mounted: of several mounts that show
/// the whole of it, one below `preferred`; if none does, as inside a container, the first.
pub(super) fn devices_hierarchy(mountinfo: &str, preferred: &Path) -> Option<Mounted> {
    let mut mounts: Vec<Mounted> = mountinfo
        .lines()
        .filter_map(devices_mount)
        .map(|(root, point)| Mounted {
            point: PathBuf::from(unescaped(point)),
            shows: PathBuf::from(unescaped(root)),
        })
        .collect();
    let whole = |mount: &Mounted| mount.shows == Path::new("/");
    let preferred = |mount: &Mounted| whole(mount) && mount.point.starts_with(preferred);
    let at = mounts
        .iter()
        .position(preferred)
        .or_else(|| mounts.iter().position(whole));
    (!mounts.is_empty()).then(|| mounts.swap_remove(at.unwrap_or(0)))
}

/// Root and mount point, still escaped, if the line of `mountinfo` is a mount of the v1 `devices` controller.
fn devices_mount(line: &str) -> Option<(&str, &str)> {
    // Any number of optional fields stands before the lone dash.
    let (mount, superblock) = line.split_once(" - ")?;
    let mut mount = mount.split_whitespace().skip(3);
    let (root, point) = (mount.next()?, mount.next()?);
    let mut superblock = superblock.split_whitespace();
    let (kind, options) = (superblock.next()?, superblock.nth(1)?);
    (kind == "cgroup" && options.split(',').any(|option| option == "devices")).then_some((root, point))
}

/// The path behind the kernel's octal escapes of space, tab, newline and backslash.
fn unescaped(point: &str) -> OsString {
    let escaped = point.as_bytes();
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut at = 0;
    while at < escaped.len() {
        let octal = escaped.get(at + 1..at + 4).filter(|digits| {
            escaped[at] == b'\\'
                && digits[0] <= b'3'
                && digits.iter().all(|digit| matches!(digit, b'0'..=b'7'))
        });
        match octal {
            Some(digits) => {
                bytes.push(
                    digits
                        .iter()
                        .fold(0, |byte: u8, digit| (byte << 3) | (digit - b'0')),
                );
                at += 4;
            }
            None => {
                bytes.push(escaped[at]);
                at += 1;
            }
        }
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn located(mountinfo: &str) -> Option<String> {
        devices_hierarchy(mountinfo, Path::new("/preferred")).map(|found| found.point.display().to_string())
    }

    #[test]
    fn the_hierarchy_is_found_by_controller_not_by_name() {
        let line = |root: &str, point: &str, kind: &str, options: &str| {
            format!("36 31 0:33 {root} {point} rw,relatime shared:7 master:1 - {kind} cgroup rw,{options}\n")
        };
        assert_eq!(
            located(&line("/", "/cg/devices", "cgroup", "devices")).as_deref(),
            Some("/cg/devices")
        );
        assert_eq!(
            located(&line("/", "/cg/all", "cgroup", "cpu,devices,pids")).as_deref(),
            Some("/cg/all")
        );
        assert_eq!(
            located(&line("/", r"/my\040cg\134x\011", "cgroup", "devices")).as_deref(),
            Some("/my cg\\x\t")
        );
        assert_eq!(
            located(&line("/", r"/odd\9\04", "cgroup", "devices")).as_deref(),
            Some(r"/odd\9\04")
        );
        let part_then_whole =
            line("/docker/1", "/a", "cgroup", "devices") + &line("/", "/b", "cgroup", "devices");
        assert_eq!(located(&part_then_whole).as_deref(), Some("/b"));
        let preferred_last =
            line("/", "/b", "cgroup", "devices") + &line("/", "/preferred/devices", "cgroup", "devices");
        assert_eq!(located(&preferred_last).as_deref(), Some("/preferred/devices"));
        assert_eq!(
            located(&line("/docker/1", "/a", "cgroup", "devices")).as_deref(),
            Some("/a")
        );
        let part = devices_hierarchy(
            &line(r"/docker/a\040b", "/a", "cgroup", "devices"),
            Path::new("/"),
        );
        assert_eq!(part.map(|found| found.shows), Some(PathBuf::from("/docker/a b")));
        for none in [
            line("/", "/cg/devices", "cgroup2", "devices"),
            line("/", "/cg/devices", "cgroup", "cpu"),
            line("/", "/cg/devices", "cgroup", "name=devices"),
            "36 31 - cgroup\n".to_owned(),
            String::new(),
        ] {
            assert_eq!(located(&none), None, "{none}");
        }
    }
}

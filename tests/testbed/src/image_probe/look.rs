// SPDX-License-Identifier: Apache-2.0
//! Looking around in a container, with nothing but the kernel's own files and calls.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::{Mode, major, minor};

use super::{Mount, Node, Ran};

/// Below these, mounts are of interest.
const PLACES: [&str; 4] = ["/dev", "/proc/driver", "/usr/local/nvidia", "/etc"];

/// Every character device below `/dev`, terminals' own folder left out.
pub(super) fn nodes() -> BTreeMap<String, Node> {
    let mut nodes = BTreeMap::new();
    add_nodes(Path::new("/dev"), "", &mut nodes);
    nodes
}

fn add_nodes(folder: &Path, prefix: &str, nodes: &mut BTreeMap<String, Node>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (
            entry.path(),
            format!("{prefix}{}", entry.file_name().to_string_lossy()),
        );
        let Ok(metadata) = path.symlink_metadata() else {
            continue;
        };
        if metadata.is_dir() && name != "pts" && name != "shm" {
            add_nodes(&path, &format!("{name}/"), nodes);
        } else if metadata.file_type().is_char_device() {
            nodes.insert(name, node(&path, &metadata));
        }
    }
}

fn node(path: &Path, metadata: &fs::Metadata) -> Node {
    let mode = metadata.permissions().mode() & 0o7777;
    // Not to wait for a device, nor to get a terminal by looking.
    let flags = OFlag::O_RDWR | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let changed = fs::set_permissions(path, Permissions::from_mode(mode));
    Node {
        major: major(metadata.rdev()),
        minor: minor(metadata.rdev()),
        mode,
        user: metadata.uid(),
        group: metadata.gid(),
        opened: open(path, flags, Mode::empty()).map_or_else(|error| error as i32, |_| 0),
        changed: changed.map_or_else(|error| error.raw_os_error().unwrap_or(Errno::EIO as i32), |()| 0),
    }
}

/// Where a program is on `PATH`.
pub(super) fn find_program(name: &str) -> Option<String> {
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(name));
    let found = places.find(|file| {
        fs::metadata(file)
            .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    });
    Some(found?.display().to_string())
}

pub(super) fn run(path: &str) -> Ran {
    let (success, output) = match Command::new(path).output() {
        Ok(output) => (output.status.success(), [output.stdout, output.stderr].concat()),
        Err(error) => (false, error.to_string().into_bytes()),
    };
    Ran {
        path: path.to_owned(),
        success,
        output: String::from_utf8_lossy(&output).into_owned(),
    }
}

pub(super) fn mounts() -> Vec<Mount> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mounts = table.lines().filter_map(mount);
    mounts
        .filter(|mount| {
            PLACES
                .iter()
                .any(|place| Path::new(&mount.point).starts_with(place))
        })
        .collect()
}

/// A line of `mountinfo`; the kind stands behind a dash that follows fields whose number differs.
fn mount(line: &str) -> Option<Mount> {
    let (ours, theirs) = line.split_once(" - ")?;
    let mut fields = ours.split(' ').skip(3).map(str::to_owned);
    Some(Mount {
        root: fields.next()?,
        point: fields.next()?,
        options: fields.next()?,
        kind: theirs.split(' ').next()?.to_owned(),
    })
}

/// Files and links below a folder, sorted.
pub(super) fn files_below(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    add_files(folder, folder, &mut files);
    files.sort();
    files
}

fn add_files(folder: &Path, base: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            add_files(&path, base, files);
        } else {
            files.extend(
                path.strip_prefix(base)
                    .ok()
                    .map(|below| below.display().to_string()),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_read_whatever_optional_fields_it_has() {
        let line = "88 68 254:0 /n/vol /usr/local/nvidia ro,relatime shared:1 master:2 - ext4 /dev/vda rw";
        let seen = mount(line).unwrap();
        assert_eq!(
            (seen.root.as_str(), seen.point.as_str()),
            ("/n/vol", "/usr/local/nvidia")
        );
        assert_eq!(
            (seen.options.as_str(), seen.kind.as_str()),
            ("ro,relatime", "ext4")
        );
        assert_eq!(mount("a line of something else"), None);
    }

    #[test]
    fn the_null_device_is_seen_as_it_is() {
        let null = nodes().remove("null").unwrap();
        assert_eq!((null.major, null.minor, null.opened), (1, 3, 0));
    }

    #[test]
    fn programs_are_found_by_path_and_failures_are_told() {
        assert!(find_program("sh").is_some());
        assert_eq!(find_program("no-such-program"), None);
        let ran = run("/nonexistent");
        assert!(!ran.success && !ran.output.is_empty());
    }
}

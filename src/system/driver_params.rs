// SPDX-License-Identifier: Apache-2.0
//! The driver's parameters as a container is shown them. NVIDIA's library makes the nodes of all the machine's GPUs, or
//! starts a set-user-id helper for it, unless the parameter `ModifyDeviceFiles` in this file says that it must not.

use nix::sys::statfs::{PROC_SUPER_MAGIC, statfs};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Where the driver shows its parameters; a container's own `proc` has the same.
pub const PARAMS: &str = "/proc/driver/nvidia/params";

const KEY: &str = "ModifyDeviceFiles";
const NAME: &str = "params";
/// Far more than the driver writes.
const LONGEST: u64 = 64 * 1024;

/// A copy of the driver's parameters in `folder`, in which `ModifyDeviceFiles` is 0; none where the host has no such file.
/// It is written anew only where it differs.
///
/// # Errors
/// The host's file cannot be read, or the copy not be written.
pub fn copy(host: &Path, folder: &Path) -> Result<Option<PathBuf>, String> {
    let text = match read(host) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot read {}: {error}", host.display())),
    };
    let (wanted, place) = (without_device_files(&text), folder.join(NAME));
    if !fs::read_to_string(&place).is_ok_and(|there| there == wanted) {
        write(&place, &wanted).map_err(|error| format!("cannot write {}: {error}", place.display()))?;
    }
    Ok(Some(place))
}

/// Whether a `proc` that is newly mounted in a container has this file of the host: nothing can be mounted on what is not
/// there, and nothing made in a `proc`.
pub fn is_in_every_proc(host: &Path) -> bool {
    statfs(host).is_ok_and(|found| found.filesystem_type() == PROC_SUPER_MAGIC)
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Containers may hold the old file by a mount, so a new one takes its name.
fn write(place: &Path, text: &str) -> std::io::Result<()> {
    let temporary = place.with_extension(format!("new-{}", std::process::id()));
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o444)
        .open(&temporary)?;
    file.write_all(text.as_bytes())
        // Not left to the umask.
        .and_then(|()| file.set_permissions(Permissions::from_mode(0o444)))
        .and_then(|()| fs::rename(&temporary, place))
        .inspect_err(|_| {
            // The reason that is told is the first one.
            let _ = fs::remove_file(&temporary);
        })
}

/// The parameters with the one set to 0, at its place or, where there is none, at the end.
fn without_device_files(text: &str) -> String {
    let mut found = false;
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let key = line.split(':').next().unwrap_or_default().trim();
        let is_it = key == KEY;
        found |= is_it;
        lines.push(if is_it {
            format!("{KEY}: 0")
        } else {
            line.to_owned()
        });
    }
    if !found {
        lines.push(format!("{KEY}: 0"));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameter_is_off_and_every_other_line_stays() {
        let host =
            "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileUID: 0\nRegistryDwords: \"\"\n";
        assert_eq!(
            without_device_files(host),
            "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 0\nDeviceFileUID: 0\nRegistryDwords: \"\"\n"
        );
    }

    #[test]
    fn a_driver_that_does_not_name_it_is_told_too() {
        assert_eq!(without_device_files(""), "ModifyDeviceFiles: 0\n");
        let other = "XModifyDeviceFiles: 1";
        assert_eq!(
            without_device_files(other),
            "XModifyDeviceFiles: 1\nModifyDeviceFiles: 0\n"
        );
    }
}

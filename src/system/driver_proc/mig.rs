// SPDX-License-Identifier: Apache-2.0
//! The nodes that guard MIG instances, as the driver tells them below `capabilities`: one folder a GPU (by its minor number),
//! in it one a GPU instance, in it one a compute instance, each with a file `access` that names the node's minor number.

use super::read_text;
use crate::ports::driver_proc::MigAccess;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The nodes of the GPU with this minor number; none when it is not cut.
///
/// # Errors
/// In words, when something is there that cannot be read: a GPU that is half understood is not handed out.
pub(super) fn accesses(proc_dir: &Path, gpu: u32) -> Result<Vec<MigAccess>, String> {
    let mut found = Vec::new();
    let of_gpu = proc_dir
        .join("capabilities")
        .join(format!("gpu{gpu}"))
        .join("mig");
    for (gpu_instance, folder) in numbered(&of_gpu, "gi")? {
        let minor = access(&folder)?;
        found.push(MigAccess {
            gpu_instance,
            compute_instance: None,
            minor,
        });
        for (compute_instance, folder) in numbered(&folder, "ci")? {
            let minor = access(&folder)?;
            found.push(MigAccess {
                gpu_instance,
                compute_instance: Some(compute_instance),
                minor,
            });
        }
    }
    found.sort();
    Ok(found)
}

/// The folders `<prefix><number>` in a folder; none where the folder is absent.
fn numbered(folder: &Path, prefix: &str) -> Result<Vec<(u32, PathBuf)>, String> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("cannot list {}: {error}", folder.display())),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| format!("cannot list {} to its end: {error}", folder.display()))?;
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.strip_prefix(prefix)?.parse().ok());
        found.extend(number.map(|number| (number, entry.path())));
    }
    Ok(found)
}

fn access(folder: &Path) -> Result<u32, String> {
    let path = folder.join("access");
    let text = read_text(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("DeviceFileMinor:"));
    line.and_then(|minor| minor.trim().parse().ok())
        .ok_or_else(|| format!("{} names no minor number", path.display()))
}

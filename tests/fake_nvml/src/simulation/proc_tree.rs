// SPDX-License-Identifier: Apache-2.0
//! The simulated tree of `/proc/driver`, kept up to date under the eyes of an agent that may read it at any moment.

use super::proc_texts::texts;
use crate::machine::Machine;
use crate::machine_file::failed;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Makes what the tree is put into, and stays while it changes.
pub(super) fn prepare(root: &Path) -> io::Result<()> {
    fs::create_dir_all(root).map_err(|e| failed("make the folder", root, &e))
}

/// Brings the tree to what the machine is. A reader never sees half a file, nor a GPU's folder without its file.
pub(super) fn update(root: &Path, machine: &Machine) -> io::Result<()> {
    let wanted = if machine.driver_loaded {
        texts(machine)
    } else {
        BTreeMap::new()
    };
    let staging = root.with_extension("staging");
    fs::create_dir_all(&staging).map_err(|e| failed("make the folder", &staging, &e))?;
    for path in files_below(root)? {
        if !wanted.contains_key(&path) {
            remove(root, &path, &staging)?;
        }
    }
    for (path, text) in &wanted {
        place(&root.join(path), text, &staging)?;
    }
    fs::remove_dir_all(&staging).map_err(|e| failed("remove", &staging, &e))
}

/// Puts a file in its place, together with its folder where that is missing.
fn place(file: &Path, text: &str, staging: &Path) -> io::Result<()> {
    if fs::read_to_string(file).is_ok_and(|present| present == text) {
        return Ok(());
    }
    let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else {
        return Err(io::Error::other(format!(
            "{} is no place for a file",
            file.display()
        )));
    };
    let staged = staging.join("new");
    if folder.exists() {
        fs::write(&staged, text).map_err(|e| failed("write", &staged, &e))?;
        return fs::rename(&staged, file).map_err(|e| failed("replace", file, &e));
    }
    let above = folder.parent().unwrap_or(folder);
    fs::create_dir_all(above).map_err(|e| failed("make the folder", above, &e))?;
    fs::create_dir(&staged).map_err(|e| failed("make the folder", &staged, &e))?;
    fs::write(staged.join(name), text).map_err(|e| failed("write", &staged, &e))?;
    fs::rename(&staged, folder).map_err(|e| failed("make", folder, &e))
}

/// Takes a file away in one step, together with the folders that hold nothing else.
fn remove(root: &Path, file: &Path, staging: &Path) -> io::Result<()> {
    let mut outermost = root.join(file);
    while let Some(folder) = outermost
        .parent()
        .filter(|folder| *folder != root && !holds_more(folder))
    {
        outermost = folder.to_owned();
    }
    let gone = staging.join("old");
    fs::rename(&outermost, &gone).map_err(|e| failed("remove", &outermost, &e))?;
    let removed = if gone.is_dir() {
        fs::remove_dir_all(&gone)
    } else {
        fs::remove_file(&gone)
    };
    removed.map_err(|e| failed("remove", &gone, &e))
}

fn holds_more(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|entries| entries.count() > 1)
}

fn files_below(root: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|e| failed("read", &folder, &e))? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(below) = path.strip_prefix(root) {
                files.push(below.to_owned());
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn update_changes_only_what_differs_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("proc-driver");
        prepare(&root).unwrap();
        let mut machine = Machine::with_gpus(2);
        machine.gpus[1] = machine.gpus[1].clone().with_mig(&["1g.18gb", "1g.18gb"]);
        update(&root, &machine).unwrap();
        assert_eq!(files_below(&root).unwrap().len(), 5 + 2 + 4);
        let minor = fs::read_to_string(root.join("nvidia/capabilities/gpu0/mig/gi2/ci0/access")).unwrap();
        assert_eq!(
            minor,
            "DeviceFileMinor: 22\nDeviceFileMode: 292\nDeviceFileModify: 1\n"
        );

        let lost = machine.gpus.pop().unwrap();
        update(&root, &machine).unwrap();
        assert!(!root.join("nvidia/gpus").join(lost.pci).exists());
        assert!(!root.join("nvidia/capabilities/gpu0").exists());
        assert!(
            root.join("nvidia/gpus")
                .join(&machine.gpus[0].pci)
                .join("information")
                .exists()
        );

        machine.driver_loaded = false;
        update(&root, &machine).unwrap();
        assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "the staging folder stayed"
        );
    }

    #[test]
    fn information_can_be_anything() {
        let folder = tempfile::tempdir().unwrap();
        let mut machine = Machine::with_gpus(1);
        machine.gpus[0].information = Some("GPU UUID: \t GPU-????????\n".to_owned());
        update(folder.path(), &machine).unwrap();
        let file = folder
            .path()
            .join("nvidia/gpus")
            .join(&machine.gpus[0].pci)
            .join("information");
        assert_eq!(fs::read_to_string(file).unwrap(), "GPU UUID: \t GPU-????????\n");
    }
}

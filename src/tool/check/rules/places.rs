// SPDX-License-Identifier: Apache-2.0
//! Whether the files and folders that parameters name are there and can be used.

use super::{
    CDI_SPEC, CHECKPOINT_IN_MEMORY, CHECKPOINT_NOT_WRITABLE, CHECKPOINT_NOWHERE, DRIVER_ROOT, IMAGE_DIR,
    JOB_FOLDER, METRICS_FOLDER, NVML_LIBRARY,
};
use crate::config::{Config, Mode};
use crate::tool::check::Case;
use crate::tool::check::facts::{Facts, PlaceKind};
use crate::tool::finding::Finding;
use std::path::{Path, PathBuf};

/// The folder below `image_dir` that holds copies of device nodes, on a file system of its own.
const DEVICES: &str = "devices";

/// The paths that these rules must know of.
pub(crate) fn paths(agent: Option<&Config>, metrics_of_master: Option<&Path>) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = metrics_of_master
        .and_then(Path::parent)
        .map(Path::to_owned)
        .into_iter()
        .collect();
    if let Some(config) = agent {
        paths.extend(config.checkpoint_dir.clone());
        paths.extend(
            config
                .metrics_file
                .as_deref()
                .and_then(Path::parent)
                .map(Path::to_owned),
        );
        paths.extend(config.dcgm_job_dir.clone());
        paths.extend(config.nvml_library.clone());
        paths.extend([
            config.image_dir.clone(),
            config.image_dir.join(DEVICES),
            config.driver_root.clone(),
        ]);
    }
    paths
}

pub(crate) fn check(case: Case<'_>, findings: &mut Vec<Finding>) {
    if let Some(config) = &case.settings.allocator {
        metrics(config.metrics_file.as_deref(), case.facts, findings);
    }
    let Some(config) = &case.settings.agent else {
        return;
    };
    metrics(config.metrics_file.as_deref(), case.facts, findings);
    jobs(config, case.facts, findings);
    checkpoint(case, config, findings);
    images(config, case.facts, findings);
    driver(config, case.facts, findings);
}

fn metrics(file: Option<&Path>, facts: &Facts, findings: &mut Vec<Finding>) {
    let Some((file, folder)) = file.and_then(|file| Some((file, file.parent()?))) else {
        return;
    };
    let Some(place) = facts.place(folder) else { return };
    if place.kind == PlaceKind::Folder && place.writable {
        return;
    }
    findings.push(Finding::of(
        METRICS_FOLDER,
        format!(
            "metrics_file={}: the folder {} {}",
            file.display(),
            folder.display(),
            not_there(place.kind)
        ),
        format!(
            "make the folder {}, or name a file in one that is there",
            folder.display()
        ),
    ));
}

fn jobs(config: &Config, facts: &Facts, findings: &mut Vec<Finding>) {
    let Some(folder) = &config.dcgm_job_dir else {
        return;
    };
    let Some(place) = facts.place(folder).filter(|place| !place.can_be_folder()) else {
        return;
    };
    let why = if place.kind == PlaceKind::Missing {
        "cannot be made"
    } else {
        not_there(place.kind)
    };
    findings.push(Finding::of(
        JOB_FOLDER,
        format!("dcgm_job_dir={} {why}", folder.display()),
        "name a folder that root can write to, for example /run/mesos-gpu/jobs",
    ));
}

fn not_there(kind: PlaceKind) -> &'static str {
    match kind {
        PlaceKind::Missing => "is missing",
        PlaceKind::Folder => "cannot be written to",
        PlaceKind::File | PlaceKind::Other => "is no folder",
    }
}

fn checkpoint(case: Case<'_>, config: &Config, findings: &mut Vec<Finding>) {
    let Some(folder) = &config.checkpoint_dir else {
        // Without flags it is not known where it would be.
        if case.subject.agent().is_some() {
            findings.push(Finding::of(
                CHECKPOINT_NOWHERE,
                "neither --work_dir nor the parameter checkpoint_dir says where to write down who holds which GPU",
                "give --work_dir, which Mesos needs as well",
            ));
        }
        return;
    };
    let Some(place) = case
        .facts
        .place(folder)
        .filter(|_| config.mode == Mode::Exclusive)
    else {
        return;
    };
    if !place.can_be_folder() {
        let why = if place.kind == PlaceKind::Missing {
            "cannot be made"
        } else {
            not_there(place.kind)
        };
        findings.push(Finding::of(
            CHECKPOINT_NOT_WRITABLE,
            format!("the folder for the checkpoint, {}, {why}", folder.display()),
            "name a folder on a disk that can be written to, in checkpoint_dir or --work_dir",
        ));
    } else if place.in_memory {
        findings.push(Finding::of(
            CHECKPOINT_IN_MEMORY,
            format!(
                "the checkpoint is in {}, on a file system in memory: after a reboot it is not known which GPUs the agent \
                 advertised",
                folder.display()
            ),
            "put --work_dir, or checkpoint_dir, on a disk",
        ));
    }
}

fn images(config: &Config, facts: &Facts, findings: &mut Vec<Finding>) {
    let room = config.image_dir.join(DEVICES);
    let mut tell = |what: String| {
        let cure = "name a folder in image_dir that root can write to and on which nothing else is mounted";
        findings.push(Finding::of(IMAGE_DIR, what, cure));
    };
    if let Some(place) = facts
        .place(&config.image_dir)
        .filter(|place| !place.can_be_folder())
    {
        let why = if place.kind == PlaceKind::Missing {
            "cannot be made"
        } else {
            not_there(place.kind)
        };
        tell(format!("image_dir={} {why}", config.image_dir.display()));
    } else if facts
        .place(&room)
        .is_some_and(|place| place.mount_point && place.nodev)
    {
        tell(format!(
            "{} is mounted nodev, so no device node can be opened there",
            room.display()
        ));
    }
}

fn driver(config: &Config, facts: &Facts, findings: &mut Vec<Finding>) {
    if let (Some(path), Some(why)) = (&config.cdi_spec, &facts.cdi_problem) {
        findings.push(Finding::of(
            CDI_SPEC,
            format!("cdi_spec={}: {why}; no container with an image gets the driver's files", path.display()),
            "write the specification (nvidia-ctk cdi generate --output=FILE), or leave cdi_spec out to have the files searched for",
        ));
    }
    let root = facts.place(&config.driver_root).map(|place| place.kind);
    if root.is_some_and(|kind| kind != PlaceKind::Folder) {
        findings.push(Finding::of(
            DRIVER_ROOT,
            format!(
                "driver_root={} is no folder, so the driver's files are not found",
                config.driver_root.display()
            ),
            "name the folder below which the driver's usr/lib lies, or leave driver_root out",
        ));
    }
    if let Some(library) = &config.nvml_library
        && facts
            .place(library)
            .is_some_and(|place| place.kind != PlaceKind::File)
    {
        findings.push(Finding::of(
            NVML_LIBRARY,
            format!("nvml_library={} is no file", library.display()),
            "name the file libnvidia-ml.so.1 of the installed driver, or leave nvml_library out",
        ));
    }
}

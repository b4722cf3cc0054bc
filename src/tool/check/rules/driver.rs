// SPDX-License-Identifier: Apache-2.0
//! Whether the driver is there, loaded, and whole.

use super::{
    DRIVER_NOT_LOADED, DRIVER_VERSIONS_DIFFER, GPU_SET_ASIDE, NO_DRIVER, NODE_MISSING, NVML_FAILS,
    UVM_NOT_LOADED,
};
use crate::domain::device::NodeState;
use crate::tool::check::Case;
use crate::tool::check::facts::DriverFacts;
use crate::tool::finding::{Finding, Severity};
use std::path::Path;

/// The node of unified memory, which the driver makes last.
const UVM: &str = "nvidia-uvm";

pub(crate) fn check(case: Case<'_>, findings: &mut Vec<Finding>) {
    let driver = &case.facts.driver;
    if case.settings.agent.is_none() || !driver.known {
        return;
    }
    let Some(loaded) = &driver.loaded else {
        return findings.push(not_loaded(driver));
    };
    if let Some(why) = &driver.nvml_failure {
        findings.push(Finding::of(
            NVML_FAILS,
            format!("NVML does not answer: {why}; GPUs are served by the kernel driver's own list alone"),
            "mend it until nvidia-smi works; where its library is not on the loader's path set nvml_library",
        ));
    }
    if let Some(library) = &driver.library
        && let Some(version) = version_of(library).filter(|version| version != loaded)
    {
        findings.push(Finding::of(
            DRIVER_VERSIONS_DIFFER,
            format!(
                "the loaded kernel module is {loaded} and the library {} is {version}: new programs cannot start",
                library.display()
            ),
            "reboot, or unload the driver's modules and load them anew",
        ));
    }
    for problem in &driver.problems {
        let cure = "see nvidia-smi and the kernel's log; a GPU that comes back is taken up without a restart";
        findings.push(Finding::of(GPU_SET_ASIDE, problem.clone(), cure));
    }
    for (node, state) in &driver.nodes {
        let why = match state {
            NodeState::Device(_) => continue,
            NodeState::Missing => "is missing".to_owned(),
            NodeState::Other(what) => format!("is {what}"),
        };
        findings.push(if node == UVM {
            without_uvm(driver, &why)
        } else {
            let cure =
                "make the nodes (nvidia-modprobe -c 0, for each minor), or start nvidia-persistenced at boot";
            let what = format!("the device node {node} {why}, so no container with that GPU starts");
            Finding::of(NODE_MISSING, what.replace("that GPU", gpu_of(node)), cure)
        });
    }
}

fn gpu_of(node: &str) -> &str {
    if node.ends_with(|c: char| c.is_ascii_digit()) {
        "that GPU"
    } else {
        "a GPU"
    }
}

fn not_loaded(driver: &DriverFacts) -> Finding {
    match &driver.library {
        Some(library) => Finding::of(
            DRIVER_NOT_LOADED,
            format!(
                "the driver is installed ({}) and its kernel module is not loaded",
                library.display()
            ),
            "modprobe nvidia, and see the kernel's log where that fails",
        ),
        None => Finding::of(
            NO_DRIVER,
            "this machine has no NVIDIA driver; the agent starts and advertises no GPU",
            "install the driver where GPUs are to be served; elsewhere nothing is to be done",
        ),
    }
}

fn without_uvm(driver: &DriverFacts, why: &str) -> Finding {
    let what = format!("the device node {UVM} {why}, without which no program can use CUDA");
    if driver.can_make_nodes {
        let cure = "nothing: nvidia-modprobe makes it when the first container with GPUs starts";
        Finding::of(UVM_NOT_LOADED, what, cure).as_bad_as(Severity::Note)
    } else {
        Finding::of(
            UVM_NOT_LOADED,
            what,
            "modprobe nvidia-uvm at boot, or install nvidia-modprobe",
        )
    }
}

/// The version at the end of a library's name, `libnvidia-ml.so.580.159.04`.
fn version_of(library: &Path) -> Option<String> {
    let name = library.file_name()?.to_str()?;
    let (_, version) = name.split_once(".so.")?;
    let digits = version
        .split('.')
        .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    (digits && version.contains('.')).then(|| version.to_owned())
}

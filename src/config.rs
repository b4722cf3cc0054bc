// SPDX-License-Identifier: Apache-2.0
//! From text to settings: the modules' parameters and the agent's own flags. Everything here is a pure function, and
//! everything that is not understood is refused, with the key, the value and the accepted form: a parameter that is
//! silently ignored is found when the wrong container already has the GPU.

pub mod allocator;
pub mod attributes;
pub mod error;
pub mod flags;
pub mod keys;
pub mod parameters;
pub mod resources_flag;
pub mod rules;
mod values;

use std::path::PathBuf;
use std::time::Duration;

pub use allocator::{ALLOCATOR_KEYS, AllocatorConfig};
pub use attributes::AttributeChoice;
pub use error::{ConfigError, ConfigErrorKind};
pub use flags::MesosFlags;
pub use keys::{KEYS, Key};
pub use parameters::SharedParameters;
pub use values::oversubscription::Oversubscription;

use crate::domain::image::injection::DriverFilesPolicy;
use crate::domain::selection::Selection;

/// Where Mesos puts the sandbox into an image, if its agent is not told otherwise.
pub const SANDBOX: &str = "/mnt/mesos/sandbox";

/// The settings of all modules of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Which GPUs are handed out.
    pub gpus: Selection,
    /// NVML's library; none: as the driver installs it, by its usual names.
    pub nvml_library: Option<PathBuf>,
    /// How long one NVML call may take before its answers count as unknown.
    pub nvml_timeout: Duration,
    /// How long a start may wait for NVML where the driver's tree under `/proc` says nothing.
    pub discovery_wait: Duration,
    /// The driver's tree.
    pub proc_dir: PathBuf,
    /// Where device nodes are.
    pub dev_dir: PathBuf,
    /// The agent's `--cgroups_root`: its folder below each hierarchy, without slashes around it.
    pub cgroups_root: String,
    /// The agent's `--cgroups_hierarchy`: where the hierarchies are mounted.
    pub cgroups_hierarchy: PathBuf,
    /// What the agent's attributes say of its GPUs.
    pub attributes: AttributeChoice,
    /// Whether GPUs are handed out or only observed.
    pub mode: Mode,
    /// Where the agent writes down who holds what; none where neither the parameter nor `--work_dir` says.
    pub checkpoint_dir: Option<PathBuf>,
    /// The file for the agent's numbers; none for none.
    pub metrics_file: Option<PathBuf>,
    /// The folder for dcgm-exporter with the containers on each GPU; none for none.
    pub dcgm_job_dir: Option<PathBuf>,
    /// How long a launch waits for GPUs that are being released.
    pub release_wait: Duration,
    /// How long a released GPU may still be used before it is set aside.
    pub release_limit: Duration,
    /// How often the GPUs are looked at.
    pub health_interval: Duration,
    /// Whether a GPU on which processes compute that belong to no container is kept back.
    pub process_check: bool,
    /// Whether containers without GPUs can open the control nodes too.
    pub control_nodes_for_all: bool,
    /// Which containers with an image get the driver's files.
    pub driver_files: DriverFilesPolicy,
    /// Below which folder the driver's files are looked for.
    pub driver_root: PathBuf,
    /// A CDI specification that names the driver's files; none where they are searched for.
    pub cdi_spec: Option<PathBuf>,
    /// Whether an image's own `libcuda` may be used when it is newer than the driver's.
    pub cuda_compat: bool,
    /// Where driver files and device nodes for images are put together.
    pub image_dir: PathBuf,
    /// The agent's `--sandbox_directory`: where it mounts the sandbox inside an image.
    pub sandbox_directory: String,
    /// Whether what images require in `NVIDIA_REQUIRE_*` is checked.
    pub nvidia_requirements: bool,
    /// Whether idle GPUs are offered a second time, and when.
    pub oversubscription: Oversubscription,
}

/// Whether this agent hands GPUs out, or only tells what Mesos's own isolator handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It hands them out.
    Exclusive,
    /// It writes no device rule and keeps no GPU from anyone.
    Observe,
}

impl Config {
    /// Settings from parameters, and from the agent's flags where it has flags of the same meaning.
    pub fn from_parts(parameters: &[(String, String)], flags: &MesosFlags) -> Result<Self, ConfigError> {
        let given = keys::check(KEYS, parameters)?;
        let value = |name| given.get(name).unwrap_or_else(|| keys::default_of(KEYS, name));
        let path = |name| values::path(name, value(name));
        let mode = values::mode("mode", value("mode"))?;
        Ok(Self {
            gpus: values::selection("gpus", value("gpus"))?,
            nvml_library: given
                .get("nvml_library")
                .map(|text| values::path("nvml_library", text))
                .transpose()?,
            nvml_timeout: values::duration("nvml_timeout", value("nvml_timeout"), values::Zero::Refused)?,
            discovery_wait: values::duration(
                "discovery_wait",
                value("discovery_wait"),
                values::Zero::Accepted,
            )?,
            proc_dir: path("proc_dir")?,
            dev_dir: path("dev_dir")?,
            cgroups_root: values::agreed("cgroups_root", &given, flags, values::cgroup)?,
            cgroups_hierarchy: values::agreed("cgroups_hierarchy", &given, flags, values::path)?,
            attributes: attributes::choice("attributes", value("attributes"))?,
            mode,
            checkpoint_dir: match (given.get("checkpoint_dir"), flags.read("work_dir")?) {
                (Some(text), _) => Some(values::path("checkpoint_dir", text)?),
                (None, Some(work_dir)) => Some(PathBuf::from(work_dir).join("mesos-gpu")),
                (None, None) => None,
            },
            metrics_file: given
                .get("metrics_file")
                .map(|text| values::path("metrics_file", text))
                .transpose()?,
            dcgm_job_dir: given
                .get("dcgm_job_dir")
                .map(|text| values::path("dcgm_job_dir", text))
                .transpose()?,
            release_wait: values::duration("release_wait", value("release_wait"), values::Zero::Accepted)?,
            release_limit: values::duration("release_limit", value("release_limit"), values::Zero::Accepted)?,
            health_interval: values::duration(
                "health_interval",
                value("health_interval"),
                values::Zero::Refused,
            )?,
            process_check: values::switch("process_check", value("process_check"))?,
            control_nodes_for_all: values::switch("control_nodes_for_all", value("control_nodes_for_all"))?,
            driver_files: values::driver_files("driver_files", value("driver_files"))?,
            driver_root: values::path("driver_root", given.get("driver_root").unwrap_or("/"))?,
            cdi_spec: given
                .get("cdi_spec")
                .map(|text| values::path("cdi_spec", text))
                .transpose()?,
            cuda_compat: values::newer("cuda_compat", value("cuda_compat"))?,
            image_dir: match given.get("image_dir") {
                Some(text) => values::path("image_dir", text)?,
                None => values::below_flag("mesos-gpu", "runtime_dir", "/var/run/mesos", flags)?,
            },
            sandbox_directory: flags.read("sandbox_directory")?.unwrap_or(SANDBOX).to_owned(),
            nvidia_requirements: values::switch("nvidia_requirements", value("nvidia_requirements"))?,
            oversubscription: values::oversubscription::oversubscription(value, mode)?,
        })
    }
}

#[cfg(test)]
mod tests;

// SPDX-License-Identifier: Apache-2.0
//! Every parameter with its accepted form, its default and what it is for, one below the other, so that the table can be
//! read as one.

use super::Key;
use crate::config::attributes;
use crate::domain::selection;

/// The form of a path.
pub(in crate::config) const PATH: &str = "an absolute path without ..";
/// The form of a folder below a cgroup hierarchy.
pub(in crate::config) const CGROUP: &str =
    "a folder below the cgroup hierarchies, for example mesos, without ..";
/// The form of a switch.
pub(in crate::config) const SWITCH: &str = "on or off";
/// The form of the mode.
pub(in crate::config) const MODE: &str = "exclusive or observe";
/// The form of a time that something takes.
pub(in crate::config) const TIME_LIMIT: &str =
    "a duration above 0 and up to 1hrs, for example 500ms, 2.5secs, 1mins (units: ns us ms secs mins hrs)";
/// The form of a time that may be none.
pub(in crate::config) const WAIT: &str =
    "a duration from 0secs to 1hrs, for example 500ms, 2.5secs, 1mins (units: ns us ms secs mins hrs)";

/// The form of which containers get the driver's files.
pub(in crate::config) const DRIVER_FILES: &str = "never, gpus or asked";
/// The form of whether an image's own libcuda is used.
pub(in crate::config) const NEWER: &str = "newer or never";

/// The form of what an idle container may compute.
pub(in crate::config) const IDLE_UTILIZATION: &str = "a whole number of percent from 0 to 50";
/// The form of what an idle container may hold.
pub(in crate::config) const IDLE_MEMORY: &str =
    "an amount such as 512MB or 2GB (units: B KB MB GB TB), or a share of the GPU's memory from 0% to 50%";
/// The form of how many guests there may be.
pub(in crate::config) const GUESTS: &str = "a whole number from 1 to 16";
/// The form of a share of the GPUs.
pub(in crate::config) const SHARE: &str = "a whole number of percent from 1 to 100";

/// Every parameter. The modules of one process share them.
pub const KEYS: &[Key] = &[
    Key {
        name: "gpus",
        form: selection::FORM,
        default: "all",
        meaning: "which GPUs of the machine are handed out",
    },
    Key {
        name: "nvml_library",
        form: PATH,
        default: "(the driver's own libnvidia-ml.so.1)",
        meaning: "the NVML library to open",
    },
    Key {
        name: "nvml_timeout",
        form: TIME_LIMIT,
        default: "30secs",
        meaning: "how long one NVML call may take before its answer counts as unknown",
    },
    Key {
        name: "discovery_wait",
        form: WAIT,
        default: "5secs",
        meaning: "how long the agent's start may wait for NVML where the driver's tree under /proc names no GPU",
    },
    Key {
        name: "proc_dir",
        form: PATH,
        default: "/proc/driver/nvidia",
        meaning: "where the driver describes its GPUs",
    },
    Key {
        name: "dev_dir",
        form: PATH,
        default: "/dev",
        meaning: "where the device nodes are",
    },
    Key {
        name: "cgroups_root",
        form: CGROUP,
        default: "(the agent's --cgroups_root, else mesos)",
        meaning: "the agent's folder below the cgroup hierarchies",
    },
    Key {
        name: "cgroups_hierarchy",
        form: PATH,
        default: "(the agent's --cgroups_hierarchy, else /sys/fs/cgroup)",
        meaning: "where the cgroup hierarchies are mounted",
    },
    Key {
        name: "attributes",
        form: attributes::FORM,
        default: "none",
        meaning: "what the agent's attributes say of its GPUs",
    },
    Key {
        name: "mode",
        form: MODE,
        default: "exclusive",
        meaning: "whether GPUs are handed out, or only observed beside Mesos's own gpu/nvidia",
    },
    Key {
        name: "checkpoint_dir",
        form: PATH,
        default: "(mesos-gpu in the agent's --work_dir)",
        meaning: "where the agent writes down who holds which GPU",
    },
    Key {
        name: "metrics_file",
        form: PATH,
        default: "(none is written)",
        meaning: "a file for Prometheus's textfile collector, in a folder that is there",
    },
    Key {
        name: "dcgm_job_dir",
        form: PATH,
        default: "(none is written)",
        meaning: "a folder of this agent's own, from which dcgm-exporter takes the containers on each GPU",
    },
    Key {
        name: "release_wait",
        form: WAIT,
        default: "30secs",
        meaning: "how long a launch or a growth waits for GPUs that are being released",
    },
    Key {
        name: "release_limit",
        form: WAIT,
        default: "30secs",
        meaning: "how long a released GPU may still be used by a process before it is set aside",
    },
    Key {
        name: "health_interval",
        form: TIME_LIMIT,
        default: "10secs",
        meaning: "how often the GPUs are looked at",
    },
    Key {
        name: "process_check",
        form: SWITCH,
        default: "on",
        meaning: "whether a GPU on which processes compute that belong to no container is kept back",
    },
    Key {
        name: "control_nodes_for_all",
        form: SWITCH,
        default: "off",
        meaning: "whether containers without GPUs can open the driver's control nodes too",
    },
    Key {
        name: "driver_files",
        form: DRIVER_FILES,
        default: "asked",
        meaning: "which containers with an image get the driver's files: none, those with GPUs, or also those whose image asks",
    },
    Key {
        name: "driver_root",
        form: PATH,
        default: "(the host's root)",
        meaning: "the folder below which the driver's files are looked for",
    },
    Key {
        name: "cdi_spec",
        form: PATH,
        default: "(none is used)",
        meaning: "a CDI specification that names the driver's files, instead of a search",
    },
    Key {
        name: "cuda_compat",
        form: NEWER,
        default: "newer",
        meaning: "whether an image's own libcuda is used when it is newer than the driver's",
    },
    Key {
        name: "image_dir",
        form: PATH,
        default: "(mesos-gpu in the agent's --runtime_dir, else /var/run/mesos/mesos-gpu)",
        meaning: "where driver files and device nodes for images are put together",
    },
    Key {
        name: "nvidia_requirements",
        form: SWITCH,
        default: "on",
        meaning: "whether what an image requires in NVIDIA_REQUIRE_* is checked before it is launched",
    },
    Key {
        name: "oversubscribe",
        form: SWITCH,
        default: "off",
        meaning: "whether GPUs that the containers which hold them leave idle are offered a second time, as revocable",
    },
    Key {
        name: "idle_window",
        form: TIME_LIMIT,
        default: "60secs",
        meaning: "how long a held GPU must have been quiet before it counts as idle",
    },
    Key {
        name: "idle_utilization",
        form: IDLE_UTILIZATION,
        default: "5",
        meaning: "how many percent of the time a container may compute on a GPU that counts as idle",
    },
    Key {
        name: "idle_memory",
        form: IDLE_MEMORY,
        default: "1GB",
        meaning: "how much memory a container may hold on a GPU that counts as idle; a bare CUDA context takes half a GB",
    },
    Key {
        name: "sample_interval",
        form: TIME_LIMIT,
        default: "5secs",
        meaning: "how often it is asked how much the GPUs are used, and so how long an owner that becomes active may wait for that to be seen",
    },
    Key {
        name: "guests_per_gpu",
        form: GUESTS,
        default: "1",
        meaning: "how many containers may be guests on one idle GPU at a time",
    },
    Key {
        name: "oversubscribe_pause",
        form: WAIT,
        default: "5mins",
        meaning: "how long a GPU is not offered again after it became idle or its guests had to go",
    },
    Key {
        name: "oversubscribe_share",
        form: SHARE,
        default: "100",
        meaning: "how many percent of the held GPUs may have guests at a time, rounded down",
    },
];

// SPDX-License-Identifier: Apache-2.0
//! Every rule that `mesos-gpu check` knows, one below the other: the names are an interface, which scripts and the
//! documentation rest on, and so stand in one place.

use crate::tool::finding::{Rule, Severity};

pub(super) mod allocator;
pub(super) mod driver;
pub(super) mod effect;
pub(super) mod flags;
pub(super) mod host;
pub(super) mod isolation;
pub(super) mod libraries;
pub(super) mod named;
pub(super) mod oversubscription;
pub(super) mod places;
pub(super) mod resources;

macro_rules! rules {
    ($($severity:ident $name:ident $text:literal: $meaning:literal;)*) => {
        $(
            #[doc = $meaning]
            pub const $name: Rule = Rule { name: $text, severity: Severity::$severity, meaning: $meaning };
        )*
        /// All of them.
        pub const RULES: &[Rule] = &[$($name),*];
    };
}

rules! {
    Error MODULES_NOT_GIVEN "modules-not-given": "no modules.json is given, so no module is loaded";
    Error MODULES_UNREADABLE "modules-unreadable": "modules.json is missing or cannot be read";
    Error MODULES_AND_FOLDER "modules-and-folder": "`--modules` and `--modules_dir` are both given";
    Error MODULES_NOT_JSON "modules-not-json": "modules.json is no JSON";
    Error MODULES_SHAPE "modules-shape": "modules.json is JSON that Mesos cannot take";
    Warning MODULES_UNKNOWN_FIELD "modules-unknown-field": "modules.json has a field that Mesos passes over in silence";
    Error MODULE_UNKNOWN "module-unknown": "modules.json names a module that this library does not have";
    Error MODULE_REPEATED "module-repeated": "modules.json names a module twice, with different parameters or libraries";
    Error LIBRARY_UNNAMED "library-unnamed": "an entry of modules.json has neither `file` nor `name`";
    Error LIBRARY_MISSING "library-missing": "the library's file is missing or cannot be read";
    Warning LIBRARY_NOT_FOUND "library-not-found": "the loader is not known to find the library by its name";
    Error LIBRARY_NOT_ELF "library-not-elf": "the library is no shared library of this machine";
    Error LIBRARY_WITHOUT_MODULE "library-without-module": "the library does not export a module that modules.json names";
    Error LIBRARY_FOR_ANOTHER_MESOS "library-for-another-mesos": "the library was built for another release of Mesos";
    Error MODULE_NOT_LOADED "module-not-loaded": "a flag names a module that modules.json does not";
    Error MODULE_IN_WRONG_FLAG "module-in-wrong-flag": "a module is named in the flag of another kind";
    Warning MODULES_NOT_USED "modules-not-used": "modules are loaded that no flag names";
    Error HOOK_WITHOUT_ISOLATOR "hook-without-isolator": "GPUs are advertised that nobody hands out";
    Error MODULE_WITHOUT_ISOLATOR "module-without-isolator": "the estimator or the controller is named without the isolator";
    Warning ISOLATOR_WITHOUT_HOOK "isolator-without-hook": "GPUs are handed out that nobody advertises";
    Warning HOOK_IN_MASTER "hook-in-master": "the agent's hook is named in a master";
    Warning PARAMETERS_NOT_READ "parameters-not-read": "a module has parameters and is not created";
    Error PARAMETER_UNKNOWN "parameter-unknown": "a parameter does not exist";
    Error PARAMETER_WRONG_VALUE "parameter-wrong-value": "a parameter has a value that cannot be read";
    Error PARAMETER_REPEATED "parameter-repeated": "a module is given a parameter twice";
    Error PARAMETERS_DIFFER "parameters-differ": "two modules of one process are given different values";
    Error PARAMETERS_CONTRADICT "parameters-contradict": "a parameter contradicts another or a flag";
    Error PARAMETERS_TOO_LATE "parameters-too-late": "only the estimator or the controller is given a parameter, and Mesos creates them too late";
    Warning PARAMETERS_WITHOUT_EFFECT "parameters-without-effect": "a parameter is given that another one switches off";
    Error FLAG_UNREADABLE "flag-unreadable": "the file that a flag names cannot be read, or its value cannot be used";
    Error FLAG_MISSPELT "flag-misspelt": "a flag is no flag of Mesos and looks like one that matters here";
    Error FLAG_OF_THE_OTHER "flag-of-the-other": "an agent is given a master's flag, or a master an agent's";
    Error LIST_WITH_SPACES "list-with-spaces": "a name in a list has spaces around it, which Mesos does not take away";
    Error LIST_REPEATS "list-repeats": "a list names something twice";
    Error ISOLATION_BUILT_IN "isolation-built-in": "`gpu/nvidia` would hand out the same GPUs";
    Error ISOLATION_OBSERVES_NOTHING "isolation-observes-nothing": "`mode=observe` without `gpu/nvidia`";
    Error ISOLATION_WITHOUT_DEVICES "isolation-without-devices": "nothing keeps containers from each other's GPUs";
    Warning ISOLATION_WITHOUT_FILESYSTEM "isolation-without-filesystem": "`filesystem/linux` is missing, so no container has an image";
    Warning IMAGES_WITHOUT_RUNTIME "images-without-runtime": "an image's environment is lost: `docker/runtime` is missing";
    Warning LAUNCHER_POSIX "launcher-posix": "the launcher cannot end all processes of a container";
    Error NVIDIA_GPU_DEVICES "nvidia-gpu-devices": "`--nvidia_gpu_devices` without `gpu/nvidia`";
    Error DOCKER_WITH_GPUS "docker-with-gpus": "the docker containerizer ends the agent when `--resources` names `gpus`";
    Error DOCKER_VOLUME "docker-volume": "the docker containerizer ends the agent on a host with NVML and a present C library";
    Error GPUS_NOT_THERE "gpus-not-there": "the parameter `gpus` names a GPU that this machine does not have";
    Error RESOURCES_GPUS_DIFFER "resources-gpus-differ": "`--resources` names more or fewer `gpus` than are managed";
    Error RESOURCES_GPUS_NOT_WHOLE "resources-gpus-not-whole": "`--resources` names `gpus` that are no whole number";
    Warning GPUS_CHANGED "gpus-changed": "GPUs are lost or new since the agent first registered";
    Note ATTRIBUTES_MAY_CHANGE "attributes-may-change": "an attribute changes with the driver, and Mesos refuses the restart then";
    Error NOT_ROOT "not-root": "the agent does not run as root";
    Note OTHER_MOUNTS "other-mounts": "the process sees other mounts than this program";
    Error DEVICES_NOT_MOUNTED "devices-not-mounted": "the cgroup v1 controller `devices` is not mounted";
    Error CHECKPOINT_NOWHERE "checkpoint-nowhere": "neither `--work_dir` nor `checkpoint_dir` is given";
    Error CHECKPOINT_NOT_WRITABLE "checkpoint-not-writable": "the checkpoint cannot be written";
    Note CHECKPOINT_IN_MEMORY "checkpoint-in-memory": "the checkpoint is lost with the next reboot";
    Warning METRICS_FOLDER "metrics-folder": "the folder of `metrics_file` is missing or cannot be written";
    Warning JOB_FOLDER "job-folder": "`dcgm_job_dir` cannot be used as a folder";
    Warning IMAGE_DIR "image-dir": "`image_dir` cannot be used for device nodes";
    Warning CDI_SPEC "cdi-spec": "`cdi_spec` is missing, cannot be read, or is no CDI specification";
    Warning DRIVER_ROOT "driver-root": "`driver_root` is no folder";
    Warning NVML_LIBRARY "nvml-library": "`nvml_library` is no file";
    Note NO_DRIVER "no-driver": "this machine has no NVIDIA driver";
    Warning DRIVER_NOT_LOADED "driver-not-loaded": "the driver is installed and its kernel module is not loaded";
    Warning DRIVER_VERSIONS_DIFFER "driver-versions-differ": "the driver's library and its kernel module differ";
    Warning NVML_FAILS "nvml-fails": "the driver is loaded and NVML does not answer";
    Warning NODE_MISSING "node-missing": "a device node that containers need is missing";
    Warning UVM_NOT_LOADED "uvm-not-loaded": "nvidia-uvm is not loaded, without which no program can use CUDA";
    Warning GPU_SET_ASIDE "gpu-set-aside": "a GPU is there and cannot be handed out";
    Warning FILTER_OFF "filter-off": "`strict` hides nothing while `--filter_gpu_resources` is off";
    Warning SORTER_NOT_READ "sorter-not-read": "a sorter's flag differs from the allocator's parameter, which alone counts";
    Note GPUS_IN_FAIR_SHARE "gpus-in-fair-share": "a few GPUs count as the whole cluster in Mesos's fair shares";
    Warning OVERSUBSCRIBE_WITHOUT_ESTIMATOR "oversubscribe-without-estimator": "idle GPUs are to be offered and nobody offers them";
    Warning ESTIMATOR_OFF "estimator-off": "the estimator is created and `oversubscribe` is off";
    Note MIG_NOT_SHARED "mig-not-shared": "idle GPUs are to be offered and some are MIG instances, which never are";
    Note ESTIMATOR_WITHOUT_CONTROLLER "estimator-without-controller": "guests are ended without Mesos's own reason";
    Note CONTROLLER_WITHOUT_ESTIMATOR "controller-without-estimator": "there are no guests to take back GPUs from";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_given_once_and_can_be_typed() {
        for (nth, rule) in RULES.iter().enumerate() {
            assert!(
                RULES[..nth].iter().all(|other| other.name != rule.name),
                "{}",
                rule.name
            );
            assert!(
                rule.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'),
                "{}",
                rule.name
            );
            assert!(!rule.meaning.contains('|'), "{}", rule.meaning);
        }
    }
}

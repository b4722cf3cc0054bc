// SPDX-License-Identifier: Apache-2.0
//! The real side of every port: the one place that touches the machine. Each file knows one thing of it and none
//! decides anything; what comes back from a broken machine is data, so that an agent lives on.

pub mod cgroup_v1;
pub mod checkpoint_file;
pub mod dev_nodes;
pub mod device_copies;
pub mod driver_files;
pub mod driver_params;
pub mod driver_proc;
pub mod driver_volume;
mod file_state;
mod gpu_identity;
pub mod image_fit;
pub mod image_root;
pub mod images;
pub mod job_folder;
pub mod latest;
pub mod mesos_flags;
pub mod metrics_file;
pub mod module_loader;
pub mod nvml;
mod replaced_file;

// SPDX-License-Identifier: Apache-2.0
//! What the product promises, proven in the real Mesos with the real kernel, one promise a file. They are one program, so that
//! they run beside one another: most of their time is waiting.

mod common;
mod gpu_back_to_back;
mod gpu_bad_input;
mod gpu_crash_between;
mod gpu_exclusive;
mod gpu_faults;
mod gpu_faults_at_start;
mod gpu_growth;
mod gpu_images;
mod gpu_images_bytes;
mod gpu_images_driver_change;
mod gpu_images_growth;
mod gpu_images_hostile;
mod gpu_images_session;
mod gpu_images_without_gpus;
mod gpu_kill9;
mod gpu_launch;
mod gpu_lost;
mod gpu_metrics;
mod gpu_nvml;
mod gpu_observe;
mod gpu_oversubscription;
mod gpu_oversubscription_faults;
mod gpu_oversubscription_guests;
mod gpu_recovery;
mod gpu_restart;
mod gpu_swap;
mod hook_attributes;
mod hook_environment;
mod hook_labels;
mod hook_status;

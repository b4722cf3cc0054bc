// SPDX-License-Identifier: Apache-2.0
//! The seams to the machine. Each trait has one contract test that its real and its fake side both pass
//! (`tests/contract_*.rs`).

pub mod checkpoint;
pub mod dev_nodes;
pub mod device_cgroup;
pub mod driver_proc;
pub mod images;
pub mod jobs;
pub mod metrics;
pub mod module_loader;
pub mod nvml;
pub mod usage;

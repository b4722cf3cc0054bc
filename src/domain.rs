// SPDX-License-Identifier: Apache-2.0
//! Pure decisions about GPUs and containers: no I/O, no clock, no log, no unsafe.

pub mod advertising;
pub mod allocation_metrics;
pub mod allocation_policy;
pub mod compat;
pub mod container;
pub mod dev_entries;
pub mod device;
pub mod device_rules;
pub mod driver_choice;
pub mod driver_file;
pub mod elf;
pub mod gpu;
pub mod image;
pub mod inventory;
pub mod launch_plan;
pub mod ledger;
pub mod loader_cache;
pub mod metrics;
pub mod mount;
pub mod placement;
pub mod record;
pub mod recovery;
pub mod request;
pub mod search_path;
pub mod selection;

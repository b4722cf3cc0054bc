// SPDX-License-Identifier: Apache-2.0
//! Pure decisions about GPUs and containers: no I/O, no clock, no log, no unsafe.

pub mod advertising;
pub mod container;
pub mod dev_entries;
pub mod device;
pub mod device_rules;
pub mod driver_file;
pub mod estimate;
pub mod gpu;
pub mod guests;
pub mod inventory;
pub mod launch_plan;
pub mod ledger;
pub mod metrics;
pub mod mount;
pub mod placement;
pub mod record;
pub mod recovery;
pub mod request;
pub mod selection;

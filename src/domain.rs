// SPDX-License-Identifier: Apache-2.0
//! Pure decisions about GPUs and containers: no I/O, no clock, no log, no unsafe.

pub mod container;
pub mod device;
pub mod device_rules;
pub mod gpu;
pub mod inventory;
pub mod launch_plan;
pub mod ledger;
pub mod placement;
pub mod request;
pub mod selection;

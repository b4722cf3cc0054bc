// SPDX-License-Identifier: Apache-2.0
//! The tool's one look at the machine: files, processes, the driver, cgroups. It decides nothing; what it finds are facts
//! for the functions that do. Nothing here is written to.

pub mod facts;
pub mod gpus;
pub mod holders;
mod library;
mod loader;
mod places;
pub mod process;

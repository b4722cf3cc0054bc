// SPDX-License-Identifier: Apache-2.0
//! `mesos-gpu check` on seeded misconfigurations: each is found by one rule, with the cure, and nothing else is said; and
//! nothing at all is said of good configurations.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]

mod support;
mod tool;

#[path = "tool_check/agents.rs"]
mod agents;
#[path = "tool_check/masters.rs"]
mod masters;
#[path = "tool_check/modules_files.rs"]
mod modules_files;
#[path = "tool_check/parameters.rs"]
mod parameters;
#[path = "tool_check/running.rs"]
mod running;
#[path = "tool_check/setup.rs"]
mod setup;
#[path = "tool_check/sharing.rs"]
mod sharing;

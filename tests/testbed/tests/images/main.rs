// SPDX-License-Identifier: Apache-2.0
//! Containers in images, in the real Mesos: what the built-in GPU isolator does for them, and what Mesos does by itself.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]

mod built_in;
mod cluster;
mod roots;

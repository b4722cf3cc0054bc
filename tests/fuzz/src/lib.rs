// SPDX-License-Identifier: Apache-2.0
//! What strangers' bytes must not do to this library. Images and the files in them are made by people whom the agent does
//! not know, and are read by a process that runs as root and whose death ends all containers of the machine.
//!
//! Each target is a function that takes any bytes and panics where a promise is broken. `cargo test` replays the kept
//! inputs in `corpus/` and a few thousand mutations of them. For an hour of processor time with a fuzzer that follows the
//! branches taken:
//!
//! ```sh
//! nice cargo run -p mesos-gpu-fuzz -- image_rules 3600
//! nice cargo run -p mesos-gpu-fuzz -- loader_cache 3600
//! ```
//!
//! An input that breaks a promise is printed in the form of `corpus/`, to be kept there once the defect is mended.
// A broken promise is told by a panic: that is what a fuzzer and a test look for.
#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used)]

pub mod corpus;
pub mod image_rules;
pub mod loader_cache;

/// Something that strangers' bytes are given to.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name: that of its program and of its folder in `corpus/`.
    pub name: &'static str,
    /// Tries one input; panics where a promise is broken.
    pub run: fn(&[u8]),
}

/// All of them.
pub const TARGETS: [Target; 2] = [
    Target {
        name: "image_rules",
        run: image_rules::run,
    },
    Target {
        name: "loader_cache",
        run: loader_cache::run,
    },
];

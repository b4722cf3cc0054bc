// SPDX-License-Identifier: Apache-2.0
//! The numbers of an agent: what they say in the life of its GPUs and containers, that they end with these, and that the
//! documentation and the dashboard speak of numbers that are there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "metrics/bounds.rs"]
mod bounds;
#[path = "metrics/calls.rs"]
mod calls;
#[path = "metrics/docs.rs"]
mod docs;
#[path = "metrics/jobs.rs"]
mod jobs;
#[path = "metrics/samples.rs"]
mod samples;
#[path = "metrics/states.rs"]
mod states;
#[path = "metrics/story.rs"]
mod story;
mod support;
#[path = "metrics/text.rs"]
mod text;

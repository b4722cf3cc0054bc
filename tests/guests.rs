// SPDX-License-Identifier: Apache-2.0
//! Stories of guests: containers with revocable GPUs, on idle GPUs that others hold.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "guests/death.rs"]
mod death;
#[path = "guests/eviction.rs"]
mod eviction;
#[path = "guests/house.rs"]
mod house;
#[path = "guests/placement.rs"]
mod placement;
#[path = "guests/recovery.rs"]
mod recovery;
#[path = "guests/refusals.rs"]
mod refusals;
#[path = "guests/requests.rs"]
mod requests;
#[allow(dead_code)]
#[path = "estimate_sampling/story.rs"]
mod story;
mod support;
#[path = "guests/updates.rs"]
mod updates;

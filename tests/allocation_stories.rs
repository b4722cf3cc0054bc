// SPDX-License-Identifier: Apache-2.0
//! Stories of frameworks that share agents with GPUs, through a model of the master's own allocator.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "amounts of the model are small"
)]

#[path = "allocation_stories/bag.rs"]
mod bag;
#[path = "allocation_stories/caps.rs"]
mod caps;
#[path = "allocation_stories/master.rs"]
mod master;
#[path = "allocation_stories/model.rs"]
mod model;
#[path = "allocation_stories/reviving.rs"]
mod reviving;
#[path = "allocation_stories/sharing.rs"]
mod sharing;
#[path = "allocation_stories/strict.rs"]
mod strict;
#[path = "allocation_stories/vanishing.rs"]
mod vanishing;
#[path = "allocation_stories/visible.rs"]
mod visible;

// SPDX-License-Identifier: Apache-2.0
//! The life of a container with GPUs, one verb a file, in the order in which Mesos calls them. Each runs on the agent
//! thread, owns nothing, and decides from the books and the ports in [`State`](crate::agent::state::State).

pub mod cleanup;
pub mod isolate;
pub mod prepare;
pub mod recover;
pub mod status;
pub mod update;
pub mod usage;
pub mod watch;

mod children;
mod devices;
mod fitting;
mod grant;
mod guest;
mod image;
mod observe;
pub mod reconcile;
mod shrink;
mod unified_memory;

// SPDX-License-Identifier: Apache-2.0
//! What the agent tells the master of its GPUs.

pub mod attributes;
pub mod labels;
pub mod resources;

// SPDX-License-Identifier: Apache-2.0
//! What the agent writes down of its books.

use crate::domain::container::ContainerId;
use crate::domain::gpu::UnitId;
use std::collections::BTreeMap;

/// The books, as far as they must outlive the agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// The boot of the machine in which it was written.
    pub boot_id: String,
    /// What this agent advertised when it first registered: the parameter `gpus` in its own words, and the units. None
    /// before that.
    pub advertised: Option<Advertised>,
    /// Who holds what, in the order in which it was taken; children with what they were given of their root's.
    pub held: BTreeMap<ContainerId, Vec<UnitId>>,
    /// Who is on GPUs that it does not hold, as a guest.
    pub guests: BTreeMap<ContainerId, Vec<UnitId>>,
}

/// What an agent advertised.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Advertised {
    /// The selection, as the operator wrote it.
    pub selection: String,
    /// The units, in order.
    pub units: Vec<UnitId>,
}

// SPDX-License-Identifier: Apache-2.0
//! Which of the free units a container gets.

use crate::domain::gpu::{Unit, UnitId};

/// The first `count` free units in the order of the inventory: neighbours on the bus, and the same answer for the same
/// state. None when there are fewer.
pub fn choose<'a>(free: impl Iterator<Item = &'a Unit>, count: usize) -> Option<Vec<UnitId>> {
    let chosen: Vec<UnitId> = free.take(count).map(|unit| unit.id.clone()).collect();
    (chosen.len() == count).then_some(chosen)
}

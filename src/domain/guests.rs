// SPDX-License-Identifier: Apache-2.0
//! Who is on a GPU besides the container that holds it. Beside the ledger, because a guest holds nothing: it is there until
//! the holder wants its GPU.

use crate::domain::container::ContainerId;
use crate::domain::gpu::UnitId;
use std::collections::BTreeMap;

/// The guests by GPU, each in the order in which it came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guests {
    on: BTreeMap<UnitId, Vec<ContainerId>>,
}

impl Guests {
    /// Notes a container as a guest of these GPUs.
    pub fn add(&mut self, guest: &ContainerId, gpus: &[UnitId]) {
        for gpu in gpus {
            let guests = self.on.entry(gpu.clone()).or_default();
            if !guests.contains(guest) {
                guests.push(guest.clone());
            }
        }
    }

    /// Notes that a container is no guest any more; the GPUs that it was on.
    pub fn remove(&mut self, guest: &ContainerId) -> Vec<UnitId> {
        let gpus = self.of(guest);
        self.leave(guest, &gpus);
        gpus
    }

    /// Notes that a container is no guest of these GPUs any more.
    pub fn leave(&mut self, guest: &ContainerId, gpus: &[UnitId]) {
        for gpu in gpus {
            if let Some(guests) = self.on.get_mut(gpu) {
                guests.retain(|other| other != guest);
            }
        }
        self.on.retain(|_, guests| !guests.is_empty());
    }

    /// The guests of a GPU.
    pub fn on(&self, gpu: &UnitId) -> &[ContainerId] {
        self.on.get(gpu).map_or(&[], Vec::as_slice)
    }

    /// The GPUs that a container is a guest of.
    pub fn of(&self, guest: &ContainerId) -> Vec<UnitId> {
        let gpus = self.on.iter().filter(|(_, guests)| guests.contains(guest));
        gpus.map(|(gpu, _)| gpu.clone()).collect()
    }

    /// All guests, each with the GPUs that it is on.
    pub fn by_guest(&self) -> BTreeMap<ContainerId, Vec<UnitId>> {
        let mut all: BTreeMap<ContainerId, Vec<UnitId>> = BTreeMap::new();
        for (gpu, guests) in &self.on {
            for guest in guests {
                all.entry(guest.clone()).or_default().push(gpu.clone());
            }
        }
        all
    }

    /// The GPUs that have guests.
    pub fn gpus(&self) -> impl Iterator<Item = &UnitId> {
        self.on.keys()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.on.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_is_on_its_gpus_until_it_is_removed() {
        let (a, b) = (ContainerId::root_of("a"), ContainerId::root_of("b"));
        let gpus = [UnitId::new("GPU-1"), UnitId::new("GPU-2")];
        let mut guests = Guests::default();
        guests.add(&a, &gpus);
        guests.add(&a, &gpus[..1]);
        guests.add(&b, &gpus[1..]);
        assert_eq!(guests.on(&gpus[0]), std::slice::from_ref(&a));
        assert_eq!(guests.on(&gpus[1]), [a.clone(), b.clone()]);
        let want = [(a.clone(), gpus.to_vec()), (b.clone(), gpus[1..].to_vec())];
        assert_eq!(guests.by_guest(), want.into());
        guests.leave(&a, &gpus[1..]);
        guests.leave(&b, &gpus[..1]);
        assert_eq!(guests.on(&gpus[1]), std::slice::from_ref(&b));
        assert_eq!(guests.gpus().collect::<Vec<_>>(), gpus.iter().collect::<Vec<_>>());
        guests.add(&a, &gpus);
        assert_eq!(guests.remove(&a), gpus);
        assert_eq!((guests.of(&a), guests.of(&b)), (vec![], gpus[1..].to_vec()));
        assert_eq!((guests.remove(&a), guests.remove(&b).len()), (vec![], 1));
        assert!(guests.is_empty());
    }
}

// SPDX-License-Identifier: Apache-2.0
//! What is asked of every agent of every offer: whether it has to be looked at. Almost always not, so this is apart from
//! the rest, and costs a lookup.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// An odd number with as many ones as zeros, spread evenly.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// So that a word of zeros does not stay one.
const SEED: u64 = 0xf39c_c060_5ced_c835;

/// A hash for ids, which the master makes and which differ in their last letters: eight bytes at a time, each word mixed
/// over all bits. The standard one, made for keys of strangers, would be most of what a lookup costs.
#[derive(Debug, Default)]
pub struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        let last = rest
            .iter()
            .fold(bytes.len() as u64, |last, byte| last << 8 | u64::from(*byte));
        self.mix(last);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl IdHasher {
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ SEED) * u128::from(FACTOR);
        // Both halves of the product, folded.
        #[allow(clippy::cast_possible_truncation)]
        let folded = (product >> 64) as u64 ^ product as u64;
        self.0 = folded;
    }
}

/// A map by id.
pub type Ids<V> = HashMap<String, V, BuildHasherDefault<IdHasher>>;

/// A copy of the little that tells.
#[derive(Debug, Default)]
pub struct Index {
    /// Whether anything can be withheld or has to be counted at all.
    pub watches: bool,
    /// The agents with GPUs, and where it is noted that they were offered.
    agents: Ids<Arc<AtomicBool>>,
    /// The frameworks, and whether all that they are offered passes.
    frameworks: Ids<bool>,
}

impl Index {
    /// Nobody is known yet.
    pub fn new(watches: bool) -> Self {
        Self {
            watches,
            ..Self::default()
        }
    }

    /// Whether any offer to the framework has to be looked at.
    pub fn looks_at(&self, framework: &str) -> bool {
        self.watches && !self.agents.is_empty() && self.frameworks.contains_key(framework)
    }

    /// The places of those of the agents of which what they offer to the framework has to be decided. If it passes in any
    /// case it is noted.
    pub fn concerned<'a>(&self, framework: &str, agents: impl IntoIterator<Item = &'a str>) -> Vec<usize> {
        let Some(passes) = self.frameworks.get(framework).filter(|_| self.watches) else {
            return Vec::new();
        };
        let with_gpus = agents
            .into_iter()
            .enumerate()
            .filter_map(|(place, agent)| Some((place, self.agents.get(agent)?)));
        if *passes {
            with_gpus.for_each(|(_, offered)| offered.store(true, Ordering::Relaxed));
            return Vec::new();
        }
        with_gpus.map(|(place, _)| place).collect()
    }

    /// Whether all that a framework is offered passes. One that is not known may still have something.
    pub fn passes(&self, framework: &str) -> bool {
        self.frameworks.get(framework).copied().unwrap_or(false)
    }

    /// Whether an agent has GPUs.
    pub fn has(&self, agent: &str) -> bool {
        self.agents.contains_key(agent)
    }

    /// How many agents have GPUs.
    pub fn agents(&self) -> usize {
        self.agents.len()
    }

    /// An agent that has GPUs from now on, or none any more; true where it had none before.
    pub fn set_agent(&mut self, agent: &str, offered: Option<&Arc<AtomicBool>>) -> bool {
        match offered {
            Some(offered) => self
                .agents
                .insert(agent.to_owned(), Arc::clone(offered))
                .is_none(),
            None => {
                self.agents.remove(agent);
                false
            }
        }
    }

    /// A framework to which all passes, or not.
    pub fn set_framework(&mut self, framework: &str, passes: bool) {
        self.frameworks.insert(framework.to_owned(), passes);
    }

    /// Forgets a framework.
    pub fn remove_framework(&mut self, framework: &str) {
        self.frameworks.remove(framework);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::{BuildHasher, BuildHasherDefault};

    #[test]
    fn ids_that_differ_in_a_letter_fall_far_apart() {
        let build = BuildHasherDefault::<IdHasher>::default();
        let hash = |id: &str| build.hash_one(id);
        let ids = (0..10_000).map(|nth| format!("6f1c5d3a-4b1e-4b8e-9b0a-3f2f6f2d7c11-S{nth}"));
        let hashes: Vec<u64> = ids.map(|id| hash(&id)).collect();
        assert_eq!(hashes.iter().collect::<HashSet<_>>().len(), 10_000);
        // The map takes the place from the low bits and seven more from the high ones.
        for bits in [|hash: &u64| hash & 0xffff, |hash: &u64| hash >> 48] {
            let places = hashes.iter().map(bits).collect::<HashSet<_>>().len();
            assert!(places > 9000, "{places} of 65536 places");
        }
        assert_ne!(hash("a"), hash("a\0"));
    }

    #[test]
    fn only_what_is_known_and_has_gpus_is_looked_at() {
        let mut index = Index::new(true);
        let offered = Arc::new(AtomicBool::new(false));
        index.set_framework("plain", true);
        index.set_framework("cut", false);
        assert!(!index.looks_at("cut"), "no agent has GPUs");
        assert!(index.set_agent("m", Some(&offered)) && !index.set_agent("m", Some(&offered)));
        assert!(index.looks_at("cut") && index.looks_at("plain") && !index.looks_at("unknown"));
        assert_eq!(index.concerned("cut", ["n", "m", "n", "m"]), [1, 3]);
        assert!(index.concerned("unknown", ["m"]).is_empty());
        assert!(!offered.load(Ordering::Relaxed));
        assert!(index.concerned("plain", ["n"]).is_empty());
        assert!(!offered.load(Ordering::Relaxed));
        assert!(index.concerned("plain", ["n", "m"]).is_empty());
        assert!(offered.load(Ordering::Relaxed), "it is noted");
        index.watches = false;
        assert!(index.concerned("cut", ["m"]).is_empty() && !index.looks_at("cut"));
    }
}

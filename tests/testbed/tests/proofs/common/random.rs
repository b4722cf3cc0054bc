// SPDX-License-Identifier: Apache-2.0
//! Numbers that look random and are the same in every run with the same seed, so that a failure can be had again.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use std::time::Duration;

/// Marsaglia's xorshift.
pub struct Random(u64);

impl Random {
    /// From a seed that is not 0.
    pub fn new(seed: u64) -> Self {
        assert_ne!(seed, 0, "0 is no seed");
        Self(seed)
    }

    /// A number from 0 to one below the limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // The low bits of neighbouring numbers are alike.
        (self.0 >> 11) % limit
    }

    /// A place in a list of this length, which is not 0.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(u64::try_from(length).unwrap())).unwrap()
    }

    /// None, one or two, as Mesos counts them.
    pub fn gpus(&mut self) -> f64 {
        u32::try_from(self.below(3)).unwrap().into()
    }

    /// A time of less than so many milliseconds.
    pub fn moment(&mut self, milliseconds: u64) -> Duration {
        Duration::from_millis(self.below(milliseconds))
    }
}

/// The number in this environment variable, else `usual`.
pub fn setting(name: &str, usual: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|why| panic!("{name}={text} is no number: {why}")),
        Err(_) => usual,
    }
}

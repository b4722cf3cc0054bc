// SPDX-License-Identifier: Apache-2.0
//! The order in which variants are measured, and the time that something took.

use std::time::Instant;

/// The places of `count` variants, from another one on in each round: so that a machine that becomes slower or faster in the
/// middle of a round does so for all.
pub fn turned(count: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |place| (place + round) % count)
}

/// The milliseconds since then.
pub fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_has_its_turn_in_a_round_and_another_one_the_first() {
        let rounds: Vec<Vec<usize>> = (0..4).map(|round| turned(3, round).collect()).collect();
        assert_eq!(rounds, [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]);
    }
}

// SPDX-License-Identifier: Apache-2.0
//! How many GPUs someone has on an agent, offered and in use.

use super::piece::{Kind, Piece};

/// GPUs in thousandths. What is told of them (used at a failover, returned) and what was passed may differ in how it is
/// reserved, since an offer may be accepted by reserving it, so only the sum is certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Neither reserved nor revocable.
    pub shared: u64,
    /// The others.
    pub own: u64,
}

impl Count {
    /// The `gpus` among these pieces.
    pub fn of<'a>(pieces: impl IntoIterator<Item = &'a Piece>) -> Self {
        let mut all = Self::default();
        for piece in pieces.into_iter().filter(|piece| piece.kind == Kind::Gpus) {
            let part = if piece.is_shared() {
                &mut all.shared
            } else {
                &mut all.own
            };
            *part = part.saturating_add(piece.milli());
        }
        all
    }

    /// All of them.
    pub fn sum(&self) -> u64 {
        self.shared.saturating_add(self.own)
    }

    /// Adds these.
    pub fn add(&mut self, other: Self) {
        self.shared = self.shared.saturating_add(other.shared);
        self.own = self.own.saturating_add(other.own);
    }

    /// Takes these away, as far as there are any, and says how many there were: what is missing of one sort is taken of
    /// the other.
    pub fn take(&mut self, other: Self) -> u64 {
        let before = self.sum();
        let (own, shared) = (other.own.min(self.own), other.shared.min(self.shared));
        self.own -= own;
        self.shared -= shared;
        self.shared = self.shared.saturating_sub(other.own - own);
        self.own = self.own.saturating_sub(other.shared - shared);
        before - self.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(shared: u64, own: u64) -> Count {
        Count { shared, own }
    }

    #[test]
    fn what_comes_back_as_another_sort_is_taken_from_what_there_is() {
        for (has, back, left, taken) in [
            (count(4, 0), count(4, 0), count(0, 0), 4),
            (count(4, 0), count(0, 4), count(0, 0), 4),
            (count(4, 2), count(1, 3), count(2, 0), 4),
            (count(1, 2), count(3, 0), count(0, 0), 3),
            (count(1, 0), count(4, 4), count(0, 0), 1),
            (count(0, 0), count(1, 1), count(0, 0), 0),
        ] {
            let mut now = has;
            assert_eq!((now.take(back), now), (taken, left), "{has:?} {back:?}");
        }
    }

    #[test]
    fn only_gpus_count() {
        let piece = |kind, reserved, revocable| Piece {
            kind,
            amount: 1.0,
            reserved,
            revocable,
        };
        let pieces = [
            piece(Kind::Gpus, false, false),
            piece(Kind::Gpus, true, false),
            piece(Kind::Gpus, false, true),
            piece(Kind::Cpus, false, false),
        ];
        assert_eq!(Count::of(&pieces), count(1000, 2000));
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The resources of an offer as far as they matter here. Mesos counts three decimal digits, so amounts are counted in
//! thousandths: sums of these are exact.

/// What kind of resource a piece is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `gpus`.
    Gpus,
    /// `cpus`.
    Cpus,
    /// `mem`, in megabytes.
    Mem,
    /// `disk`, in megabytes.
    Disk,
    /// Any other.
    Other,
}

/// One resource of an offer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piece {
    /// What it is of.
    pub kind: Kind,
    /// How much; of what is not counted, any number.
    pub amount: f64,
    /// Whether it is reserved to a role. In an offer that is the offer's own role, or one above it.
    pub reserved: bool,
    /// Whether it can be taken back at any time.
    pub revocable: bool,
}

impl Piece {
    /// How many thousandths it has.
    pub fn milli(&self) -> u64 {
        milli(self.amount)
    }

    /// Whether anyone may have it, for good.
    pub fn is_shared(&self) -> bool {
        !self.reserved && !self.revocable
    }
}

/// One, in thousandths.
pub const ONE: u64 = 1000;

/// An amount in thousandths; nothing where it is no amount.
pub fn milli(amount: f64) -> u64 {
    // A cast from float to integer stops at the ends and makes nothing of what is no number.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let milli = (amount * 1000.0).round() as u64;
    milli
}

/// Thousandths as Mesos writes them.
pub fn amount(milli: u64) -> f64 {
    // Beyond 2^53 thousandths no machine goes.
    #[allow(clippy::cast_precision_loss)]
    let amount = milli as f64 / 1000.0;
    amount
}

/// How much there is of each kind, reserved and not, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amounts([[u64; 5]; 2]);

impl Amounts {
    /// What these pieces are together.
    pub fn of(pieces: &[Piece]) -> Self {
        let mut all = Self::default();
        for piece in pieces {
            all.add(piece, piece.milli());
        }
        all
    }

    /// Adds so much of a piece's kind.
    pub fn add(&mut self, piece: &Piece, milli: u64) {
        let sum = &mut self.0[usize::from(piece.reserved)][piece.kind as usize];
        *sum = sum.saturating_add(milli);
    }

    /// Whether nothing of `other` is more than this.
    pub fn covers(&self, other: &Self) -> bool {
        self.0
            .iter()
            .flatten()
            .zip(other.0.iter().flatten())
            .all(|(own, other)| own >= other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_where_floats_are_not() {
        assert_eq!(milli(0.1) + milli(0.2), milli(0.3));
        for (amount, want) in [
            (0.0, 0),
            (1.0004, 1000),
            (0.9999999, 1000),
            (2.5, 2500),
            (-1.0, 0),
            (f64::NAN, 0),
        ] {
            assert_eq!(milli(amount), want, "{amount}");
        }
        assert_eq!(milli(f64::INFINITY), u64::MAX);
        assert_eq!(amount(2500), 2.5);
    }

    #[test]
    fn amounts_cover_each_other_by_kind_and_reservation() {
        let piece = |kind, amount, reserved| Piece {
            kind,
            amount,
            reserved,
            revocable: false,
        };
        let own = Amounts::of(&[piece(Kind::Cpus, 1.0, false), piece(Kind::Cpus, 1.0, false)]);
        assert!(own.covers(&Amounts::default()));
        assert!(own.covers(&Amounts::of(&[piece(Kind::Cpus, 2.0, false)])));
        for more in [
            piece(Kind::Cpus, 2.001, false),
            piece(Kind::Cpus, 1.0, true),
            piece(Kind::Mem, 1.0, false),
        ] {
            assert!(!own.covers(&Amounts::of(&[more])), "{more:?}");
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! How many GPUs a container asks for. Mesos's resources are numbers with three decimal digits; a GPU is whole.

use std::fmt;

/// One resource entry named `gpus`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpuShare {
    /// How many, as the framework wrote it.
    pub amount: f64,
    /// Whether it can be taken back at any time.
    pub revocable: bool,
}

/// The most GPUs that a sum may reach: beyond any machine, and far from where a float stops counting whole numbers.
pub const MOST: f64 = 1e6;

/// Why a number of GPUs cannot be given. Each carries the numbers that were asked for.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RequestError {
    /// An entry asks for a part of a GPU.
    #[error("gpus must be whole numbers: asked for {0}")]
    NotWhole(Asked),
    /// An entry asks for less than nothing.
    #[error("gpus must not be negative: asked for {0}")]
    Negative(Asked),
    /// The entries, or one of them, ask for more than any machine has.
    #[error("gpus must be at most {MOST}: asked for {0}")]
    TooMany(Asked),
}

/// The amounts of a request, written `1 + 0.5`.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked(pub Vec<f64>);

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, amount) in self.0.iter().enumerate() {
            let sign = if nth == 0 { "" } else { " + " };
            // Past this size only the magnitude says something.
            let wide = amount.abs() >= 1e9 && amount.is_finite();
            if wide {
                write!(f, "{sign}{amount:e}")?
            } else {
                write!(f, "{sign}{amount}")?
            }
        }
        Ok(())
    }
}

/// The whole number of GPUs that the entries ask for together. Every entry must be whole by itself: entries differ in role
/// or in being revocable, and two halves of different kinds are not one GPU.
pub fn gpus_wanted(resources: &[GpuShare]) -> Result<u32, RequestError> {
    let asked = || Asked(resources.iter().map(|share| share.amount).collect());
    let mut sum = 0.0;
    for share in resources {
        // Mesos books the amount rounded to three digits, so that is the amount to judge: 1.0004 is 1, and 1.001 is not.
        let thousandths = (share.amount * 1000.0).round();
        if !thousandths.is_finite() {
            return Err(if share.amount.is_finite() {
                RequestError::TooMany(asked())
            } else {
                RequestError::NotWhole(asked())
            });
        }
        if thousandths < 0.0 {
            return Err(RequestError::Negative(asked()));
        }
        if thousandths > MOST * 1000.0 {
            return Err(RequestError::TooMany(asked()));
        }
        if thousandths % 1000.0 != 0.0 {
            return Err(RequestError::NotWhole(asked()));
        }
        sum += thousandths / 1000.0;
    }
    if sum > MOST {
        return Err(RequestError::TooMany(asked()));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole, and between 0 and MOST"
    )]
    Ok(sum as u32)
}

/// How many GPUs a container wants, or has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wanted {
    /// To hold, alone.
    pub regular: usize,
    /// To be a guest on, until their holders want them.
    pub revocable: usize,
}

impl Wanted {
    /// What the entries ask for, each kind by itself.
    ///
    /// # Errors
    /// As [`gpus_wanted`], of all entries together.
    pub fn of(shares: &[GpuShare]) -> Result<Self, RequestError> {
        let count = |shares: &[GpuShare]| {
            gpus_wanted(shares).map(|count| usize::try_from(count).unwrap_or(usize::MAX))
        };
        let revocable: Vec<GpuShare> = shares.iter().filter(|share| share.revocable).copied().collect();
        let (all, revocable) = (count(shares)?, count(&revocable)?);
        Ok(Self {
            regular: all.saturating_sub(revocable),
            revocable,
        })
    }

    /// What this is more than another; of a kind of which it is less, nothing.
    pub fn beyond(self, other: Self) -> Self {
        Self {
            regular: self.regular.saturating_sub(other.regular),
            revocable: self.revocable.saturating_sub(other.revocable),
        }
    }

    /// Whether it is nothing.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn revocable_entries_are_counted_apart_and_judged_together() {
        let shares = |entries: &[(f64, bool)]| -> Vec<GpuShare> {
            let share = |&(amount, revocable): &(f64, bool)| GpuShare { amount, revocable };
            entries.iter().map(share).collect()
        };
        let two_kinds = shares(&[(1.0, false), (2.0, true), (2.0, false), (1.0, true)]);
        let want = |regular, revocable| Wanted { regular, revocable };
        assert_eq!(Wanted::of(&two_kinds), Ok(want(3, 3)));
        assert_eq!(Wanted::of(&[]), Ok(want(0, 0)));
        let error = Wanted::of(&shares(&[(0.5, true), (0.5, false)])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "gpus must be whole numbers: asked for 0.5 + 0.5"
        );
        assert_eq!(want(3, 1).beyond(want(1, 2)), want(2, 0));
        assert!(want(1, 2).beyond(want(2, 2)).is_none());
    }

    fn wanted(amounts: &[f64]) -> Result<u32, String> {
        let shares: Vec<GpuShare> = amounts
            .iter()
            .map(|&amount| GpuShare {
                amount,
                revocable: false,
            })
            .collect();
        gpus_wanted(&shares).map_err(|error| error.to_string())
    }

    #[test]
    fn whole_amounts_are_summed() {
        for (amounts, want) in [
            (&[][..], 0),
            (&[0.0], 0),
            (&[-0.0], 0),
            (&[1.0], 1),
            (&[1.0, 2.0, 0.0], 3),
            (&[1.0004], 1),
            (&[0.9996], 1),
            (&[0.0004], 0),
            (&[1e6], 1_000_000),
        ] {
            assert_eq!(wanted(amounts), Ok(want), "{amounts:?}");
        }
    }

    #[test]
    fn every_other_amount_is_refused_with_its_number() {
        for (amounts, want) in [
            (&[0.5][..], "gpus must be whole numbers: asked for 0.5"),
            (&[0.5, 0.5], "gpus must be whole numbers: asked for 0.5 + 0.5"),
            (&[1.0, 0.001], "gpus must be whole numbers: asked for 1 + 0.001"),
            (&[1.001], "gpus must be whole numbers: asked for 1.001"),
            (&[8.001], "gpus must be whole numbers: asked for 8.001"),
            (&[32.001], "gpus must be whole numbers: asked for 32.001"),
            (&[0.9994], "gpus must be whole numbers: asked for 0.9994"),
            (&[f64::NAN], "gpus must be whole numbers: asked for NaN"),
            (&[f64::INFINITY], "gpus must be whole numbers: asked for inf"),
            (&[f64::NEG_INFINITY], "gpus must be whole numbers: asked for -inf"),
            (&[-1.0], "gpus must not be negative: asked for -1"),
            (&[2.0, -1.0], "gpus must not be negative: asked for 2 + -1"),
            (&[-0.001], "gpus must not be negative: asked for -0.001"),
            (&[1_000_001.0], "gpus must be at most 1000000: asked for 1000001"),
            (&[1e6, 1.0], "gpus must be at most 1000000: asked for 1000000 + 1"),
            (&[1e300], "gpus must be at most 1000000: asked for 1e300"),
            (
                &[f64::MAX],
                "gpus must be at most 1000000: asked for 1.7976931348623157e308",
            ),
        ] {
            assert_eq!(wanted(amounts), Err(want.to_owned()), "{amounts:?}");
        }
    }

    proptest! {
        #[test]
        fn an_answer_is_exactly_the_sum_of_whole_entries(thousandths in proptest::collection::vec(-2000i64..40_000, 0..6)) {
            let amounts: Vec<f64> = thousandths.iter().map(|&t| t as f64 / 1000.0).collect();
            let whole = thousandths.iter().all(|&t| t >= 0 && t % 1000 == 0);
            match wanted(&amounts) {
                Ok(sum) => {
                    prop_assert!(whole);
                    prop_assert_eq!(i64::from(sum) * 1000, thousandths.iter().sum::<i64>());
                }
                Err(_) => prop_assert!(!whole),
            }
        }

        #[test]
        fn no_float_at_all_breaks_it(amounts in proptest::collection::vec(any::<f64>(), 0..6)) {
            if let Ok(sum) = wanted(&amounts) {
                let exact: f64 = amounts.iter().sum();
                prop_assert!((exact - f64::from(sum)).abs() <= 0.0005 * amounts.len() as f64 + 1e-6);
            }
        }
    }
}

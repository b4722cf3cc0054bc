// SPDX-License-Identifier: Apache-2.0
//! Median and spread of few, noisy figures.

use serde::Serialize;

/// What is said of a set of figures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// How many there are.
    pub n: usize,
    /// The middle one.
    pub median: f64,
    /// A quarter of them is below this.
    pub first_quartile: f64,
    /// A quarter of them is above this.
    pub third_quartile: f64,
    /// One in twenty is above this.
    pub ninety_fifth: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
}

impl Summary {
    /// Of figures, of which there must be at least one; without any, all is not a number.
    pub fn of(figures: &[f64]) -> Self {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| quantile(&sorted, share);
        Self {
            n: sorted.len(),
            median: at(0.5),
            first_quartile: at(0.25),
            third_quartile: at(0.75),
            ninety_fifth: at(0.95),
            least: at(0.0),
            most: at(1.0),
        }
    }
}

/// Between two figures, in proportion.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    #[allow(clippy::cast_precision_loss)] // Nobody takes that many figures.
    let place = share * last as f64;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // It lies between 0 and `last`.
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_the_quarters_are_between_the_figures() {
        let summary = Summary::of(&[4.0, 1.0, 3.0, 2.0]);
        assert_eq!(
            (summary.median, summary.first_quartile, summary.third_quartile),
            (2.5, 1.75, 3.25)
        );
        assert!((summary.ninety_fifth - 3.85).abs() < 1e-9);
        assert_eq!((summary.least, summary.most, summary.n), (1.0, 4.0, 4));
        assert!(Summary::of(&[]).median.is_nan());
    }
}

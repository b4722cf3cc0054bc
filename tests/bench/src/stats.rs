// SPDX-License-Identifier: Apache-2.0
//! Median and spread of few, noisy figures.

use serde::{Deserialize, Serialize};

/// What is said of a set of figures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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
    /// One in a hundred is above this.
    pub ninety_ninth: f64,
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
            ninety_ninth: at(0.99),
            least: at(0.0),
            most: at(1.0),
        }
    }
}

/// A median with the interval in which that of all figures that could have been taken lies, in nineteen of twenty cases.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Middle {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Middle {
    /// Of figures; none without any.
    pub fn of(figures: &[f64]) -> Option<Self> {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        #[allow(clippy::cast_precision_loss)] // Nobody takes that many figures.
        let count = sorted.len() as f64;
        // How many figures lie below the median of all is a binomial number; this is its usual approximation.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // It lies between 0 and `last`.
        let outside = ((count - 1.96 * count.sqrt()) / 2.0).max(0.0).floor() as usize;
        Some(Self {
            median: quantile(&sorted, 0.5),
            low: sorted[outside],
            high: sorted[last - outside],
        })
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

    #[test]
    fn few_figures_say_little_of_their_middle_and_many_say_more() {
        let middle = |count: u32| Middle::of(&(1..=count).map(f64::from).collect::<Vec<_>>());
        assert_eq!(middle(0), None);
        let of = |median, low, high| Some(Middle { median, low, high });
        assert_eq!(middle(3), of(2.0, 1.0, 3.0));
        assert_eq!(middle(100), of(50.5, 41.0, 60.0));
    }
}

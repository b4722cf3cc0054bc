// SPDX-License-Identifier: Apache-2.0
//! What a figure of this library is meant to be, and whether it is.

use serde::{Deserialize, Serialize};

use crate::stats::{Middle, Summary};

/// A limit for this library.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// So many times the figure without GPU support.
    TimesNone(f64),
    /// So many times the figure of Mesos's own isolator.
    TimesBuiltIn(f64),
    /// So much more than without GPU support.
    MoreThanNone(f64),
    /// One figure in a hundred may be above this.
    NinetyNinth(f64),
    /// The middle one.
    Median(f64),
}

/// Whether a goal is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Yes,
    No,
    /// It is not, by less than the figures vary.
    Unclear,
}

/// What was wanted, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    pub goal: String,
    pub value: f64,
    pub met: Verdict,
}

/// The figures of one row, in the order in which they were taken: the first of each variant in the same round, and so on.
pub struct Taken<'a> {
    pub none: &'a [f64],
    pub built_in: &'a [f64],
    pub ours: &'a [f64],
}

impl Goal {
    /// Judges the figures of a row; none where those are not there that it takes.
    pub fn judge(self, taken: &Taken<'_>, unit: &str) -> Option<Judged> {
        let ours = Summary::of(taken.ours);
        let (limit, middle, text) = match self {
            Goal::TimesNone(limit) => (
                limit,
                ratio(taken.ours, taken.none),
                format!("≤ {limit:.2} × no support"),
            ),
            Goal::TimesBuiltIn(limit) => (
                limit,
                ratio(taken.ours, taken.built_in),
                format!("≤ {limit:.2} × gpu/nvidia"),
            ),
            Goal::MoreThanNone(limit) => (
                limit,
                each(taken.ours, taken.none, |ours, none| ours - none),
                format!("≤ {limit} {unit} more than no support"),
            ),
            Goal::NinetyNinth(limit) => (
                limit,
                exactly(ours.ninety_ninth),
                format!("99th percentile ≤ {limit} {unit}"),
            ),
            Goal::Median(limit) => (limit, Middle::of(taken.ours), format!("≤ {limit} {unit}")),
        };
        let middle = middle.filter(|_| ours.n > 0)?;
        let met = if middle.median <= limit {
            Verdict::Yes
        } else if middle.low > limit {
            Verdict::No
        } else {
            Verdict::Unclear
        };
        Some(Judged {
            goal: text,
            value: middle.median,
            met,
        })
    }
}

fn exactly(value: f64) -> Option<Middle> {
    Some(Middle {
        median: value,
        low: value,
        high: value,
    })
}

/// The middle of the ratios, each of two figures that were taken together: a machine that becomes slower on the way does so
/// for both.
pub fn ratio(mine: &[f64], other: &[f64]) -> Option<Middle> {
    each(mine, other, |mine, other| mine / other)
}

fn each(mine: &[f64], other: &[f64], of: impl Fn(f64, f64) -> f64) -> Option<Middle> {
    let pairs = mine.iter().zip(other);
    let values: Vec<f64> = pairs.map(|(mine, other)| of(*mine, *other)).collect();
    Middle::of(&values).filter(|middle| middle.median.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(goal: Goal, none: &[f64], ours: &[f64]) -> Option<Verdict> {
        let taken = Taken {
            none,
            built_in: &[],
            ours,
        };
        goal.judge(&taken, "ms").map(|judged| judged.met)
    }

    #[test]
    fn a_goal_is_missed_only_by_more_than_the_figures_vary() {
        let none = [10.0, 30.0, 10.0, 30.0];
        let times =
            |factors: [f64; 4]| -> Vec<f64> { none.iter().zip(factors).map(|(n, f)| n * f).collect() };
        let goal = Goal::TimesNone(1.05);
        assert_eq!(met(goal, &none, &times([1.04; 4])), Some(Verdict::Yes));
        assert_eq!(
            met(goal, &none, &times([1.2, 1.0, 1.2, 1.0])),
            Some(Verdict::Unclear)
        );
        assert_eq!(met(goal, &none, &times([1.2, 1.1, 1.2, 1.3])), Some(Verdict::No));
        assert_eq!(
            met(Goal::MoreThanNone(8.0), &none, &times([1.2; 4])),
            Some(Verdict::Yes)
        );
    }

    #[test]
    fn a_goal_that_cannot_be_seen_is_not_judged() {
        assert_eq!(met(Goal::TimesNone(1.0), &[], &[1.0]), None);
        assert_eq!(met(Goal::TimesBuiltIn(1.0), &[1.0], &[1.0]), None);
        assert_eq!(met(Goal::NinetyNinth(1.0), &[], &[]), None);
        assert_eq!(met(Goal::NinetyNinth(1.0), &[], &[0.5, 1.5]), Some(Verdict::No));
        assert_eq!(met(Goal::Median(1.0), &[], &[0.5, 0.5, 3.0]), Some(Verdict::Yes));
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The allocators' figures as rows and as a table for people.

use serde::Serialize;

use super::Scenario;
use super::run::Sample;
use super::variant::Variant;
use crate::stats::Summary;

/// One of the figures of a cycle.
#[derive(Debug, Clone, Copy)]
pub enum Figure {
    /// To the last offer.
    LastCallback,
    /// To the end of all that followed.
    Drained,
    /// Processor time.
    Cpu,
    /// The least processor time of a cycle.
    LeastCpu,
}

impl Figure {
    /// All, in the order of the tables.
    pub const ALL: [Figure; 4] = [
        Figure::LastCallback,
        Figure::Drained,
        Figure::Cpu,
        Figure::LeastCpu,
    ];

    fn name(self) -> &'static str {
        match self {
            Figure::LastCallback => "to last offer",
            Figure::Drained => "to drained",
            Figure::Cpu => "processor time",
            Figure::LeastCpu => "least of it",
        }
    }

    fn of(self, sample: &Sample) -> f64 {
        match self {
            Figure::LastCallback => sample.to_last_callback,
            Figure::Drained => sample.to_drained,
            Figure::Cpu => sample.cpu,
            Figure::LeastCpu => sample.least_cpu,
        }
    }
}

/// One row of the result.
#[derive(Debug, Serialize)]
pub struct Row {
    agents: usize,
    scenario: &'static str,
    what: &'static str,
    variant: &'static str,
    unit: &'static str,
    #[serde(flatten)]
    summary: Summary,
    /// What the ratio is taken to.
    beside: &'static str,
    /// Of the ratios of the rounds, each taken within its round; absent where the other was not measured.
    ratio: Option<Summary>,
    goal: Option<f64>,
}

impl Row {
    /// Of the rounds of a variant and those of the one it is compared with.
    pub fn of(
        agents: usize,
        scenario: Scenario,
        variant: Variant,
        figure: Figure,
        samples: &[Sample],
        beside: Option<&[Sample]>,
    ) -> Self {
        let figures: Vec<f64> = samples.iter().map(|sample| figure.of(sample)).collect();
        let ratio = beside.map(|beside| {
            let pairs = figures.iter().zip(beside);
            let ratios: Vec<f64> = pairs.map(|(mine, other)| mine / figure.of(other)).collect();
            Summary::of(&ratios)
        });
        Self {
            agents,
            scenario: scenario.name(),
            what: figure.name(),
            variant: variant.name(),
            unit: "ms",
            summary: Summary::of(&figures),
            beside: variant.beside().name(),
            ratio,
            goal: variant.goal(),
        }
    }
}

/// Draws them.
pub fn draw(rows: &[Row]) -> String {
    let mut lines = vec![format!(
        "{:>6} {:<8} {:<15} {:<17} {:>2} {:>10} {:>23}   {:<32} goal",
        "agents", "offers", "what", "variant", "n", "median", "quartiles", "ratio (quartiles) to"
    )];
    for row in rows {
        let summary = &row.summary;
        let ratio = row.ratio.as_ref().map_or_else(String::new, |ratio| {
            let (median, first, third) = (ratio.median, ratio.first_quartile, ratio.third_quartile);
            format!("{median:.3} ({first:.3} - {third:.3}) {}", row.beside)
        });
        let goal = row.goal.map_or_else(String::new, |goal| format!("{goal:.2}"));
        let line = format!(
            "{:>6} {:<8} {:<15} {:<17} {:>2} {:>7.1} {} {:>10.1} - {:>10.1}   {ratio:<40} {goal}",
            row.agents,
            row.scenario,
            row.what,
            row.variant,
            summary.n,
            summary.median,
            row.unit,
            summary.first_quartile,
            summary.third_quartile
        );
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_taken_within_its_round() {
        let sample = |time: f64| Sample {
            to_last_callback: time,
            to_drained: time,
            cpu: time,
            least_cpu: time,
        };
        // The machine became three times slower in the middle.
        let (mine, other) = (
            [sample(11.0), sample(33.0), sample(33.0)],
            [sample(10.0), sample(30.0), sample(30.0)],
        );
        let row = Row::of(
            10,
            Scenario::Hold,
            Variant::Strict,
            Figure::Cpu,
            &mine,
            Some(&other),
        );
        let ratio = row.ratio.unwrap();
        assert!((ratio.least - 1.1).abs() < 1e-9 && (ratio.most - 1.1).abs() < 1e-9);
        assert!(draw(&[row_without_base()]).ends_with("33.0"));
    }

    fn row_without_base() -> Row {
        let sample = Sample {
            to_last_callback: 1.0,
            to_drained: 33.0,
            cpu: 1.0,
            least_cpu: 1.0,
        };
        Row::of(
            10,
            Scenario::Hold,
            Variant::Inner,
            Figure::Drained,
            &[sample],
            None,
        )
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The allocators' figures as rows and as a table for people.

use serde::Serialize;

use super::Scenario;
use super::run::{Pair, Sample};
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
    /// What it is compared with.
    beside: &'static str,
    /// The figures of that.
    beside_figures: Summary,
    /// Of the ratios of the processes, each taken within its process.
    ratio: Summary,
    goal: Option<f64>,
}

impl Row {
    /// Of what the processes measured.
    pub fn of(agents: usize, scenario: Scenario, variant: Variant, figure: Figure, pairs: &[Pair]) -> Self {
        let all = |of: &dyn Fn(&Pair) -> f64| Summary::of(&pairs.iter().map(of).collect::<Vec<f64>>());
        let own = |pair: &Pair| figure.of(&pair.own);
        let beside = |pair: &Pair| figure.of(&pair.beside);
        Self {
            agents,
            scenario: scenario.name(),
            what: figure.name(),
            variant: variant.name(),
            unit: "ms",
            summary: all(&own),
            beside: variant.beside(),
            beside_figures: all(&beside),
            ratio: all(&|pair| own(pair) / beside(pair)),
            goal: variant.goal(),
        }
    }
}

/// Draws them.
pub fn draw(rows: &[Row]) -> String {
    let mut lines = vec![format!(
        "{:>6} {:<8} {:<15} {:<7} {:>3} {:>11} {:>11}  {:<17} {:<21} goal",
        "agents", "offers", "what", "policy", "n", "median", "bare", "", "ratio (quartiles)"
    )];
    for row in rows {
        let (unit, ratio) = (row.unit, &row.ratio);
        let goal = row.goal.map_or_else(String::new, |goal| format!("{goal:.2}"));
        let line = format!(
            "{:>6} {:<8} {:<15} {:<7} {:>3} {:>8.1} {unit} {:>8.1} {unit}  {:<17} {:.3} ({:.3} - {:.3}) {goal}",
            row.agents,
            row.scenario,
            row.what,
            row.variant,
            row.summary.n,
            row.summary.median,
            row.beside_figures.median,
            row.beside,
            ratio.median,
            ratio.first_quartile,
            ratio.third_quartile
        );
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_taken_within_its_process() {
        let sample = |time: f64| Sample {
            to_last_callback: time,
            to_drained: time,
            cpu: time,
            least_cpu: time,
        };
        // The machine became three times slower after the first.
        let pairs = [(11.0, 10.0), (33.0, 30.0), (33.0, 30.0)].map(|(own, beside)| Pair {
            own: sample(own),
            beside: sample(beside),
        });
        let row = Row::of(10, Scenario::Hold, Variant::Strict, Figure::Cpu, &pairs);
        assert!((row.ratio.least - 1.1).abs() < 1e-9 && (row.ratio.most - 1.1).abs() < 1e-9);
        let drawn = draw(&[row]);
        assert!(drawn.contains("33.0 ms     30.0 ms  inner"), "{drawn}");
        assert!(drawn.ends_with("1.100 (1.100 - 1.100) 1.02"), "{drawn}");
    }
}

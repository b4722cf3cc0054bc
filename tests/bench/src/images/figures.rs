// SPDX-License-Identifier: Apache-2.0
//! What is measured, by name, and the figures as they come in.

use crate::stats::Summary;
use crate::variant::Variant;
use serde::Serialize;

/// A kind of figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figure {
    what: &'static str,
    unit: &'static str,
}

const fn figure(what: &'static str, unit: &'static str) -> Figure {
    Figure { what, unit }
}

/// From the agent's start until it answers, with nothing there that an earlier one made.
pub const START_COLD: Figure = figure("agent start, empty volume", "ms");
/// The same when the volume of an earlier one is there.
pub const START_WARM: Figure = figure("agent start, volume there", "ms");
/// What the start put into the volume's place: blocks of files that are not the driver's own.
pub const START_COPIED: Figure = figure("start: copied to the volume", "MB");
/// What the agent and its helpers made the kernel write until then.
pub const START_WRITTEN: Figure = figure("start: written by the agent", "MB");
/// The first launch after a start until the program in the image runs.
pub const FIRST_RUNS: Figure = figure("first launch: program runs", "ms");
/// As [`START_COPIED`], for the first launch.
pub const FIRST_COPIED: Figure = figure("first launch: copied", "MB");
/// As [`START_WRITTEN`], for the first launch.
pub const FIRST_WRITTEN: Figure = figure("first launch: written", "MB");
/// A later launch until `LAUNCH_CONTAINER` is answered.
pub const CALL: Figure = figure("launch: call is answered", "ms");
/// A later launch until the program in the image runs: when its mounts are made.
pub const RUNS: Figure = figure("launch: program runs", "ms");
/// A later launch until `WAIT_CONTAINER` is answered: when everything of it is taken down.
pub const GONE: Figure = figure("launch: container is gone", "ms");
/// The mounts that a program in the image sees.
pub const MOUNTS_INSIDE: Figure = figure("mounts in a container", "");
/// The mounts that the agent has more after its containers than before.
pub const MOUNTS_KEPT: Figure = figure("mounts that stay on the host", "");
/// The share of this library's thread in a first launch: search, volume, nodes, the image's loader.
pub const FIT_FIRST: Figure = figure("in process: first fit", "ms");
/// The same in a later one.
pub const FIT_LATER: Figure = figure("in process: later fit", "ms");
/// The time on a processor that a later one takes, whoever else wants the processors.
pub const FIT_PROCESSOR: Figure = figure("in process: later fit, CPU", "ms");
/// A search alone, with the machine's loader cache.
pub const SEARCH: Figure = figure("in process: search by cache", "ms");

const ALL: [Figure; 16] = [
    START_COLD,
    START_WARM,
    START_COPIED,
    START_WRITTEN,
    FIRST_RUNS,
    FIRST_COPIED,
    FIRST_WRITTEN,
    CALL,
    RUNS,
    GONE,
    MOUNTS_INSIDE,
    MOUNTS_KEPT,
    FIT_FIRST,
    FIT_LATER,
    FIT_PROCESSOR,
    SEARCH,
];

/// A figure of one variant.
#[derive(Debug, Serialize)]
pub struct Row {
    pub what: &'static str,
    pub variant: &'static str,
    pub unit: &'static str,
    #[serde(flatten)]
    pub summary: Summary,
    /// What its median has more than that of the variant without GPU support, where that has any.
    pub more_than_none: Option<f64>,
}

/// All that was measured.
#[derive(Debug, Default)]
pub struct Samples(Vec<(Figure, Variant, f64)>);

impl Samples {
    /// Takes one more.
    pub fn add(&mut self, figure: Figure, variant: Variant, value: f64) {
        self.0.push((figure, variant, value));
    }

    /// The rows of the table, those of a kind together.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for figure in ALL {
            let none = self.summary(figure, Variant::None);
            for variant in Variant::ALL {
                let Some(summary) = self.summary(figure, variant) else {
                    continue;
                };
                rows.push(Row {
                    what: figure.what,
                    variant: variant.name(),
                    unit: figure.unit,
                    summary,
                    more_than_none: none.map(|none| summary.median - none.median),
                });
            }
        }
        rows
    }

    fn summary(&self, figure: Figure, variant: Variant) -> Option<Summary> {
        let of_both = self.0.iter().filter(|one| (one.0, one.1) == (figure, variant));
        let values: Vec<f64> = of_both.map(|one| one.2).collect();
        (!values.is_empty()).then(|| Summary::of(&values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_what_a_variant_costs_more_than_no_support() {
        let mut samples = Samples::default();
        samples.add(CALL, Variant::Ours, 7.0);
        samples.add(FIT_LATER, Variant::Ours, 1.0);
        samples.add(CALL, Variant::None, 4.0);
        let rows = samples.rows();
        let told: Vec<_> = rows.iter().map(|row| (row.variant, row.more_than_none)).collect();
        assert_eq!(
            told,
            [
                ("no GPU support", Some(0.0)),
                ("mesos-gpu", Some(3.0)),
                ("mesos-gpu", None)
            ]
        );
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Writes families of numbers as Prometheus reads them: what it is, of which kind, then the lines, of each family together.

use super::Named;
use super::calls::{BOUNDS, LatencySum};
use super::families::Family;
use std::fmt::{Display, Write};

/// The labels of a line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Labels(String);

impl Labels {
    pub fn none() -> Self {
        Self::default()
    }

    pub fn of(name: &str, value: &str) -> Self {
        let mut labels = Self::default();
        labels.maybe(name, Some(value));
        labels
    }

    /// Adds a label where there is a value: an empty one is the same as none.
    pub fn maybe(&mut self, name: &str, value: Option<&str>) {
        let Some(value) = value.filter(|value| !value.is_empty()) else {
            return;
        };
        let comma = if self.0.is_empty() { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{comma}{name}=\"{}\"", escaped(value));
    }

    pub fn add_named(&mut self, named: &Named) {
        self.maybe("gpu", Some(&named.gpu));
        self.maybe("minor", named.minor.map(|minor| minor.to_string()).as_deref());
    }

    /// As they stand in a line.
    fn braced(&self) -> String {
        if self.0.is_empty() {
            String::new()
        } else {
            format!("{{{}}}", self.0)
        }
    }
}

/// The text so far.
#[derive(Debug, Default)]
pub(super) struct Text(String);

impl Text {
    /// Adds a family; nothing of one without lines.
    pub fn add<V: Display>(&mut self, family: &Family, lines: impl IntoIterator<Item = (Labels, V)>) {
        let mut head = Some(());
        for (labels, value) in lines {
            if head.take().is_some() {
                self.head(family);
            }
            let _ = writeln!(self.0, "{}{} {value}", family.name, labels.braced());
        }
    }

    /// Adds a family of histograms.
    pub fn add_histogram<'a>(
        &mut self,
        family: &Family,
        histograms: impl IntoIterator<Item = (Labels, &'a LatencySum)>,
    ) {
        let mut head = Some(());
        for (labels, latency) in histograms {
            if head.take().is_some() {
                self.head(family);
            }
            let bounds = BOUNDS.iter().map(|(_, bound)| *bound).chain(["+Inf"]);
            let mut below = 0;
            for (bound, between) in bounds.zip(latency.between) {
                below += between;
                let mut labels = labels.clone();
                labels.maybe("le", Some(bound));
                let _ = writeln!(self.0, "{}_bucket{} {below}", family.name, labels.braced());
            }
            let (name, labels) = (family.name, labels.braced());
            let _ = writeln!(self.0, "{name}_sum{labels} {}", latency.sum.as_secs_f64());
            let _ = writeln!(self.0, "{name}_count{labels} {below}");
        }
    }

    fn head(&mut self, family: &Family) {
        let Family { name, kind, help, .. } = family;
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    pub fn finish(self) -> String {
        self.0
    }
}

/// A value as a label takes it.
pub(in crate::domain) fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

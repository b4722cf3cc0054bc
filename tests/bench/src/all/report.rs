// SPDX-License-Identifier: Apache-2.0
//! The rows of `bench all`: what was measured of each variant, how these stand beside each other, and whether goals are met.
//! It is what the JSON file holds, so that table and chart can be made elsewhere than the figures.

use serde::{Deserialize, Serialize};
use testbed::Error;

use super::goal::{Goal, Judged, Taken, ratio};
use super::machine::Place;
use crate::stats::{Middle, Summary};
use crate::variant::Variant;

/// All of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The arguments that made it.
    pub command: String,
    /// Where.
    pub place: Place,
    pub rows: Vec<Row>,
    /// What could not be measured, and why.
    pub failed: Vec<String>,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The name by which `--rows` asks for it and its neighbours.
    pub part: String,
    pub what: String,
    pub unit: String,
    /// Those that were measured, in the order of the tables.
    pub figures: Vec<Figure>,
    pub judged: Option<Judged>,
}

/// What was measured of one variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    pub variant: String,
    #[serde(flatten)]
    pub summary: Summary,
    /// Beside no GPU support.
    pub to_none: Option<Middle>,
    /// Beside Mesos's own isolator.
    pub to_built_in: Option<Middle>,
}

impl Row {
    /// The figure of a variant.
    pub fn of(&self, variant: Variant) -> Option<&Figure> {
        self.figures
            .iter()
            .find(|figure| figure.variant == variant.name())
    }
}

/// What a row is about.
#[derive(Debug, Clone, PartialEq)]
pub struct What {
    pub name: String,
    pub unit: &'static str,
    pub goal: Option<Goal>,
}

/// Something without a goal.
pub fn what(name: impl Into<String>, unit: &'static str) -> What {
    What {
        name: name.into(),
        unit,
        goal: None,
    }
}

impl What {
    /// The same with a goal.
    pub fn goal(mut self, goal: Goal) -> Self {
        self.goal = Some(goal);
        self
    }
}

/// The figures of a part, as they come.
#[derive(Debug, Default)]
pub struct Samples(Vec<(What, [Vec<f64>; 3])>);

impl Samples {
    /// Takes one more.
    pub fn add(&mut self, what: &What, variant: Variant, value: f64) {
        let at = Variant::ALL
            .iter()
            .position(|one| *one == variant)
            .unwrap_or_default();
        let known = self.0.iter_mut().find(|(known, _)| known.name == what.name);
        match known {
            Some((_, figures)) => figures[at].push(value),
            None => {
                let mut figures = <[Vec<f64>; 3]>::default();
                figures[at].push(value);
                self.0.push((what.clone(), figures));
            }
        }
    }

    /// The rows, in the order in which they began.
    pub fn rows(&self, part: &str) -> Vec<Row> {
        self.0
            .iter()
            .map(|(what, figures)| row(part, what, figures))
            .collect()
    }
}

fn row(part: &str, what: &What, figures: &[Vec<f64>; 3]) -> Row {
    let [none, built_in, ours] = figures;
    let figure = |(variant, figures): (&Variant, &Vec<f64>)| Figure {
        variant: variant.name().to_owned(),
        summary: Summary::of(figures),
        to_none: ratio(figures, none).filter(|_| *variant != Variant::None),
        to_built_in: ratio(figures, built_in).filter(|_| *variant == Variant::Ours),
    };
    let measured = Variant::ALL
        .iter()
        .zip(figures)
        .filter(|(_, figures)| !figures.is_empty());
    let taken = Taken { none, built_in, ours };
    Row {
        part: part.to_owned(),
        what: what.name.clone(),
        unit: what.unit.to_owned(),
        figures: measured.map(figure).collect(),
        judged: what.goal.and_then(|goal| goal.judge(&taken, what.unit)),
    }
}

impl Report {
    /// Reads one that was written before.
    pub fn read(file: &str) -> Result<Self, Error> {
        let failed = |why: &dyn std::fmt::Display| Error::new(format!("read the figures in {file}"), why);
        let text = std::fs::read_to_string(file).map_err(|e| failed(&e))?;
        serde_json::from_str(&text).map_err(|e| failed(&e))
    }

    /// What [`Report::read`] would give after [`Report::write`].
    pub fn as_read(&self) -> Result<Self, Error> {
        serde_json::from_str(&self.text()?).map_err(|e| Error::new("read the figures as JSON", e))
    }

    fn text(&self) -> Result<String, Error> {
        serde_json::to_string_pretty(self).map_err(|e| Error::new("write the figures as JSON", e))
    }

    /// Writes it as JSON.
    pub fn write(&self, file: &str) -> Result<(), Error> {
        std::fs::write(file, self.text()? + "\n").map_err(|e| Error::new(format!("write {file}"), e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::all::goal::Verdict;

    #[test]
    fn a_row_has_what_was_measured_beside_what_it_was_measured_with() {
        let mut samples = Samples::default();
        let start = what("start", "ms").goal(Goal::TimesNone(1.05));
        for (variant, value) in [
            (Variant::None, 10.0),
            (Variant::BuiltIn, 40.0),
            (Variant::Ours, 10.2),
        ] {
            samples.add(&start, variant, value);
        }
        samples.add(&what("share", "ms"), Variant::Ours, 0.3);
        let rows = samples.rows("start");
        let middle = |row: &Row, of: fn(&Figure) -> Option<Middle>| {
            row.of(Variant::Ours).and_then(of).map(|middle| middle.median)
        };
        assert_eq!(middle(&rows[0], |figure| figure.to_none), Some(1.02));
        assert_eq!(middle(&rows[0], |figure| figure.to_built_in), Some(0.255));
        assert_eq!(rows[0].of(Variant::BuiltIn).unwrap().to_built_in, None);
        assert_eq!(rows[0].judged.as_ref().unwrap().met, Verdict::Yes);
        assert_eq!((rows[1].figures.len(), &rows[1].judged), (1, &None));
        assert_eq!(middle(&rows[1], |figure| figure.to_none), None);
    }
}

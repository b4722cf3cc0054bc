// SPDX-License-Identifier: Apache-2.0
//! The chart: how many times the figure without GPU support each kind of it takes, for every row that has all three. Times
//! of very different sizes have this one scale in common.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use testbed::Error;

use super::report::{Figure, Report, Row};
use crate::variant::Variant;

const WIDTH: i32 = 900;
const ROW: i32 = 30;
const TOP: i32 = 70;
const BOTTOM: i32 = 40;
/// Where the scale begins and ends.
const SCALE: (i32, i32) = (330, 870);
const FONT: (&str, i32) = ("sans-serif", 13);
const COLOURS: [(Variant, RGBColor); 2] = [
    (Variant::BuiltIn, RGBColor(0x9a, 0x9a, 0x9a)),
    (Variant::Ours, RGBColor(0x2c, 0x7f, 0xb8)),
];

/// Writes it.
pub fn write(report: &Report, file: &str) -> Result<(), Error> {
    let text = draw(report).map_err(|why| Error::new("draw the chart", why))?;
    std::fs::write(file, text).map_err(|e| Error::new(format!("write {file}"), e))
}

/// As an SVG image.
fn draw(report: &Report) -> Result<String, String> {
    let has_all = |row: &&Row| Variant::ALL.iter().all(|variant| row.of(*variant).is_some());
    let rows: Vec<&Row> = report.rows.iter().filter(has_all).collect();
    let count = i32::try_from(rows.len()).unwrap_or(i32::MAX / ROW / 2);
    let height = TOP + ROW * count + BOTTOM;
    let mut text = String::new();
    {
        let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        let chart = Chart {
            area: &area,
            scale: Scale::of(&rows),
            bottom: height - BOTTOM,
        };
        chart.frame()?;
        for (row, y) in rows.iter().zip((TOP + ROW / 2..).step_by(30)) {
            chart.row(row, y)?;
        }
        area.present().map_err(|e| e.to_string())?;
    }
    Ok(text)
}

type Area<'a, 'b> = &'a DrawingArea<SVGBackend<'b>, plotters::coord::Shift>;

struct Chart<'a, 'b> {
    area: Area<'a, 'b>,
    scale: Scale,
    bottom: i32,
}

impl Chart<'_, '_> {
    fn frame(&self) -> Result<(), String> {
        self.area.fill(&WHITE).map_err(|e| e.to_string())?;
        let title = "Times the figure without GPU support (median, and its 95 % interval)";
        self.text(title, (20, 24), HPos::Left, &BLACK, 16)?;
        for ((variant, colour), x) in COLOURS.into_iter().zip([20, 130]) {
            self.dot((x + 5, 48), colour)?;
            self.text(variant.name(), (x + 16, 48), HPos::Left, &BLACK, FONT.1)?;
        }
        for mark in self.scale.marks() {
            let x = self.scale.place(mark);
            let colour = if (mark - 1.0).abs() < 1e-9 {
                BLACK
            } else {
                RGBColor(0xdd, 0xdd, 0xdd)
            };
            self.line((x, TOP), (x, self.bottom), colour, 1)?;
            self.text(
                &format!("{mark}"),
                (x, self.bottom + 14),
                HPos::Center,
                &BLACK,
                FONT.1,
            )?;
        }
        Ok(())
    }

    fn row(&self, row: &Row, y: i32) -> Result<(), String> {
        self.text(&row.what, (SCALE.0 - 12, y), HPos::Right, &BLACK, FONT.1)?;
        for ((variant, colour), shift) in COLOURS.into_iter().zip([-5, 5]) {
            let Some(middle) = row.of(variant).and_then(|figure| figure.to_none) else {
                continue;
            };
            let y = y + shift;
            let place = |value| self.scale.place(value);
            self.line((place(middle.low), y), (place(middle.high), y), colour, 2)?;
            self.dot((place(middle.median), y), colour)?;
        }
        Ok(())
    }

    fn dot(&self, at: (i32, i32), colour: RGBColor) -> Result<(), String> {
        let dot = Circle::new(at, 4, colour.filled());
        self.area.draw(&dot).map_err(|e| e.to_string())
    }

    fn line(&self, from: (i32, i32), to: (i32, i32), colour: RGBColor, width: u32) -> Result<(), String> {
        let line = PathElement::new(vec![from, to], colour.stroke_width(width));
        self.area.draw(&line).map_err(|e| e.to_string())
    }

    fn text(&self, text: &str, at: (i32, i32), to: HPos, colour: &RGBColor, size: i32) -> Result<(), String> {
        let style = TextStyle::from((FONT.0, size).into_font())
            .color(colour)
            .pos(Pos::new(to, VPos::Center));
        self.area
            .draw(&Text::new(text.to_owned(), at, style))
            .map_err(|e| e.to_string())
    }
}

/// A logarithmic scale that has room for every ratio and for 1.
struct Scale {
    least: f64,
    most: f64,
}

impl Scale {
    fn of(rows: &[&Row]) -> Self {
        let figures = rows.iter().flat_map(|row| &row.figures);
        let middles = figures.filter_map(|figure: &Figure| figure.to_none);
        let (mut least, mut most) = (0.8_f64, 1.25_f64);
        for middle in middles.filter(|middle| middle.low > 0.0) {
            least = least.min(middle.low);
            most = most.max(middle.high);
        }
        Self { least, most }
    }

    fn place(&self, value: f64) -> i32 {
        let share = (value.max(self.least) / self.least).ln() / (self.most / self.least).ln();
        let width = f64::from(SCALE.1 - SCALE.0);
        #[allow(clippy::cast_possible_truncation)] // It lies between the ends.
        let place = (share.min(1.0) * width).round() as i32;
        SCALE.0 + place
    }

    fn marks(&self) -> Vec<f64> {
        let all = [
            0.1, 0.2, 0.5, 0.8, 0.9, 1.0, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0,
        ];
        let mut marks: Vec<f64> = Vec::new();
        for mark in all
            .into_iter()
            .filter(|mark| (self.least..=self.most).contains(mark))
        {
            // The mark of no difference stays; others must not run into their neighbours.
            let near = marks
                .last()
                .is_some_and(|last| self.place(mark) - self.place(*last) < 24);
            if near && (mark - 1.0).abs() > 1e-9 {
                continue;
            }
            if near {
                marks.pop();
            }
            marks.push(mark);
        }
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::all::machine::Place;
    use crate::all::report::{Samples, what};

    #[test]
    fn a_row_with_all_three_is_drawn_and_one_without_is_not() {
        let mut samples = Samples::default();
        for (name, variants) in [("start", &Variant::ALL[..]), ("own share", &[Variant::Ours][..])] {
            for (variant, value) in variants.iter().zip([1.0, 8.0, 1.02]) {
                samples.add(&what(name, "ms"), *variant, value);
            }
        }
        let report = Report {
            command: "all".to_owned(),
            place: Place::here(),
            rows: samples.rows("start"),
            failed: Vec::new(),
        };
        let image = draw(&report).unwrap();
        assert!(
            image.starts_with("<svg") && image.trim_end().ends_with("</svg>"),
            "{image}"
        );
        assert!(image.contains("start") && !image.contains("own share"), "{image}");
        // A dot in the legend and one in the row.
        let blue = image
            .lines()
            .filter(|line| line.contains("<circle") && line.contains("#2C7FB8"));
        assert_eq!(blue.count(), 2, "{image}");
    }

    #[test]
    fn the_scale_holds_its_ends_and_what_is_beyond_them_stays_at_the_end() {
        let scale = Scale {
            least: 0.8,
            most: 8.0,
        };
        assert_eq!((scale.place(0.8), scale.place(8.0)), SCALE);
        assert_eq!((scale.place(0.1), scale.place(80.0)), SCALE);
        assert!(scale.marks().contains(&1.0));
    }
}

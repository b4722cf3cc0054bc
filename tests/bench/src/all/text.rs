// SPDX-License-Identifier: Apache-2.0
//! The rows as a table, for terminals and for documents.

use super::goal::Verdict;
use super::machine::Place;
use super::report::{Figure, Report, Row};
use crate::stats::Middle;
use crate::variant::Variant;
use testbed::Error;

const HEAD: [&str; 8] = [
    "what",
    "no GPU support",
    "gpu/nvidia",
    "mesos-gpu",
    "to none",
    "to gpu/nvidia",
    "goal",
    "met",
];
/// Between these lines of a document its table stands.
pub const MARKS: [&str; 2] = ["<!-- bench: begin -->", "<!-- bench: end -->"];

/// For a terminal.
pub fn plain(report: &Report) -> String {
    let cells: Vec<[String; 8]> = [HEAD.map(str::to_owned)]
        .into_iter()
        .chain(report.rows.iter().map(cells))
        .collect();
    let width = |column: usize| {
        cells
            .iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: [usize; 8] = std::array::from_fn(width);
    let line = |row: &[String; 8]| {
        let padded = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines: Vec<String> = cells.iter().map(line).collect();
    lines.push(format!("({})", place(report)));
    lines.extend(report.failed.iter().map(|why| format!("FAILED: {why}")));
    lines.join("\n")
}

/// For a document in Markdown.
pub fn markdown(report: &Report) -> String {
    let line = |cells: &[String; 8]| format!("| {} |", cells.join(" | "));
    let mut lines = vec![
        format!("`bench {}` on {}.", report.command, place(report)),
        String::new(),
        line(&HEAD.map(str::to_owned)),
        format!("|{}", "---|".repeat(HEAD.len())),
    ];
    lines.extend(report.rows.iter().map(|row| line(&cells(row))));
    if !report.failed.is_empty() {
        lines.push(String::new());
        lines.extend(
            report
                .failed
                .iter()
                .map(|why| format!("Not measured: {}", why.replace('\n', " "))),
        );
    }
    lines.join("\n")
}

/// Puts the table between the marks of a document.
pub fn into_document(report: &Report, file: &str) -> Result<(), Error> {
    let failed = |why: &dyn std::fmt::Display| Error::new(format!("put the table into {file}"), why);
    let text = std::fs::read_to_string(file).map_err(|e| failed(&e))?;
    let text = between(&text, &markdown(report)).ok_or_else(|| {
        let [begin, end] = MARKS;
        failed(&format!("it has no line {begin} with a line {end} below"))
    })?;
    std::fs::write(file, text).map_err(|e| failed(&e))
}

fn between(text: &str, table: &str) -> Option<String> {
    let [begin, end] = MARKS;
    let (head, rest) = text.split_once(begin)?;
    let (_, tail) = rest.split_once(end)?;
    Some(format!("{head}{begin}\n{table}\n{end}{tail}"))
}

fn place(report: &Report) -> String {
    let Place {
        processors,
        processor,
        kernel,
        mesos,
        build,
        day,
        load,
    } = &report.place;
    format!(
        "{processors} × {processor}, Linux {kernel}, Mesos {mesos}, {build} build, {day}, load {load} at the start"
    )
}

fn cells(row: &Row) -> [String; 8] {
    let figure = |variant| {
        row.of(variant)
            .map_or_else(|| "–".to_owned(), |figure| spread(figure, &row.unit))
    };
    let ours = row.of(Variant::Ours);
    let ratio = |of: fn(&Figure) -> Option<Middle>| ours.and_then(of).map_or_else(|| "–".to_owned(), beside);
    let (goal, met) = match &row.judged {
        Some(judged) => {
            let met = match judged.met {
                Verdict::Yes => "yes",
                Verdict::No => "no",
                Verdict::Unclear => "unclear",
            };
            (judged.goal.clone(), format!("{met} ({})", number(judged.value)))
        }
        None => ("–".to_owned(), "–".to_owned()),
    };
    [
        row.what.clone(),
        figure(Variant::None),
        figure(Variant::BuiltIn),
        figure(Variant::Ours),
        ratio(|figure| figure.to_none),
        ratio(|figure| figure.to_built_in),
        goal,
        met,
    ]
}

fn spread(figure: &Figure, unit: &str) -> String {
    let summary = &figure.summary;
    let median = number(summary.median);
    let quarters = format!(
        "{}–{}",
        number(summary.first_quartile),
        number(summary.third_quartile)
    );
    match summary.n {
        1 => format!("{median} {unit}"),
        _ => format!("{median} ({quarters}) {unit}"),
    }
}

fn beside(middle: Middle) -> String {
    format!("{:.2} ({:.2}–{:.2})", middle.median, middle.low, middle.high)
}

/// With three digits that count, where there are as many.
fn number(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        0.0 => 0,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::all::goal::Goal;
    use crate::all::report::{Samples, what};

    fn report() -> Report {
        let mut samples = Samples::default();
        let start = what("start", "ms").goal(Goal::TimesNone(1.05));
        for (variant, figures) in [(Variant::None, [100.0, 200.0]), (Variant::Ours, [101.0, 203.0])] {
            for figure in figures {
                samples.add(&start, variant, figure);
            }
        }
        Report {
            command: "all --rounds=2".to_owned(),
            place: Place::here(),
            rows: samples.rows("start"),
            failed: vec!["idle: no\nagent".to_owned()],
        }
    }

    #[test]
    fn a_line_has_medians_with_quarters_ratios_goal_and_verdict() {
        let text = markdown(&report());
        let line = "| start | 150 (125–175) ms | – | 152 (126–178) ms | 1.01 (1.01–1.01) | – | ≤ 1.05 × no support | \
                    yes (1.01) |";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("Not measured: idle: no agent"));
        let plain = plain(&report());
        assert!(plain.starts_with("what   no GPU support "), "{plain}");
        assert!(plain.ends_with("FAILED: idle: no\nagent"), "{plain}");
    }

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let [begin, end] = MARKS;
        let text = between(&format!("head\n{begin}\nold\n{end}\ntail\n"), "new").unwrap();
        assert_eq!(text, format!("head\n{begin}\nnew\n{end}\ntail\n"));
        assert_eq!(between(&format!("{end}\n{begin}\n"), "new"), None);
    }

    #[test]
    fn numbers_have_three_digits_that_count() {
        let numbers = [1234.5, 123.4, 12.34, 1.234, 0.1234, 0.0].map(number);
        assert_eq!(numbers, ["1234", "123", "12.3", "1.23", "0.123", "0"]);
    }
}

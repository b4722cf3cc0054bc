// SPDX-License-Identifier: Apache-2.0
//! What a chapter found: what must hold and does or does not, figures, and what is worth knowing. Each is printed and written
//! down at once, since the process may not live to its end.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::error::{Error, Tried};

/// The findings of one chapter.
pub(super) struct Findings {
    chapter: String,
    file: File,
    wrong: usize,
}

impl Findings {
    /// Appends to a file that all chapters share.
    pub(super) fn of(chapter: &str, file: &Path) -> Result<Self, Error> {
        let tried = || format!("open {}", file.display());
        std::fs::create_dir_all(file.parent().unwrap_or(Path::new("."))).tried(tried)?;
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(file)
            .tried(tried)?;
        Ok(Self {
            chapter: chapter.to_owned(),
            file,
            wrong: 0,
        })
    }

    /// What must hold. `seen` is told where it does not.
    pub(super) fn check(&mut self, what: &str, holds: bool, seen: impl Display) {
        self.wrong += usize::from(!holds);
        if holds {
            println!("  ok      {what}");
            self.note_down(json!({"check": what, "holds": true}));
        } else {
            println!("  WRONG   {what}: {seen}");
            self.note_down(json!({"check": what, "holds": false, "seen": seen.to_string()}));
        }
    }

    /// A figure.
    pub(super) fn figure(&mut self, what: &str, value: f64, unit: &str) {
        println!("  figure  {what}: {value:.1} {unit}");
        self.note_down(json!({"figure": what, "value": value, "unit": unit}));
    }

    /// A figure that was taken several times.
    pub(super) fn spread(&mut self, what: &str, mut values: Vec<f64>, unit: &str) {
        values.sort_by(f64::total_cmp);
        let at = |place: usize| values.get(place).copied().unwrap_or_default();
        let (median, least, most) = (at(values.len() / 2), at(0), at(values.len().saturating_sub(1)));
        let times = values.len();
        println!("  figure  {what}: {median:.1} {unit} ({least:.1} to {most:.1}, {times} times)");
        let figure = json!({"figure": what, "value": median, "least": least, "most": most, "times": times, "unit": unit});
        self.note_down(figure);
    }

    /// What is worth knowing.
    pub(super) fn note(&mut self, what: &str, text: impl Display) {
        let text = text.to_string();
        let shown = text.trim_end().replace('\n', "\n            ");
        println!("  note    {what}: {shown}");
        self.note_down(json!({"note": what, "text": text}));
    }

    /// What does not fit the machine, in words.
    pub(super) fn not_shown(&mut self, what: &str, why: impl Display) {
        println!("  -       not shown: {what}: {why}");
        self.note_down(json!({"not_shown": what, "why": why.to_string()}));
    }

    /// Whether all that must hold did.
    pub(super) fn all_right(&self) -> bool {
        self.wrong == 0
    }

    fn note_down(&mut self, mut finding: Value) {
        finding["chapter"] = json!(self.chapter);
        // One write, so that lines of several processes stay whole; the same is on the standard output.
        let _ = self.file.write_all(format!("{finding}\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finding_is_a_line_and_only_what_is_wrong_counts() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out/findings.jsonl");
        let mut findings = Findings::of("c", &file).unwrap();
        findings.check("good", true, "");
        findings.figure("time", 1.5, "ms");
        findings.spread("times", vec![3.0, 1.0, 2.0], "ms");
        findings.note("said", "two\nlines");
        findings.not_shown("that", "no driver");
        assert!(findings.all_right());
        findings.check("bad", false, "it was not");
        assert!(!findings.all_right());
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 6);
        assert!(lines.iter().all(|line| line["chapter"] == "c"));
        assert_eq!(lines[2]["value"], 2.0);
        assert_eq!(lines[5]["seen"], "it was not");
    }
}

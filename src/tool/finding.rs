// SPDX-License-Identifier: Apache-2.0
//! What is told of a mistake: how bad it is, by which rule, what is wrong, and what to do. One shape for all
//! subcommands, so that a script that reads one reads the other.

use crate::tool::table::{Tone, painted};
use serde_json::{Value, json};
use std::fmt::Write;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know.
    Note,
    /// It works, and not as one would think.
    Warning,
    /// The agent or the master refuses it, ends, or does harm.
    Error,
}

impl Severity {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    fn tone(self) -> Tone {
        match self {
            Self::Note => Tone::Faint,
            Self::Warning => Tone::Odd,
            Self::Error => Tone::Bad,
        }
    }
}

/// A rule that can be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Its name, which stays.
    pub name: &'static str,
    /// How bad it is to break it.
    pub severity: Severity,
    /// When it is broken.
    pub meaning: &'static str,
}

/// A rule that is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule's name.
    pub rule: &'static str,
    /// How bad it is here.
    pub severity: Severity,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub cure: String,
}

impl Finding {
    /// Says that a rule is broken.
    pub fn of(rule: Rule, what: impl Into<String>, cure: impl Into<String>) -> Self {
        Self {
            rule: rule.name,
            severity: rule.severity,
            what: what.into(),
            cure: cure.into(),
        }
    }

    /// The same, less or more bad than usual.
    pub fn as_bad_as(self, severity: Severity) -> Self {
        Self { severity, ..self }
    }
}

/// How many findings there are of a severity.
pub fn count(findings: &[Finding], severity: Severity) -> usize {
    findings.iter().filter(|one| one.severity == severity).count()
}

/// The exit status: 0 for nothing or notes, 1 for warnings, 2 for errors.
pub fn exit_status(findings: &[Finding]) -> u8 {
    match findings.iter().map(|one| one.severity).max() {
        Some(Severity::Error) => 2,
        Some(Severity::Warning) => 1,
        Some(Severity::Note) | None => 0,
    }
}

/// The findings for people, the worst first, and how many there are.
pub fn text(findings: &[Finding], colour: bool) -> String {
    let mut text = String::new();
    for one in sorted(findings) {
        let word = painted(one.severity.word(), one.severity.tone(), colour);
        let _ = writeln!(text, "{word}: {}: {}", one.rule, one.what);
        let _ = writeln!(text, "  cure: {}", one.cure);
    }
    text + &summary(findings) + "\n"
}

fn summary(findings: &[Finding]) -> String {
    let counted = |severity: Severity| {
        let number = count(findings, severity);
        let end = if number == 1 { "" } else { "s" };
        format!("{number} {}{end}", severity.word())
    };
    let all = [Severity::Error, Severity::Warning, Severity::Note].map(counted);
    all.join(", ")
}

/// The findings for machines, the worst first.
pub fn json(findings: &[Finding]) -> Value {
    let one = |one: &Finding| {
        json!({
            "severity": one.severity.word(),
            "rule": one.rule,
            "what": one.what,
            "cure": one.cure,
        })
    };
    sorted(findings).into_iter().map(one).collect()
}

fn sorted(findings: &[Finding]) -> Vec<&Finding> {
    let mut all: Vec<&Finding> = findings.iter().collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.severity));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule {
        name: "a-rule",
        severity: Severity::Warning,
        meaning: "something is odd",
    };

    #[test]
    fn the_worst_decides_the_exit_status_and_stands_first() {
        assert_eq!(exit_status(&[]), 0);
        let odd = Finding::of(RULE, "x is odd", "mend x");
        let note = Finding::of(RULE, "y", "z").as_bad_as(Severity::Note);
        let bad = Finding::of(RULE, "w", "v").as_bad_as(Severity::Error);
        assert_eq!(exit_status(std::slice::from_ref(&note)), 0);
        assert_eq!(exit_status(&[note.clone(), odd.clone()]), 1);
        let all = [note, odd, bad];
        assert_eq!(exit_status(&all), 2);
        let want = "error: a-rule: w\n  cure: v\nwarning: a-rule: x is odd\n  cure: mend x\nnote: a-rule: y\n  cure: z\n\
                    1 error, 1 warning, 1 note\n";
        assert_eq!(text(&all, false), want);
        assert!(text(&all, true).starts_with("\x1b[31merror\x1b[0m: a-rule"));
        assert_eq!(json(&all)[0]["severity"], "error");
        assert_eq!(text(&[], false), "0 errors, 0 warnings, 0 notes\n");
    }
}

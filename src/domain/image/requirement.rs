// SPDX-License-Identifier: Apache-2.0
//! What an image requires of the machine: the variables `NVIDIA_REQUIRE_*`, for example
//! `cuda>=12.8 brand=tesla,driver>=470,driver<471`. Spaces stand between groups of which one must hold, commas between
//! clauses that must all hold; every variable must hold.
//!
//! The rules are there so that a task fails with both versions in its message and not with a number from CUDA. So what is
//! in doubt is let through: a clause that is not understood is left out, and one about something that is not known of this
//! machine counts as met, both with a warning.

use super::facts::Facts;
use super::version::Version;
use super::{DISABLE_REQUIRE, Wishes, add, shown};
use std::cmp::Ordering;

/// Longest first, so that `<=` is not taken for `<`.
const OPERATORS: [&str; 6] = ["!=", "<=", ">=", "=", "<", ">"];

/// What became of a clause or a group.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome<'a> {
    Met,
    /// This clause does not hold.
    Unmet(&'a str),
    /// Nothing in it was understood.
    LeftOut,
}

/// Checks what an image requires: warnings where it may run.
///
/// # Errors
/// The first variable that does not hold, with its clause and what the machine has.
pub fn check(wishes: &Wishes, facts: &Facts) -> Result<Vec<String>, String> {
    let mut warnings = Vec::new();
    for (variable, text) in &wishes.requirements {
        let variable = Variable {
            name: variable,
            facts,
        };
        if let Outcome::Unmet(clause) = variable.check(text, &mut warnings) {
            let others = text.split_ascii_whitespace().count() - 1;
            let others = match others {
                0 => String::new(),
                _ => format!(" (nor does another of its {} groups hold)", others + 1),
            };
            return Err(format!(
                "the image requires {} in {}{others}, and this machine has {}; \
                 with {DISABLE_REQUIRE}=1 in the image that is not checked",
                shown(clause),
                shown(variable.name).trim_matches('"'),
                facts.in_words(),
            ));
        }
    }
    Ok(warnings)
}

struct Variable<'a> {
    name: &'a str,
    facts: &'a Facts,
}

impl Variable<'_> {
    /// One group must hold; nothing that is understood requires nothing.
    fn check<'t>(&self, text: &'t str, warnings: &mut Vec<String>) -> Outcome<'t> {
        let mut verdict = Outcome::LeftOut;
        for group in text.split_ascii_whitespace() {
            let mut own = Vec::new();
            match self.group(group, &mut own) {
                // What was taken for met in a group that does not hold made no difference.
                Outcome::Unmet(clause) if verdict == Outcome::LeftOut => verdict = Outcome::Unmet(clause),
                Outcome::Unmet(_) => {}
                outcome => {
                    own.into_iter().for_each(|warning| add(warnings, warning));
                    if outcome == Outcome::Met {
                        return outcome;
                    }
                }
            }
        }
        verdict
    }

    /// Every clause must hold.
    fn group<'t>(&self, group: &'t str, warnings: &mut Vec<String>) -> Outcome<'t> {
        let mut verdict = Outcome::LeftOut;
        for clause in group.split(',').filter(|clause| !clause.is_empty()) {
            match self.clause(clause, warnings) {
                Outcome::LeftOut => {}
                Outcome::Met => verdict = Outcome::Met,
                unmet @ Outcome::Unmet(_) => return unmet,
            }
        }
        verdict
    }

    fn clause<'t>(&self, clause: &'t str, warnings: &mut Vec<String>) -> Outcome<'t> {
        let warning = |why: &str| format!("{} of the image: {} {why}", shown(self.name), shown(clause));
        let left_out = |warnings: &mut Vec<String>| {
            add(
                warnings,
                warning("is no requirement that is known here; it is left out"),
            );
            Outcome::LeftOut
        };
        let begin = clause.find(['!', '<', '=', '>']).unwrap_or(clause.len());
        let (name, rest) = clause.split_at(begin);
        let Some(operator) = OPERATORS.into_iter().find(|known| rest.starts_with(known)) else {
            return left_out(warnings);
        };
        let wanted = &rest[operator.len()..];
        let Some(holds) = self.holds(name, operator, wanted) else {
            return left_out(warnings);
        };
        match holds {
            Some(true) => Outcome::Met,
            Some(false) => Outcome::Unmet(clause),
            None => {
                add(
                    warnings,
                    warning("is about what is not known of this machine; it counts as met"),
                );
                Outcome::Met
            }
        }
    }

    /// None for what is not understood; inside, none for what is not known of the machine.
    fn holds(&self, name: &str, operator: &str, wanted: &str) -> Option<Option<bool>> {
        let found = match name {
            "cuda" => &self.facts.cuda,
            "driver" => &self.facts.driver,
            "arch" => &self.facts.arch,
            "brand" => return brand_holds(&self.facts.brands, operator, wanted),
            _ => return None,
        };
        let wanted = Version::parse(wanted)?;
        let found = found.as_deref().and_then(Version::parse);
        Some(found.map(|found| order_holds(found.cmp(&wanted), operator)))
    }
}

fn order_holds(order: Ordering, operator: &str) -> bool {
    match operator {
        "=" => order.is_eq(),
        "!=" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    }
}

/// A brand is that of every GPU, or of none.
fn brand_holds(brands: &[String], operator: &str, wanted: &str) -> Option<Option<bool>> {
    // NVIDIA's lists name those with RTX apart, while a GPU's name does not tell the two apart.
    let wanted = match wanted {
        "geforcertx" => "geforce",
        "titanrtx" => "titan",
        other => other,
    };
    let is = |brand: &String| brand.eq_ignore_ascii_case(wanted);
    let known = !brands.is_empty();
    match operator {
        _ if wanted.is_empty() => None,
        "=" => Some(known.then(|| brands.iter().all(is))),
        "!=" => Some(known.then(|| !brands.iter().any(is))),
        _ => None,
    }
}

#[cfg(test)]
mod tests;

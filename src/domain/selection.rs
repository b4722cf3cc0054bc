// SPDX-License-Identifier: Apache-2.0
//! Which of the machine's GPUs are handed out: the value of the parameter `gpus`.
//!
//! A GPU has many names, and a name is only worth something against the machine, so reading a value ([`Selection::parse`])
//! and applying it ([`Selection::choose`]) are two steps. A name that means nothing is refused: a typo that silently
//! hands out one GPU less is found by nobody.

mod term;

use std::fmt;

use super::gpu::{Unit, UnitId};
use term::Term;

/// What a value of `gpus` may be, for messages and documentation.
pub const FORM: &str = "all, or a comma list of: NVML index (3), range (0-3), UUID (GPU-… or MIG-…), PCI address (0000:3b:00.0), \
MIG instance as GPU:instance (0:2); each excluded with a leading !";

/// Why a value of `gpus` is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// A term is none of the accepted forms.
    #[error("{term:?} is not a GPU ({reason}); accepted: {FORM}")]
    Malformed {
        /// The term.
        term: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A term repeats another.
    #[error("{second:?} repeats {first:?}; name each GPU once")]
    Repeated {
        /// The earlier term.
        first: String,
        /// The later one.
        second: String,
    },
    /// A term names nothing that the machine has.
    #[error("{term:?} does not exist; {there}")]
    Missing {
        /// The term, or the index out of a range.
        term: String,
        /// What exists.
        there: String,
    },
    /// Two terms, written differently, name the same GPU.
    #[error("{first:?} and {second:?} both name {unit}; name each GPU once")]
    SameUnit {
        /// The earlier term.
        first: String,
        /// The later one.
        second: String,
        /// What both name.
        unit: UnitId,
    },
    /// An exclusion takes away what was not chosen.
    #[error("{term:?} excludes {unit}, which no other term chooses")]
    NothingToExclude {
        /// The exclusion.
        term: String,
        /// What it names.
        unit: UnitId,
    },
}

/// A value of `gpus` that is well formed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// None: all.
    chosen: Option<Vec<Term>>,
    excluded: Vec<Term>,
}

impl Selection {
    /// Everything the machine has.
    pub fn all() -> Self {
        Self {
            chosen: None,
            excluded: Vec::new(),
        }
    }

    /// Reads a value. Only exclusions mean all but these.
    pub fn parse(text: &str) -> Result<Self, SelectionError> {
        let (mut chosen, mut excluded, mut all) = (Vec::new(), Vec::new(), false);
        for word in text.split(',').map(str::trim) {
            let malformed = |reason| SelectionError::Malformed {
                term: word.to_owned(),
                reason,
            };
            match word.strip_prefix('!') {
                None if word == "all" && all => return Err(repeated("all", "all")),
                None if word == "all" => all = true,
                Some("all") => return Err(malformed("all cannot be excluded")),
                Some(rest) => add(&mut excluded, rest, word)?,
                None => add(&mut chosen, word, word)?,
            }
        }
        if let Some(term) = chosen.first().filter(|_| all) {
            return Err(repeated("all", &term.to_string()));
        }
        // The same name on both sides is a contradiction that needs no machine to be seen.
        for term in &excluded {
            if let Some(same) = chosen.iter().find(|chosen| *chosen == term) {
                return Err(repeated(&same.to_string(), &format!("!{term}")));
            }
        }
        let chosen = (!all && !chosen.is_empty()).then_some(chosen);
        Ok(Self { chosen, excluded })
    }

    /// The units that the value names, in the machine's order.
    pub fn choose(&self, units: &[Unit]) -> Result<Vec<UnitId>, SelectionError> {
        let chosen = match &self.chosen {
            None => vec![true; units.len()],
            Some(terms) => marks(terms, "", units)?.iter().map(Option::is_some).collect(),
        };
        let excluded = marks(&self.excluded, "!", units)?;
        let mut ids = Vec::new();
        for ((unit, chosen), excluded) in units.iter().zip(chosen).zip(excluded) {
            match excluded {
                None if chosen => ids.push(unit.id.clone()),
                Some(term) if !chosen => {
                    return Err(SelectionError::NothingToExclude {
                        term: format!("!{term}"),
                        unit: unit.id.clone(),
                    });
                }
                _ => {}
            }
        }
        Ok(ids)
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<String> = match &self.chosen {
            None => vec!["all".to_owned()],
            Some(terms) => terms.iter().map(ToString::to_string).collect(),
        };
        words.extend(self.excluded.iter().map(|term| format!("!{term}")));
        f.write_str(&words.join(","))
    }
}

fn repeated(first: &str, second: &str) -> SelectionError {
    SelectionError::Repeated {
        first: first.to_owned(),
        second: second.to_owned(),
    }
}

/// Reads a term, without its `!`, into a list that must not have it yet.
fn add(terms: &mut Vec<Term>, text: &str, word: &str) -> Result<(), SelectionError> {
    let term = Term::parse(text).map_err(|reason| SelectionError::Malformed {
        term: word.to_owned(),
        reason,
    })?;
    if let Some(same) = terms.iter().find(|other| other.same_name(&term)) {
        let sign = if word.starts_with('!') { "!" } else { "" };
        return Err(repeated(&format!("{sign}{same}"), word));
    }
    terms.push(term);
    Ok(())
}

/// For each unit the term that names it.
fn marks<'a>(terms: &'a [Term], sign: &str, units: &[Unit]) -> Result<Vec<Option<&'a Term>>, SelectionError> {
    let mut marks: Vec<Option<&Term>> = vec![None; units.len()];
    for term in terms {
        let named = term.names(units).map_err(|missing| SelectionError::Missing {
            term: format!("{sign}{missing}"),
            there: term::what_exists(units),
        })?;
        for (at, unit) in named.into_iter().map(|at| (at, &units[at])) {
            if let Some(first) = marks[at].replace(term) {
                return Err(SelectionError::SameUnit {
                    first: format!("{sign}{first}"),
                    second: format!("{sign}{term}"),
                    unit: unit.id.clone(),
                });
            }
        }
    }
    Ok(marks)
}

#[cfg(test)]
mod tests;

// SPDX-License-Identifier: Apache-2.0
//! Why a configuration is refused: one line that names what was set, to what, what is wrong and what to do.

use std::fmt;

/// What kind of mistake it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConfigErrorKind {
    /// A parameter that does not exist.
    UnknownKey,
    /// A parameter that is given twice.
    DuplicateKey,
    /// A parameter or flag whose value cannot be read.
    WrongValue,
    /// Two places say different things.
    Contradiction,
    /// The agent's `--isolation` does not fit.
    Isolation,
    /// The agent's `--resources` does not fit.
    Resources,
}

/// Why a configuration is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    kind: ConfigErrorKind,
    text: String,
}

impl ConfigError {
    pub(crate) fn new(kind: ConfigErrorKind, text: String) -> Self {
        Self { kind, text }
    }

    /// A parameter whose value is none of the accepted form.
    pub(crate) fn wrong_value(key: &str, value: &str, why: &str, form: &str) -> Self {
        let text = format!("parameter {key}={}: {why}; accepted: {form}", quoted(value));
        Self::new(ConfigErrorKind::WrongValue, text)
    }

    /// What kind of mistake it is.
    pub fn kind(&self) -> ConfigErrorKind {
        self.kind
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for ConfigError {}

/// The most of a value that a message shows.
const SHOWN: usize = 200;

/// A value for a message: one line, quoted, and not longer than a person reads.
pub(crate) fn quoted(value: &str) -> String {
    match value.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &value[..end]),
        None => format!("{value:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_however_the_value_looks() {
        let error = ConfigError::wrong_value("gpus", "a\nb", "why", "form");
        assert_eq!(error.to_string(), "parameter gpus=\"a\\nb\": why; accepted: form");
        assert_eq!(error.kind(), ConfigErrorKind::WrongValue);
        let long = "ä".repeat(SHOWN + 1);
        assert_eq!(quoted(&long), format!("\"{}\"…", "ä".repeat(SHOWN)));
    }
}

// SPDX-License-Identifier: Apache-2.0
//! How the values of the allocator's parameters are read.

use super::keys;
use crate::config::error::ConfigError;
use crate::domain::allocation_policy::piece::{ONE, milli};
use crate::domain::allocation_policy::{Policy, Rule, Subject};

/// The most of anything: beyond any agent, and far from where numbers stop to be exact.
const MOST: u64 = 1_000_000;
/// The most megabytes: a million terabytes.
const MOST_MEGABYTES: u64 = MOST * 1024 * 1024;

/// Reads a policy.
pub(super) fn policy(key: &str, text: &str) -> Result<Policy, ConfigError> {
    named_policy(text)
        .ok_or_else(|| ConfigError::wrong_value(key, text, "it is no such policy", keys::POLICY))
}

fn named_policy(text: &str) -> Option<Policy> {
    match text {
        "strict" => Some(Policy::Strict),
        "share" => Some(Policy::Share),
        "open" => Some(Policy::Open),
        _ => None,
    }
}

/// Reads a sorter.
pub(super) fn sorter(key: &str, text: &str) -> Result<String, ConfigError> {
    match text {
        "drf" | "random" => Ok(text.to_owned()),
        _ => Err(ConfigError::wrong_value(
            key,
            text,
            "it is no such sorter",
            keys::SORTER,
        )),
    }
}

/// Reads an amount, in thousandths.
pub(super) fn number(key: &str, text: &str) -> Result<u64, ConfigError> {
    let wrong = |why| ConfigError::wrong_value(key, text, why, keys::NUMBER);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if text.starts_with('-') {
        return Err(wrong("it is negative"));
    }
    if !digits(whole) || !digits(fraction) {
        return Err(wrong("it is no such number"));
    }
    if fraction.len() > 3 {
        return Err(wrong("Mesos counts three decimal digits"));
    }
    let number: f64 = text.parse().map_err(|_| wrong("it is no such number"))?;
    let milli = milli(number);
    if milli > MOST * ONE {
        return Err(wrong("it is too large"));
    }
    Ok(milli)
}

/// Reads an amount of memory or disk, in thousandths of a megabyte.
pub(super) fn megabytes(key: &str, text: &str) -> Result<u64, ConfigError> {
    let wrong = |why| ConfigError::wrong_value(key, text, why, keys::MEGABYTES);
    if text.starts_with('-') {
        return Err(wrong("it is negative"));
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit: u64 = match unit {
        "" | "MB" => 1,
        "GB" => 1024,
        "TB" => 1024 * 1024,
        _ => return Err(wrong("it is no number with such a unit")),
    };
    if number.is_empty() {
        return Err(wrong("it is no number"));
    }
    let number = number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(unit));
    match number.filter(|number| *number <= MOST_MEGABYTES) {
        Some(number) => Ok(number * ONE),
        None => Err(wrong("it is too large")),
    }
}

/// Reads a list of rules.
pub(super) fn rules<T>(
    key: &str,
    text: Option<&str>,
    form: &str,
    read: impl Fn(&str) -> Result<T, &'static str>,
) -> Result<Vec<Rule<T>>, ConfigError> {
    let mut rules: Vec<Rule<T>> = Vec::new();
    let Some(text) = text else { return Ok(rules) };
    for word in text.split(',').map(str::trim) {
        let wrong = |why: &str| ConfigError::wrong_value(key, text, &format!("{word:?} {why}"), form);
        // A name may hold an equals sign, a value cannot.
        let Some((subject, value)) = word.rsplit_once('=') else {
            return Err(wrong("has no value"));
        };
        let subject = match subject.split_once(':') {
            Some((_, "")) => return Err(wrong("has no name")),
            Some(("role", name)) => Subject::Role(name.to_owned()),
            Some(("framework", name)) => Subject::Framework(name.to_owned()),
            _ => return Err(wrong("is for neither role:NAME nor framework:NAME")),
        };
        if rules.iter().any(|rule| rule.subject == subject) {
            return Err(wrong(&format!("repeats {subject}")));
        }
        let value = read(value).map_err(wrong)?;
        rules.push(Rule { subject, value });
    }
    Ok(rules)
}

/// Reads the value of an override.
pub(super) fn override_of(text: &str) -> Result<Policy, &'static str> {
    named_policy(text).ok_or("names no such policy")
}

/// Reads the value of a cap.
pub(super) fn cap_of(text: &str) -> Result<u64, &'static str> {
    if text.starts_with('-') {
        return Err("is negative");
    }
    if text.contains('.') {
        return Err("is no whole number of GPUs");
    }
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err("is no number of GPUs");
    }
    text.parse().ok().filter(|cap| *cap <= MOST).ok_or("is too large")
}

// SPDX-License-Identifier: Apache-2.0
//! The parameters of oversubscription, which make one set: they are read together, because some of them only mean something
//! beside others.

use super::{Zero, duration, switch};
use crate::config::Mode;
use crate::config::error::{ConfigError, ConfigErrorKind, quoted};
use crate::config::keys;
use crate::domain::estimate::{MemoryLimit, Percent, Thresholds};

/// Whether idle GPUs are offered a second time, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oversubscription {
    /// Whether they are.
    pub on: bool,
    /// What counts as idle, and how much of it is offered.
    pub thresholds: Thresholds,
}

/// Reads them; `value` gives a parameter's text.
pub(in crate::config) fn oversubscription<'a>(
    value: impl Fn(&'static str) -> &'a str,
    mode: Mode,
) -> Result<Oversubscription, ConfigError> {
    let time = |key, zero| duration(key, value(key), zero);
    let thresholds = Thresholds {
        window: time("idle_window", Zero::Refused)?,
        utilization: idle_utilization("idle_utilization", value("idle_utilization"))?,
        memory: memory("idle_memory", value("idle_memory"))?,
        pause: time("oversubscribe_pause", Zero::Accepted)?,
        share: share("oversubscribe_share", value("oversubscribe_share"))?,
        guests_per_gpu: guests("guests_per_gpu", value("guests_per_gpu"))?,
        interval: time("sample_interval", Zero::Refused)?,
    };
    let on = switch("oversubscribe", value("oversubscribe"))?;
    if on && mode == Mode::Observe {
        return Err(contradiction(
            "parameter oversubscribe=\"on\" contradicts mode=\"observe\", in which no GPU is handed out; accepted: off".to_owned(),
        ));
    }
    if thresholds.window < thresholds.interval {
        return Err(contradiction(format!(
            "parameter idle_window={} is shorter than sample_interval={}, so nobody would look in between; accepted: at \
             least the interval",
            quoted(value("idle_window")),
            quoted(value("sample_interval"))
        )));
    }
    Ok(Oversubscription { on, thresholds })
}

fn contradiction(text: String) -> ConfigError {
    ConfigError::new(ConfigErrorKind::Contradiction, text)
}

/// A whole number in plain digits, within these bounds.
fn whole(key: &str, text: &str, bounds: (u32, u32), form: &str) -> Result<u32, ConfigError> {
    let wrong = |why| ConfigError::wrong_value(key, text, why, form);
    let number = digits(text).ok_or_else(|| wrong("it is no whole number"))?;
    let (least, most) = bounds;
    match u32::try_from(number) {
        Ok(number) if number < least => Err(wrong("it is too small")),
        Ok(number) if number <= most => Ok(number),
        _ => Err(wrong("it is too large")),
    }
}

/// The number of plain digits: no sign, no point.
fn digits(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

fn percent(key: &str, text: &str, bounds: (u32, u32), form: &str) -> Result<Percent, ConfigError> {
    let number = whole(key, text, bounds, form)?;
    Percent::told(number).ok_or_else(|| ConfigError::wrong_value(key, text, "it is too large", form))
}

/// Above the half, "idle" would be another word.
const LARGEST_IDLE: u32 = 50;

fn idle_utilization(key: &str, text: &str) -> Result<Percent, ConfigError> {
    percent(key, text, (0, LARGEST_IDLE), keys::IDLE_UTILIZATION)
}

fn share(key: &str, text: &str) -> Result<Percent, ConfigError> {
    percent(key, text, (1, 100), keys::SHARE)
}

fn guests(key: &str, text: &str) -> Result<usize, ConfigError> {
    let number = whole(key, text, (1, 16), keys::GUESTS)?;
    usize::try_from(number).map_err(|_| ConfigError::wrong_value(key, text, "it is too large", keys::GUESTS))
}

/// Reads an amount of memory in Mesos's own form, whose units are powers of 1024, or a share of a GPU's.
fn memory(key: &str, text: &str) -> Result<MemoryLimit, ConfigError> {
    let wrong = |why| ConfigError::wrong_value(key, text, why, keys::IDLE_MEMORY);
    if let Some(share) = text.strip_suffix('%') {
        let share = digits(share).ok_or_else(|| wrong("it is no whole number of percent"))?;
        return u32::try_from(share)
            .ok()
            .filter(|share| *share <= LARGEST_IDLE)
            .and_then(Percent::told)
            .map(MemoryLimit::Share)
            .ok_or_else(|| wrong("it is too large"));
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let shift = match unit {
        "B" => 0,
        "KB" => 10,
        "MB" => 20,
        "GB" => 30,
        "TB" => 40,
        "" => return Err(wrong("the unit is missing")),
        _ => return Err(wrong("it is no amount of memory")),
    };
    let number = digits(number).ok_or_else(|| wrong("it is no amount of memory"))?;
    let bytes = number
        .checked_mul(1 << shift)
        .filter(|bytes| *bytes <= LARGEST_AMOUNT);
    bytes
        .map(MemoryLimit::Bytes)
        .ok_or_else(|| wrong("it is too large"))
}

/// More than any GPU has: a longer one is a slip.
const LARGEST_AMOUNT: u64 = 1 << 40;

// SPDX-License-Identifier: Apache-2.0
//! How the values of parameters are read.

pub(super) mod oversubscription;

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use super::Mode;
use super::error::{ConfigError, ConfigErrorKind, quoted};
use super::flags::MesosFlags;
use super::keys::{self, Given};
use crate::domain::image::injection::DriverFilesPolicy;
use crate::domain::selection::{Selection, SelectionError};

/// Whether a duration may be zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zero {
    /// It may.
    Accepted,
    /// It may not.
    Refused,
}

/// The longest duration: a longer one is a slip, and the agent would stand still for it.
const LONGEST: Duration = Duration::from_secs(3600);

/// Reads a duration in Mesos's own form: a number and a unit without a space.
pub(super) fn duration(key: &str, text: &str, zero: Zero) -> Result<Duration, ConfigError> {
    let form = if zero == Zero::Accepted {
        keys::WAIT
    } else {
        keys::TIME_LIMIT
    };
    let wrong = |why| ConfigError::wrong_value(key, text, why, form);
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "secs" => 1.0,
        "mins" => 60.0,
        "hrs" => 3600.0,
        "days" => 86_400.0,
        "weeks" => 604_800.0,
        "" => return Err(wrong("the unit is missing")),
        _ => return Err(wrong("it is no number with a unit")),
    };
    let number: f64 = number.parse().map_err(|_| wrong("it is no number with a unit"))?;
    match Duration::try_from_secs_f64(number * seconds) {
        Ok(duration) if duration > LONGEST => Err(wrong("it is too long")),
        Ok(duration) if duration.is_zero() && zero == Zero::Refused => Err(wrong("it is zero")),
        Ok(duration) => Ok(duration),
        Err(_) => Err(wrong("it is too long")),
    }
}

/// Reads the mode.
pub(super) fn mode(key: &str, text: &str) -> Result<Mode, ConfigError> {
    match text {
        "exclusive" => Ok(Mode::Exclusive),
        "observe" => Ok(Mode::Observe),
        _ => Err(ConfigError::wrong_value(
            key,
            text,
            "it is no such mode",
            keys::MODE,
        )),
    }
}

/// Reads a switch.
pub(super) fn switch(key: &str, text: &str) -> Result<bool, ConfigError> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(ConfigError::wrong_value(
            key,
            text,
            "it is no switch",
            keys::SWITCH,
        )),
    }
}

/// Reads which containers get the driver's files.
pub(super) fn driver_files(key: &str, text: &str) -> Result<DriverFilesPolicy, ConfigError> {
    match text {
        "never" => Ok(DriverFilesPolicy::Never),
        "gpus" => Ok(DriverFilesPolicy::WithGpus),
        "asked" => Ok(DriverFilesPolicy::Asked),
        _ => Err(ConfigError::wrong_value(
            key,
            text,
            "it is none of them",
            keys::DRIVER_FILES,
        )),
    }
}

/// Reads whether something is used when it is newer.
pub(super) fn newer(key: &str, text: &str) -> Result<bool, ConfigError> {
    match text {
        "newer" => Ok(true),
        "never" => Ok(false),
        _ => Err(ConfigError::wrong_value(key, text, "it is neither", keys::NEWER)),
    }
}

/// The path of a folder in a folder that a flag of the agent names.
pub(super) fn below_flag(
    folder: &str,
    flag: &str,
    mesos_default: &str,
    flags: &MesosFlags,
) -> Result<PathBuf, ConfigError> {
    let text = flags.read(flag)?.unwrap_or(mesos_default);
    let parent = path(flag, text).map_err(|_| unusable_flag(flag, text, keys::PATH))?;
    Ok(parent.join(folder))
}

fn unusable_flag(flag: &str, text: &str, form: &str) -> ConfigError {
    let text = format!("--{flag}={} cannot be used; accepted: {form}", quoted(text));
    ConfigError::new(ConfigErrorKind::WrongValue, text)
}

/// Reads an absolute path.
pub(super) fn path(key: &str, text: &str) -> Result<PathBuf, ConfigError> {
    let path = Path::new(text);
    let ok = path.is_absolute()
        && !text.contains('\0')
        && !path.components().any(|part| part == Component::ParentDir);
    if ok {
        // Collected anew, so that a trailing slash makes no difference.
        Ok(path.components().collect())
    } else {
        Err(ConfigError::wrong_value(
            key,
            text,
            "it is no such path",
            keys::PATH,
        ))
    }
}

/// Reads a folder below the cgroup hierarchies.
pub(super) fn cgroup(key: &str, text: &str) -> Result<String, ConfigError> {
    let root = text.trim_matches('/');
    let ok = !root.is_empty()
        && !root.contains('\0')
        && root.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if ok {
        Ok(root.to_owned())
    } else {
        Err(ConfigError::wrong_value(
            key,
            text,
            "it is no such folder",
            keys::CGROUP,
        ))
    }
}

/// Reads which GPUs are handed out.
pub(super) fn selection(key: &str, text: &str) -> Result<Selection, ConfigError> {
    Selection::parse(text).map_err(|error| {
        let text = match &error {
            // The accepted form is in the message already.
            SelectionError::Malformed { .. } => format!("parameter {key}={}: {error}", quoted(text)),
            _ => format!(
                "parameter {key}={}: {error}; accepted: {}",
                quoted(text),
                crate::domain::selection::FORM
            ),
        };
        ConfigError::new(ConfigErrorKind::WrongValue, text)
    })
}

/// What the agent does without the flag.
fn mesos_default(key: &str) -> &'static str {
    if key == "cgroups_root" {
        "mesos"
    } else {
        "/sys/fs/cgroup"
    }
}

/// Reads a parameter that repeats a flag of the agent. It exists for agents that are given their flags where this process
/// cannot see them; where it can, the two may not differ.
pub(super) fn agreed<T: PartialEq>(
    key: &str,
    given: &Given<'_>,
    flags: &MesosFlags,
    read: impl Fn(&str, &str) -> Result<T, ConfigError>,
) -> Result<T, ConfigError> {
    let flag = flags.read(key)?;
    let Some(text) = given.get(key) else {
        let text = flag.unwrap_or_else(|| mesos_default(key));
        return read(key, text).map_err(|_| {
            let form = if key == "cgroups_root" {
                keys::CGROUP
            } else {
                keys::PATH
            };
            unusable_flag(key, text, form)
        });
    };
    let value = read(key, text)?;
    match flag {
        Some(flag) if read(key, flag).ok().as_ref() != Some(&value) => {
            let (text, flag) = (quoted(text), quoted(flag));
            let text = format!(
                "parameter {key}={text} contradicts the agent's --{key}={flag}; leave the parameter out"
            );
            Err(ConfigError::new(ConfigErrorKind::Contradiction, text))
        }
        _ => Ok(value),
    }
}

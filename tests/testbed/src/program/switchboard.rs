// SPDX-License-Identifier: Apache-2.0
//! `mesos-io-switchboard`: carries a container's input and output to whoever attaches.

use std::path::Path;
use std::time::Duration;

use super::flags::Flags;
use crate::error::{Error, Tried};

/// What the agent asks of the switchboard.
pub(crate) struct Settings {
    pub(crate) tty: bool,
    pub(crate) stdin_to: i32,
    pub(crate) stdout_from: i32,
    pub(crate) stdout_to: i32,
    pub(crate) stderr_from: i32,
    pub(crate) stderr_to: i32,
    pub(crate) socket: String,
    pub(crate) wait_for_connection: bool,
    pub(crate) heartbeat: Option<Duration>,
}

pub(super) fn main(program: &Path, arguments: &[String]) -> Result<i32, Error> {
    let settings = settings(&Flags::parse(arguments.get(1..).unwrap_or_default())?)?;
    super::open(program)?.io_switchboard(&settings)
}

fn settings(flags: &Flags) -> Result<Settings, Error> {
    let descriptor = |name: &str| {
        let value = flags.require(name)?;
        value.parse::<i32>().tried(|| format!("take --{name}={value}"))
    };
    let is_set = |name: &str| flags.get(name).as_deref() == Some("true");
    Ok(Settings {
        tty: is_set("tty"),
        stdin_to: descriptor("stdin_to_fd")?,
        stdout_from: descriptor("stdout_from_fd")?,
        stdout_to: descriptor("stdout_to_fd")?,
        stderr_from: descriptor("stderr_from_fd")?,
        stderr_to: descriptor("stderr_to_fd")?,
        socket: flags.require("socket_address")?,
        wait_for_connection: is_set("wait_for_connection"),
        heartbeat: flags
            .get("heartbeat_interval")
            .map(|value| duration(&value))
            .transpose()?,
    })
}

/// Mesos's text form of a duration, such as `30secs` or `1.5mins`.
fn duration(text: &str) -> Result<Duration, Error> {
    let unit = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let seconds = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "secs" => 1.0,
        "mins" => 60.0,
        "hrs" => 3600.0,
        _ => {
            return Err(Error::new(
                format!("take the duration {text:?}"),
                "its unit is unknown",
            ));
        }
    };
    let number: f64 = number
        .trim()
        .parse()
        .tried(|| format!("take the duration {text:?}"))?;
    Duration::try_from_secs_f64(number * seconds).tried(|| format!("take the duration {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_durations_as_mesos_writes_them() {
        assert_eq!(duration("30secs").unwrap(), Duration::from_secs(30));
        assert_eq!(duration("1.5mins").unwrap(), Duration::from_secs(90));
        assert_eq!(duration("250ms").unwrap(), Duration::from_millis(250));
        let error = duration("3 fortnights").unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot take the duration \"3 fortnights\": its unit is unknown"
        );
    }
}

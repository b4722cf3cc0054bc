// SPDX-License-Identifier: Apache-2.0
//! Where figures come from: without it they say nothing.

use std::fs;

use serde::{Deserialize, Serialize};
use testbed::base;

/// The machine and the build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub processors: usize,
    pub processor: String,
    pub kernel: String,
    pub mesos: String,
    /// `release` or `debug`.
    pub build: String,
    /// `yyyy-mm-dd`, when it was measured.
    pub day: String,
    /// The average number of processes that wanted a processor in the minute before.
    pub load: String,
}

impl Place {
    /// This machine now.
    pub fn here() -> Self {
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
        let processors = read("/proc/cpuinfo");
        let processor = processors.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == "model name").then(|| value.trim().to_owned())
        });
        let load = read("/proc/loadavg");
        Self {
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            processor: processor.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            mesos: base::VERSION.to_owned(),
            build: if cfg!(debug_assertions) {
                "debug"
            } else {
                "release"
            }
            .to_owned(),
            day: day(),
            load: load.split(' ').next().unwrap_or_default().to_owned(),
        }
    }
}

fn day() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let (year, month, day) = date(since.unwrap_or_default().as_secs() / 86_400);
    format!("{year}-{month:02}-{day:02}")
}

/// The date of a day after 1970-01-01.
fn date(mut days: u64) -> (u64, u64, u64) {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in months {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(11_016), (2000, 2, 29));
        assert_eq!(date(20_788), (2026, 12, 1));
    }
}

// SPDX-License-Identifier: Apache-2.0
//! For how long a framework does not want what it gave back.

use std::time::Duration;

/// What Mesos refuses for when nothing is said.
const DEFAULT_SECONDS: f64 = 5.0;
/// As Mesos, which takes no longer time either.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// `mesos.Filters`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Filters {
    /// How many seconds.
    #[prost(double, optional, tag = "1")]
    pub refuse_seconds: Option<f64>,
}

impl Filters {
    /// How long what is given back is not offered again. A time that is none is no time.
    pub fn refuse_time(&self) -> Duration {
        let seconds = self.refuse_seconds.unwrap_or(DEFAULT_SECONDS);
        if seconds >= LONGEST.as_secs_f64() {
            return LONGEST;
        }
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::decode;

    #[test]
    fn filters_are_read_by_number() {
        let bytes = [&b"\x09"[..], &2.5f64.to_le_bytes()].concat();
        let filters: Filters = decode("Filters", &bytes).unwrap();
        assert_eq!(filters.refuse_time(), Duration::from_millis(2500));
    }

    #[test]
    fn every_number_of_seconds_is_a_time() {
        let time = |refuse_seconds| Filters { refuse_seconds }.refuse_time();
        assert_eq!(time(None), Duration::from_secs(5));
        assert_eq!(time(Some(-1.0)), Duration::ZERO);
        assert_eq!(time(Some(f64::NAN)), Duration::ZERO);
        assert_eq!(time(Some(1e300)), LONGEST);
        assert_eq!(time(Some(f64::INFINITY)), LONGEST);
    }
}

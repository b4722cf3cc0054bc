// SPDX-License-Identifier: Apache-2.0
//! Versions as NVIDIA writes them, `580.159.04` or `12.8`: numbers, compared part by part.

use std::cmp::Ordering;

/// A version. A part that is not written is 0, so `12` is `12.0`.
#[derive(Debug, Clone)]
pub struct Version(Vec<u64>);

/// More parts than any version has.
const PARTS: usize = 8;

impl Version {
    /// Reads one; none for anything but numbers with dots between them.
    pub fn parse(text: &str) -> Option<Self> {
        let part = |part: &str| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse().ok().filter(|_| digits)
        };
        let parts: Vec<u64> = text.split('.').take(PARTS + 1).map(part).collect::<Option<_>>()?;
        (parts.len() <= PARTS).then_some(Self(parts))
    }

    /// The first number: of a driver, its release family.
    pub fn major(&self) -> u64 {
        self.0.first().copied().unwrap_or(0)
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let part = |version: &Self, nth: usize| version.0.get(nth).copied().unwrap_or(0);
        (0..PARTS)
            .map(|nth| part(self, nth).cmp(&part(other, nth)))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Version {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_compared_as_numbers() {
        for (less, more) in [
            ("9.2", "10"),
            ("535.54.03", "535.129"),
            ("12", "12.0.1"),
            ("470", "470.1"),
        ] {
            assert!(
                Version::parse(less).unwrap() < Version::parse(more).unwrap(),
                "{less} {more}"
            );
        }
        for (one, other) in [("12", "12.0"), ("580.159.04", "580.159.4")] {
            assert_eq!(Version::parse(one).unwrap(), Version::parse(other).unwrap());
        }
        assert_eq!(Version::parse("580.159.04").unwrap().major(), 580);
    }

    #[test]
    fn what_is_no_version_is_none() {
        for text in [
            "",
            ".",
            "1.",
            ".1",
            "1..2",
            "v1",
            "1a",
            "+1",
            "-1",
            " 1",
            "1,2",
            "1.2.3.4.5.6.7.8.9",
            "99999999999999999999",
        ] {
            assert!(Version::parse(text).is_none(), "{text}");
        }
    }
}

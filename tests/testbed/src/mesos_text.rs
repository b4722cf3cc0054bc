// SPDX-License-Identifier: Apache-2.0
//! Why: Mesos passes durations (`15mins`) and resources (`cpus:1;mem:128`) as text in flags and environment
//! variables. They are read here, once, and refused by name where they make no sense.

use std::time::Duration;

const UNITS: [(&str, f64); 8] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("ms", 1e-3),
    ("secs", 1.0),
    ("mins", 60.0),
    ("hrs", 3600.0),
    ("days", 86_400.0),
    ("weeks", 604_800.0),
];

/// `5secs`, `1.5mins` and so on.
pub fn duration(text: &str) -> Result<Duration, String> {
    let refused =
        || format!("duration {text:?} is not a number with one of ns, us, ms, secs, mins, hrs, days, weeks");
    let split = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(refused)?;
    let (number, unit) = text.split_at(split);
    let (_, seconds) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(refused)?;
    let number: f64 = number.parse().map_err(|_| refused())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| refused())
}

/// `cpus:1;mem:128;gpus:1`. Roles, ranges and sets are not taken.
pub fn resources(text: &str) -> Result<Vec<(String, f64)>, String> {
    let mut out = Vec::new();
    for part in text.split(';').map(str::trim).filter(|p| !p.is_empty()) {
        let refused = || format!("resource {part:?} is not of the form name:number");
        let (name, value) = part.split_once(':').ok_or_else(refused)?;
        let (name, value) = (name.trim(), value.trim());
        let value: f64 = value.parse().map_err(|_| refused())?;
        let plain = !name.is_empty() && !name.contains(['(', '{', '[']);
        if !plain || !value.is_finite() || value < 0.0 {
            return Err(refused());
        }
        out.push((name.to_owned(), value));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_in_every_unit() {
        assert_eq!(duration("15mins"), Ok(Duration::from_secs(900)));
        assert_eq!(duration("1.5secs"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("0ns"), Ok(Duration::ZERO));
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in ["", "5", "secs", "5s", "-5secs", "nansecs", "infsecs", "5 secs"] {
            assert!(duration(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn resources_are_read_in_order() {
        let want = vec![
            ("cpus".to_owned(), 0.5),
            ("mem".to_owned(), 128.0),
            ("gpus".to_owned(), 1.0),
        ];
        assert_eq!(resources("cpus:0.5;mem:128; gpus:1;"), Ok(want));
    }

    #[test]
    fn resources_of_other_forms_are_refused_by_name() {
        for part in [
            "cpus",
            "cpus:",
            ":1",
            "cpus(role):1",
            "cpus{REV}:1",
            "ports:[1-2]",
            "cpus:-1",
            "cpus:nan",
        ] {
            let error = resources(&format!("mem:1;{part}")).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}

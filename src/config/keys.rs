// SPDX-License-Identifier: Apache-2.0
//! The parameters there are: what modules.json may say, what the documentation and the tool print, and what every other
//! key is compared with.

mod table;

use std::collections::HashMap;

use super::error::{ConfigError, ConfigErrorKind, quoted};

pub use table::KEYS;
pub(super) use table::{
    CGROUP, DRIVER_FILES, GUESTS, IDLE_MEMORY, IDLE_UTILIZATION, MODE, NEWER, PATH, SHARE, SWITCH,
    TIME_LIMIT, WAIT,
};

/// One parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What its value may be.
    pub form: &'static str,
    /// Its value when it is not given, or in parentheses where that comes from.
    pub default: &'static str,
    /// What it is for.
    pub meaning: &'static str,
}

/// What a set of parameters gives, by key.
#[derive(Debug)]
pub(super) struct Given<'a>(HashMap<&'a str, &'a str>);

impl<'a> Given<'a> {
    /// The value of a key, when it is given.
    pub(super) fn get(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).copied()
    }
}

/// The value that a key of a table has when it is not given, for keys whose default is a value.
pub(super) fn default_of(table: &[Key], name: &str) -> &'static str {
    table
        .iter()
        .find(|key| key.name == name)
        .map_or("", |key| key.default)
}

/// Refuses keys that are not in a table or come twice.
pub(super) fn check<'a>(table: &[Key], parameters: &'a [(String, String)]) -> Result<Given<'a>, ConfigError> {
    let mut given = HashMap::new();
    for (key, value) in parameters {
        if !table.iter().any(|known| known.name == key) {
            return Err(unknown(table, key, value));
        }
        if let Some(first) = given.insert(key.as_str(), value.as_str()) {
            return Err(duplicate(key, first, value, ""));
        }
    }
    Ok(Given(given))
}

/// A key that one module gives twice; `by` says which, ` of <module>`, where that is known.
pub(super) fn duplicate(key: &str, first: &str, second: &str, by: &str) -> ConfigError {
    let (first, second) = (quoted(first), quoted(second));
    let text = format!("parameter {key}{by} is given twice, as {first} and as {second}; give it once");
    ConfigError::new(ConfigErrorKind::DuplicateKey, text)
}

fn unknown(table: &[Key], key: &str, value: &str) -> ConfigError {
    let nearest = table
        .iter()
        .map(|known| (distance(key, known.name), known.name))
        .min();
    // More than a third of the letters wrong is another word, not a slip.
    let hint = match nearest {
        Some((wrong, name)) if wrong <= name.len() / 3 => format!(" (nearest: {name})"),
        _ => String::new(),
    };
    let names: Vec<&str> = table.iter().map(|known| known.name).collect();
    // A key is shown as it is only when it looks like one.
    let plain = !key.is_empty() && key.len() <= 64 && key.bytes().all(|b| b.is_ascii_graphic());
    let key = if plain { key.to_owned() } else { quoted(key) };
    let text = format!(
        "parameter {key}={} does not exist{hint}; accepted: {}",
        quoted(value),
        names.join(", ")
    );
    ConfigError::new(ConfigErrorKind::UnknownKey, text)
}

/// How many letters must be changed, added or dropped to come from one word to the other.
pub(crate) fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(!a.eq_ignore_ascii_case(b));
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(parameters: &[(&str, &str)]) -> Vec<(String, String)> {
        parameters
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn the_table_names_each_key_once_and_says_all_of_it() {
        for (nth, key) in KEYS.iter().enumerate() {
            assert!(
                KEYS[..nth].iter().all(|other| other.name != key.name),
                "{}",
                key.name
            );
            for text in [key.name, key.form, key.default, key.meaning] {
                assert!(!text.is_empty() && !text.contains('\n'), "{}: {text:?}", key.name);
            }
        }
    }

    #[test]
    fn an_unknown_key_is_refused_with_what_exists_and_the_nearest() {
        let accepted = "accepted: gpus, nvml_library, nvml_timeout, discovery_wait, proc_dir, dev_dir, cgroups_root, \
                        cgroups_hierarchy, attributes, mode, checkpoint_dir, metrics_file, dcgm_job_dir, \
                        release_wait, release_limit, health_interval, process_check, control_nodes_for_all, driver_files, \
                        driver_root, cdi_spec, cuda_compat, image_dir, nvidia_requirements, oversubscribe, \
                        idle_window, idle_utilization, idle_memory, sample_interval, guests_per_gpu, \
                        oversubscribe_pause, oversubscribe_share";
        for (key, shown, nearest) in [
            ("gpu", "gpu", " (nearest: gpus)"),
            ("GPUS", "GPUS", " (nearest: gpus)"),
            ("nvml-timeout", "nvml-timeout", " (nearest: nvml_timeout)"),
            ("colour", "colour", ""),
            ("", "\"\"", ""),
            ("a b\n", "\"a b\\n\"", ""),
        ] {
            let error = check(KEYS, &pairs(&[(key, "x")])).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("parameter {shown}=\"x\" does not exist{nearest}; {accepted}")
            );
            assert_eq!(error.kind(), ConfigErrorKind::UnknownKey);
        }
    }

    #[test]
    fn a_key_given_twice_is_refused_even_with_the_same_value() {
        for (first, second) in [("all", "0"), ("all", "all")] {
            let error = check(KEYS, &pairs(&[("gpus", first), ("gpus", second)])).unwrap_err();
            let want = format!("parameter gpus is given twice, as {first:?} and as {second:?}; give it once");
            assert_eq!(
                (error.kind(), error.to_string()),
                (ConfigErrorKind::DuplicateKey, want)
            );
        }
    }
}

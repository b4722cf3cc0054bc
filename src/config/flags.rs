// SPDX-License-Identifier: Apache-2.0
//! The agent's own flags, found out the way the agent does it: a module is given its parameters and nothing else, and yet
//! must know how the agent around it was started.
//!
//! None of the flags that are asked for here has an alias in Mesos 1.11, so aliases are not known.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::error::{ConfigError, ConfigErrorKind, quoted};

/// The flags that are asked for here, by the modules or by the tool. The value of each may be `file://<path>` and is then the
/// file's text. The rest keep their text: some name a path to Mesos itself, and some a secret, which is not ours to read.
pub const FETCHED: &[&str] = &[
    "allocator",
    "cgroups_hierarchy",
    "cgroups_root",
    "containerizers",
    "fair_sharing_excluded_resource_names",
    "filter_gpu_resources",
    "framework_sorter",
    "hooks",
    "image_providers",
    "isolation",
    "launcher",
    "modules_dir",
    "nvidia_gpu_devices",
    "qos_controller",
    "resource_estimator",
    "resources",
    "role_sorter",
    "runtime_dir",
    "sandbox_directory",
    "work_dir",
];

/// The one flag that is asked for as it was given: who reads the file that it names says so in its messages.
pub const KEPT: &str = "modules";

/// The flags of a Mesos process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MesosFlags(BTreeMap<String, Value>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Text(String),
    Unreadable { given: String, why: String },
}

impl MesosFlags {
    /// Reads a command line (the program's name first) and an environment. `read` gives a file's text.
    pub fn parse(
        argv: &[String],
        env: &[(String, String)],
        read: &dyn Fn(&Path) -> io::Result<String>,
    ) -> Self {
        let mut flags = from_environment(env);
        // The command line goes before the environment.
        flags.extend(from_command_line(argv));
        let value = |name: &str, given: String| match given.strip_prefix("file://") {
            Some(path) if FETCHED.contains(&name) => match read(Path::new(path)) {
                Ok(text) => Value::Text(text),
                Err(why) => Value::Unreadable {
                    why: why.to_string(),
                    given,
                },
            },
            _ => Value::Text(given),
        };
        Self(
            flags
                .into_iter()
                .map(|(name, given)| (name.clone(), value(&name, given)))
                .collect(),
        )
    }

    /// The names that are given, in lower case, from the command line and the environment alike.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The text of a flag, by its name in lower case: `true` or `false` for a flag given without a value. None when it is
    /// not given, or when its file could not be read, see [`MesosFlags::read`].
    pub fn get(&self, name: &str) -> Option<&str> {
        // Another flag's text may be the name of a file, and nobody would notice.
        debug_assert!(FETCHED.contains(&name) || name == KEPT, "{name} is not fetched");
        match self.0.get(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The text of a flag that a decision rests on: a file that could not be read is an error.
    pub fn read(&self, name: &str) -> Result<Option<&str>, ConfigError> {
        match self.0.get(name) {
            Some(Value::Unreadable { given, why }) => {
                let text = format!("--{name}={}: cannot read that file: {why}", quoted(given));
                Err(ConfigError::new(ConfigErrorKind::WrongValue, text))
            }
            _ => Ok(self.get(name)),
        }
    }
}

fn from_environment(env: &[(String, String)]) -> BTreeMap<String, String> {
    let mut named: Vec<_> = env
        .iter()
        .filter_map(|(key, value)| Some((key.strip_prefix("MESOS_")?, value)))
        .collect();
    // Mesos goes through the variables in the order of their names, so of two spellings the lower case one counts.
    named.sort_by_key(|(name, _)| *name);
    named
        .into_iter()
        .map(|(name, value)| switch(name.to_ascii_lowercase(), Some(value)))
        .collect()
}

fn from_command_line(argv: &[String]) -> BTreeMap<String, String> {
    let words = argv
        .iter()
        .skip(1)
        .map(|word| word.trim_matches([' ', '\t', '\n', '\r']));
    let flags = words
        .take_while(|word| *word != "--")
        .filter_map(|word| word.strip_prefix("--"));
    let pair = |flag: &str| match flag.split_once('=') {
        Some((name, value)) => switch(name.to_ascii_lowercase(), Some(value)),
        None => switch(flag.to_ascii_lowercase(), None),
    };
    flags.map(pair).collect()
}

/// Turns `--name` and `--no-name` into values. No flag's own name begins with `no-`.
fn switch(name: String, value: Option<&str>) -> (String, String) {
    match (name.strip_prefix("no-"), value) {
        (Some(negated), None | Some("")) => (negated.to_owned(), "false".to_owned()),
        (_, None) => (name, "true".to_owned()),
        (_, Some(value)) => (name, value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The flags of `mesos-agent <argv>` with the environment `NAME=value …`, and one readable file.
    fn flags(argv: &[&str], env: &[(&str, &str)]) -> MesosFlags {
        let argv: Vec<String> = std::iter::once("mesos-agent")
            .chain(argv.iter().copied())
            .map(Into::into)
            .collect();
        let env: Vec<(String, String)> = env.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect();
        MesosFlags::parse(&argv, &env, &|path| match path.to_str() {
            Some("/f") => Ok("from the file\n".into()),
            _ => Err(io::ErrorKind::NotFound.into()),
        })
    }

    #[test]
    fn flags_are_found_as_mesos_finds_them() {
        let (none, some) = (None::<&str>, Some);
        for (argv, env, want) in [
            (&["--isolation=a,b"][..], &[][..], some("a,b")),
            (&["agent", "--isolation=a"], &[], some("a")),
            (&["--ISOLATION=a"], &[], some("a")),
            (&["--isolation=a=b"], &[], some("a=b")),
            (&["--isolation="], &[], some("")),
            (&["  --isolation=a \n"], &[], some("a")),
            (&["--isolation=a", "--isolation=b"], &[], some("b")),
            (&["--isolation"], &[], some("true")),
            (&["--no-isolation"], &[], some("false")),
            (&["--no-isolation="], &[], some("false")),
            (&["--", "--isolation=a"], &[], none),
            (&["isolation=a", "-isolation=a"], &[], none),
            (&[], &[], none),
            (&[], &[("MESOS_ISOLATION", "e")], some("e")),
            (&[], &[("MESOS_isolation", "e")], some("e")),
            (
                &[],
                &[("MESOS_isolation", "low"), ("MESOS_ISOLATION", "up")],
                some("low"),
            ),
            (&[], &[("mesos_isolation", "e"), ("ISOLATION", "e")], none),
            (&["--isolation=a"], &[("MESOS_ISOLATION", "e")], some("a")),
            (&["--", "--isolation=a"], &[("MESOS_ISOLATION", "e")], some("e")),
            (&["--isolation=file:///f"], &[], some("from the file\n")),
            (&[], &[("MESOS_ISOLATION", "file:///f")], some("from the file\n")),
        ] {
            assert_eq!(flags(argv, env).get("isolation"), want, "{argv:?} {env:?}");
        }
        let argv = Vec::new();
        assert_eq!(
            MesosFlags::parse(&argv, &[], &|_| Ok(String::new())),
            MesosFlags::default()
        );
    }

    #[test]
    fn a_file_that_cannot_be_read_is_an_error_where_it_matters() {
        let flags = flags(&["--isolation=file:///g", "--resources=cpus:1"], &[]);
        assert_eq!(flags.get("isolation"), None);
        let error = flags.read("isolation").unwrap_err().to_string();
        assert_eq!(
            error,
            "--isolation=\"file:///g\": cannot read that file: entity not found"
        );
        assert_eq!(flags.read("resources").unwrap(), Some("cpus:1"));
        assert_eq!(flags.read("launcher").unwrap(), None);
    }

    #[test]
    fn a_file_of_a_flag_that_is_not_ours_is_not_read() {
        let text = |name: &str| match flags(&[&format!("--{name}=file:///f")], &[]).0.get(name) {
            Some(Value::Text(text)) => text.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(text("credential"), "file:///f");
        assert_eq!(text(KEPT), "file:///f");
        for name in FETCHED {
            assert_eq!(text(name), "from the file\n");
        }
    }
}

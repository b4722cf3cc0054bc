// SPDX-License-Identifier: Apache-2.0
//! Mesos's own flags, as far as the testbed must know them before Mesos reads them itself.

use std::collections::BTreeMap;

use crate::error::Error;

/// `--name=value`, `--name` and `--no-name` of a command line, with `MESOS_NAME` behind them.
pub(super) struct Flags {
    given: BTreeMap<String, String>,
}

impl Flags {
    /// Reads the arguments after the subcommand.
    pub(super) fn parse(arguments: &[String]) -> Result<Self, Error> {
        let mut given = BTreeMap::new();
        for argument in arguments {
            let Some(flag) = argument.strip_prefix("--") else {
                return Err(Error::new(
                    format!("take the argument {argument:?}"),
                    "it is not --name=value",
                ));
            };
            let (name, value) = match (flag.split_once('='), flag.strip_prefix("no-")) {
                (Some((name, value)), _) => (name, value),
                (None, Some(name)) => (name, "false"),
                (None, None) => (flag, "true"),
            };
            given.insert(name.to_owned(), value.to_owned());
        }
        Ok(Self { given })
    }

    /// The value of a flag from the command line, else from the environment.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        self.given
            .get(name)
            .cloned()
            .or_else(|| std::env::var(variable(name)).ok())
    }

    /// As [`Flags::get`] for a flag that must be there.
    pub(super) fn require(&self, name: &str) -> Result<String, Error> {
        self.get(name)
            .ok_or_else(|| Error::new("start", format!("the flag --{name} is missing")))
    }

    /// What the command line has.
    pub(super) fn given(&self) -> impl Iterator<Item = (&str, &str)> {
        self.given
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// The environment variable that stands for a flag.
pub(super) fn variable(name: &str) -> String {
    format!("MESOS_{}", name.to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_every_form_that_mesos_takes_and_refuses_others() {
        let arguments = ["--work_dir=/a=b", "--strict", "--no-recover", "--ip="].map(str::to_owned);
        let flags = Flags::parse(&arguments).unwrap();
        let given: Vec<_> = flags.given().collect();
        assert_eq!(
            given,
            [
                ("ip", ""),
                ("recover", "false"),
                ("strict", "true"),
                ("work_dir", "/a=b")
            ]
        );
        let error = Flags::parse(&["work_dir=/a".to_owned()]).err().unwrap();
        assert_eq!(
            error.to_string(),
            "cannot take the argument \"work_dir=/a\": it is not --name=value"
        );
    }
}

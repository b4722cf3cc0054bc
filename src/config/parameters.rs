// SPDX-License-Identifier: Apache-2.0
//! The modules of one process share one inventory of GPUs and so one set of parameters, but modules.json gives each module
//! its own. What they say is put together here, and may not differ.

use super::error::{ConfigError, ConfigErrorKind, quoted};
use super::keys;

/// The parameters of all modules that were created so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SharedParameters(Vec<Shared>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Shared {
    key: String,
    value: String,
    /// The module that said it first.
    module: String,
}

impl SharedParameters {
    /// Adds what a module was given. A module that is refused adds nothing.
    pub fn merge(&mut self, module: &str, parameters: &[(String, String)]) -> Result<(), ConfigError> {
        let mut new: Vec<Shared> = Vec::new();
        for (key, value) in parameters {
            let own = parameters
                .iter()
                .filter(|(other, _)| other == key)
                .map(|(_, value)| value)
                .collect::<Vec<_>>();
            if let [first, second, ..] = own[..] {
                return Err(keys::duplicate(key, first, second, &format!(" of {module}")));
            }
            match self.0.iter().find(|shared| shared.key == *key) {
                Some(shared) if shared.value != *value => return Err(contradiction(shared, module, value)),
                Some(_) => {}
                None => new.push(Shared {
                    key: key.clone(),
                    value: value.clone(),
                    module: module.to_owned(),
                }),
            }
        }
        self.0.append(&mut new);
        Ok(())
    }

    /// The parameters, each once.
    pub fn pairs(&self) -> Vec<(String, String)> {
        self.0
            .iter()
            .map(|shared| (shared.key.clone(), shared.value.clone()))
            .collect()
    }
}

fn contradiction(shared: &Shared, module: &str, value: &str) -> ConfigError {
    let Shared {
        key,
        value: first,
        module: by,
    } = shared;
    let (first, value) = (quoted(first), quoted(value));
    let text = format!(
        "parameter {key} is {first} for {by} and {value} for {module}, which share it; \
         give it to one module, or the same value to both"
    );
    ConfigError::new(ConfigErrorKind::Contradiction, text)
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
    fn modules_add_to_each_other_and_may_repeat_each_other() {
        let mut shared = SharedParameters::default();
        shared
            .merge(
                "mesos_gpu_Isolator",
                &pairs(&[("gpus", "all"), ("dev_dir", "/d")]),
            )
            .unwrap();
        shared
            .merge("mesos_gpu_Hook", &pairs(&[("gpus", "all"), ("proc_dir", "/p")]))
            .unwrap();
        shared.merge("mesos_gpu_QoSController", &[]).unwrap();
        assert_eq!(
            shared.pairs(),
            pairs(&[("gpus", "all"), ("dev_dir", "/d"), ("proc_dir", "/p")])
        );
    }

    #[test]
    fn two_modules_that_differ_are_refused_by_name_and_nothing_changes() {
        let mut shared = SharedParameters::default();
        shared
            .merge("mesos_gpu_Isolator", &pairs(&[("gpus", "all")]))
            .unwrap();
        let before = shared.clone();
        let error = shared
            .merge("mesos_gpu_Hook", &pairs(&[("dev_dir", "/d"), ("gpus", "0-3")]))
            .unwrap_err();
        let want = "parameter gpus is \"all\" for mesos_gpu_Isolator and \"0-3\" for mesos_gpu_Hook, which share it; \
                    give it to one module, or the same value to both";
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ConfigErrorKind::Contradiction, want)
        );
        assert_eq!(shared, before);
    }

    #[test]
    fn one_module_that_repeats_a_key_is_refused() {
        for second in ["all", "0"] {
            let given = pairs(&[("gpus", "all"), ("gpus", second)]);
            let error = SharedParameters::default()
                .merge("mesos_gpu_Hook", &given)
                .unwrap_err();
            let want = format!(
                "parameter gpus of mesos_gpu_Hook is given twice, as \"all\" and as {second:?}; give it once"
            );
            assert_eq!(
                (error.kind(), error.to_string()),
                (ConfigErrorKind::DuplicateKey, want)
            );
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! What a subject makes of settings, read by the modules' own code. That stops at the first mistake, since an agent does;
//! a person wants all of them at once, so here what is refused is left out and the rest is read again.

use super::manifest::{Loaded, Manifest};
use super::rules;
use super::subject::{Mesos, Subject};
use crate::config::parameters::SharedParameters;
use crate::config::{AllocatorConfig, Config, ConfigError, ConfigErrorKind, KEYS, MesosFlags};
use crate::tool::finding::{Finding, Rule};
use crate::tool::modules::{self, HOOK, ISOLATOR, Module, Role};
use std::path::PathBuf;

/// What a subject says.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// What is loaded.
    pub manifest: Manifest,
    /// The settings of an agent's modules; none where none is created.
    pub agent: Option<Config>,
    /// The settings of a master's allocator; none where it is not created.
    pub allocator: Option<AllocatorConfig>,
}

type Pairs = [(String, String)];

impl Settings {
    /// The settings, and what was wrong with the rest.
    pub fn of(subject: &Subject) -> (Self, Vec<Finding>) {
        let mut findings = Vec::new();
        let mut manifest = Manifest::default();
        for source in &subject.manifests {
            manifest.add(source, &mut findings);
        }
        let mut settings = Self {
            manifest,
            ..Self::default()
        };
        settings.agent = settings.agent_of(subject, &mut findings);
        settings.allocator = settings.allocator_of(subject, &mut findings);
        (settings, findings)
    }

    /// The paths that the rules must know of.
    pub fn paths(&self) -> Vec<PathBuf> {
        let master = self
            .allocator
            .as_ref()
            .and_then(|config| config.metrics_file.as_deref());
        rules::places::paths(self.agent.as_ref(), master)
    }

    /// Whether a module is created, as far as modules.json and the flags say; without flags all that are loaded are.
    pub fn creates(&self, mesos: Option<&Mesos>, module: Module) -> bool {
        self.manifest.loads(module.name) && mesos.is_none_or(|mesos| mesos.names(module))
    }

    fn agent_of(&self, subject: &Subject, findings: &mut Vec<Finding>) -> Option<Config> {
        let mesos = subject.mesos.as_ref();
        let created = |name: &str| {
            let module = modules::named(name)?;
            (module.role == Role::Agent && self.creates(mesos, module)).then_some(module)
        };
        let ours = self.manifest.ours();
        let agents: Vec<_> = ours
            .iter()
            .filter(|loaded| created(&loaded.name).is_some())
            .collect();
        if agents.is_empty() {
            return None;
        }
        let mut shared = SharedParameters::default();
        for loaded in agents {
            let mut told = |error: ConfigError| {
                let rule = match error.kind() {
                    ConfigErrorKind::DuplicateKey => rules::PARAMETER_REPEATED,
                    _ => rules::PARAMETERS_DIFFER,
                };
                let finding = told_as(rule, &error);
                if !findings.contains(&finding) {
                    findings.push(finding);
                }
            };
            let Err(error) = shared.merge(&loaded.name, &loaded.parameters) else {
                continue;
            };
            told(error);
            // The rest of what it says counts, to find what else is wrong.
            for (nth, pair) in loaded.parameters.iter().enumerate() {
                let repeated = loaded.parameters[..nth].iter().any(|(key, _)| *key == pair.0);
                if !repeated && let Err(error) = shared.merge(&loaded.name, std::slice::from_ref(pair)) {
                    told(error);
                }
            }
        }
        self.too_late(&ours, mesos, findings);
        let none = MesosFlags::default();
        let flags = mesos.map_or(&none, |mesos| &mesos.flags);
        read(
            &shared.pairs(),
            &|pairs| Config::from_parts(pairs, &none),
            &|pairs| Config::from_parts(pairs, flags),
            findings,
        )
    }

    /// The isolator's creation starts the agent thread; what modules that Mesos creates after it add to the parameters is
    /// refused.
    fn too_late(&self, ours: &[&Loaded], mesos: Option<&Mesos>, findings: &mut Vec<Finding>) {
        let pairs = |early: bool| {
            let created = move |loaded: &&&Loaded| {
                let module = modules::named(&loaded.name).filter(|module| module.role == Role::Agent);
                module.is_some_and(|module| {
                    [ISOLATOR, HOOK].contains(&module) == early && self.creates(mesos, module)
                })
            };
            ours.iter()
                .filter(created)
                .flat_map(|loaded| loaded.parameters.iter().map(move |pair| (&loaded.name, pair)))
        };
        if !self.creates(mesos, ISOLATOR) {
            return;
        }
        for (module, (key, value)) in pairs(false) {
            let known = pairs(true).any(|(_, (other, _))| other == key);
            let default = KEYS
                .iter()
                .any(|known| known.name == key && known.default == value);
            if !known && !default && KEYS.iter().any(|known| known.name == key) {
                findings.push(Finding::of(
                    rules::PARAMETERS_TOO_LATE,
                    format!("only {module} is given {key}={value}, and the agent thread runs already when it is created"),
                    format!("give {key} to {} as well, or to it alone", ISOLATOR.name),
                ));
            }
        }
    }

    fn allocator_of(&self, subject: &Subject, findings: &mut Vec<Finding>) -> Option<AllocatorConfig> {
        let ours = self.manifest.ours();
        let loaded = ours
            .iter()
            .find(|loaded| loaded.name == modules::ALLOCATOR.name)?;
        if !self.creates(subject.mesos.as_ref(), modules::ALLOCATOR) {
            return None;
        }
        let whole = |pairs: &Pairs| AllocatorConfig::from_parts(pairs);
        read(&loaded.parameters, &whole, &whole, findings)
    }
}

/// Reads parameters, first each alone and then together; what is refused is told and left out.
fn read<T>(
    parameters: &Pairs,
    alone: &dyn Fn(&Pairs) -> Result<T, ConfigError>,
    together: &dyn Fn(&Pairs) -> Result<T, ConfigError>,
    findings: &mut Vec<Finding>,
) -> Option<T> {
    let mut told = |error: &ConfigError| {
        let finding = told_as(rule_of(error), error);
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    };
    let mut rest: Vec<(String, String)> = Vec::new();
    for pair in parameters {
        match alone(std::slice::from_ref(pair)) {
            // What contradicts a default may agree with what else is given.
            Err(error) if error.kind() != ConfigErrorKind::Contradiction => told(&error),
            _ => rest.push(pair.clone()),
        }
    }
    loop {
        let error = match together(&rest) {
            Ok(settings) => return Some(settings),
            Err(error) => error,
        };
        told(&error);
        let without = |nth: usize| {
            let mut fewer = rest.clone();
            fewer.remove(nth);
            fewer
        };
        let at_fault = (0..rest.len()).find(|nth| together(&without(*nth)).err().as_ref() != Some(&error));
        match at_fault {
            Some(nth) => rest = without(nth),
            // It is a flag.
            None => return alone(&rest).ok(),
        }
    }
}

fn rule_of(error: &ConfigError) -> Rule {
    match error.kind() {
        ConfigErrorKind::UnknownKey => rules::PARAMETER_UNKNOWN,
        ConfigErrorKind::DuplicateKey => rules::PARAMETER_REPEATED,
        ConfigErrorKind::WrongValue if error.to_string().starts_with("the agent's --") => {
            rules::FLAG_UNREADABLE
        }
        ConfigErrorKind::WrongValue => rules::PARAMETER_WRONG_VALUE,
        _ => rules::PARAMETERS_CONTRADICT,
    }
}

/// A refusal of the modules' own, whose text ends with the cure.
pub(super) fn told_as(rule: Rule, error: &ConfigError) -> Finding {
    let text = error.to_string();
    let nearest = text
        .split_once("(nearest: ")
        .and_then(|(_, rest)| rest.split_once(')'));
    if let (ConfigErrorKind::UnknownKey, Some((nearest, _))) = (error.kind(), nearest) {
        let what = text.split(" (nearest: ").next().unwrap_or(&text);
        return Finding::of(rule, what, format!("write {nearest}"));
    }
    let parts = match text.split_once("; accepted: ") {
        Some((what, form)) => Some((what, format!("give it one of the accepted form: {form}"))),
        None => text.rsplit_once("; ").map(|(what, cure)| (what, cure.to_owned())),
    };
    match parts {
        Some((what, cure)) => Finding::of(rule, what, cure),
        None => Finding::of(
            rule,
            text,
            "let the agent read the file, or give the value itself",
        ),
    }
}

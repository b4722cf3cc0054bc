// SPDX-License-Identifier: Apache-2.0
//! What a subject makes of settings, read by the modules' own code. That stops at the first mistake, since an agent does;
//! a person wants all of them at once, so here what is refused is left out and the rest is read again.

use super::manifest::{Loaded, Manifest};
use super::rules::{self as told, PARAMETERS_TOO_LATE};
use super::subject::{Mesos, Subject};
use crate::config::parameters::SharedParameters;
use crate::config::{AllocatorConfig, Config, ConfigError, ConfigErrorKind, MesosFlags, rules};
use crate::tool::finding::{Finding, Rule};
use crate::tool::modules::{self, CONTROLLER, ESTIMATOR, HOOK, ISOLATOR, Module, Role};
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
        told::places::paths(self.agent.as_ref(), master)
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
                    ConfigErrorKind::DuplicateKey => told::PARAMETER_REPEATED,
                    _ => told::PARAMETERS_DIFFER,
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
        let none = MesosFlags::default();
        let flags = mesos.map_or(&none, |mesos| &mesos.flags);
        self.too_late(&ours, mesos, flags, findings);
        agent_settings(&shared.pairs(), flags, findings)
    }

    /// The isolator's creation starts the agent thread; what modules that Mesos creates after it add to the parameters is
    /// refused.
    fn too_late(
        &self,
        ours: &[&Loaded],
        mesos: Option<&Mesos>,
        flags: &MesosFlags,
        findings: &mut Vec<Finding>,
    ) {
        if !self.creates(mesos, ISOLATOR) {
            return;
        }
        let parameters = |module: Module| {
            let loaded = ours.iter().find(|loaded| loaded.name == module.name);
            let created = loaded.filter(|_| self.creates(mesos, module));
            created.map_or(&[][..], |loaded| loaded.parameters.as_slice())
        };
        let early: Vec<_> = [ISOLATOR, HOOK]
            .into_iter()
            .flat_map(parameters)
            .cloned()
            .collect();
        // What is wrong with a value is told already.
        let settings = |pairs: &Pairs| agent_settings(pairs, flags, &mut Vec::new());
        let Some(before) = settings(&early) else { return };
        for module in [ESTIMATOR, CONTROLLER] {
            let refusal = |pair: &(String, String)| {
                let with: Vec<_> = early.iter().chain([pair]).cloned().collect();
                let early = [ISOLATOR.name, HOOK.name];
                rules::check_in_time(&before, &settings(&with)?, module.name, early).err()
            };
            let new = parameters(module)
                .iter()
                .filter(|(key, _)| early.iter().all(|(other, _)| other != key));
            let late: Vec<_> = new.filter_map(|pair| Some((pair, refusal(pair)?))).collect();
            if let Some((_, error)) = late.first() {
                let pairs: Vec<_> = late
                    .iter()
                    .map(|((key, value), _)| format!("{key}={value}"))
                    .collect();
                let mut finding = told_as(PARAMETERS_TOO_LATE, error);
                finding.what += &format!(": {}", pairs.join(", "));
                findings.push(finding);
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

/// The settings of an agent with these parameters and flags.
fn agent_settings(parameters: &Pairs, flags: &MesosFlags, findings: &mut Vec<Finding>) -> Option<Config> {
    let none = MesosFlags::default();
    read(
        parameters,
        &|pairs| Config::from_parts(pairs, &none),
        &|pairs| Config::from_parts(pairs, flags),
        findings,
    )
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
        ConfigErrorKind::UnknownKey => told::PARAMETER_UNKNOWN,
        ConfigErrorKind::DuplicateKey => told::PARAMETER_REPEATED,
        ConfigErrorKind::WrongValue if error.to_string().starts_with("--") => told::FLAG_UNREADABLE,
        ConfigErrorKind::WrongValue => told::PARAMETER_WRONG_VALUE,
        _ => told::PARAMETERS_CONTRADICT,
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

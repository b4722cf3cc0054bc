// SPDX-License-Identifier: Apache-2.0
//! modules.json as Mesos reads it. Mesos passes over fields that it does not know without a word, and that is how a
//! parameter gets lost; so here every field that is passed over is told.

use super::rules;
use super::subject::Source;
use crate::tool::finding::Finding;
use crate::tool::modules;
use serde_json::{Map, Value};

/// What modules.json says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Manifest {
    /// Its libraries.
    pub libraries: Vec<Library>,
}

/// One library.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Library {
    /// Its path, which goes before the name.
    pub file: Option<String>,
    /// Its name, `mesos_gpu` for `libmesos_gpu.so`.
    pub name: Option<String>,
    /// The modules that are loaded from it.
    pub modules: Vec<Loaded>,
}

/// A module that is loaded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Loaded {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub parameters: Vec<(String, String)>,
}

impl Library {
    /// What the loader is asked for; none where neither is given.
    pub fn asked_for(&self) -> Option<String> {
        let name = self.name.as_ref().map(|name| format!("lib{name}.so"));
        self.file.clone().or(name)
    }

    /// Whether it is meant to be this library.
    pub fn is_ours(&self) -> bool {
        let named = self
            .asked_for()
            .is_some_and(|file| file.ends_with("libmesos_gpu.so"));
        named || self.modules.iter().any(|module| modules::is_meant(&module.name))
    }
}

impl Manifest {
    /// The modules that are meant to be this library's, each once.
    pub fn ours(&self) -> Vec<&Loaded> {
        let mut ours: Vec<&Loaded> = Vec::new();
        for library in self.libraries.iter().filter(|library| library.is_ours()) {
            for module in &library.modules {
                if !ours.iter().any(|other| other.name == module.name) {
                    ours.push(module);
                }
            }
        }
        ours
    }

    /// Whether a module is loaded.
    pub fn loads(&self, name: &str) -> bool {
        let mut all = self.libraries.iter().flat_map(|library| &library.modules);
        all.any(|module| module.name == name)
    }

    /// Adds what a text says, and tells what is wrong with it.
    pub fn add(&mut self, source: &Source, findings: &mut Vec<Finding>) {
        let from = &source.from;
        let text = match &source.text {
            Ok(text) => text,
            Err(why) => {
                let what = format!("cannot read {from}: {why}");
                let cure = "name a file that is there, as --modules=file:///etc/mesos/modules.json";
                return findings.push(Finding::of(rules::MODULES_UNREADABLE, what, cure));
            }
        };
        match serde_json::from_str::<Value>(text) {
            Ok(value) => self.read(from, &value, findings),
            Err(why) => findings.push(Finding::of(
                rules::MODULES_NOT_JSON,
                format!("{from} is no JSON: {why}"),
                "mend the text at that place; --modules takes a path that begins with a slash, file:// and such a path, or JSON",
            )),
        }
    }

    fn read(&mut self, from: &str, value: &Value, findings: &mut Vec<Finding>) {
        let mut reader = Reader { from, findings };
        for library in reader.list(value, "the top", &["libraries"], "libraries") {
            let mut read = Library::default();
            let Some(fields) = reader.object(library, "a library", &["file", "name", "modules"]) else {
                continue;
            };
            read.file = reader.text(fields, "file", "a library");
            read.name = reader.text(fields, "name", "a library");
            for module in reader.list(library, "", &[], "modules") {
                reader.module(module, &mut read);
            }
            self.libraries.push(read);
        }
    }
}

/// Reads fields, and tells what is wrong.
struct Reader<'a> {
    from: &'a str,
    findings: &'a mut Vec<Finding>,
}

const SHAPE: &str = "give it the form {\"libraries\": [{\"file\": \"/path/libmesos_gpu.so\", \"modules\": [{\"name\": \"…\", \
                     \"parameters\": [{\"key\": \"…\", \"value\": \"…\"}]}]}]}";

impl Reader<'_> {
    fn wrong(&mut self, what: &str) {
        let what = format!("{}: {what}", self.from);
        self.findings.push(Finding::of(rules::MODULES_SHAPE, what, SHAPE));
    }

    /// An object; fields that are not among the known ones are told, where some are known.
    fn object<'v>(&mut self, value: &'v Value, what: &str, known: &[&str]) -> Option<&'v Map<String, Value>> {
        let Some(fields) = value.as_object() else {
            self.wrong(&format!("{what} is {value}, which is no object"));
            return None;
        };
        for name in fields
            .keys()
            .filter(|name| !known.is_empty() && !known.contains(&name.as_str()))
        {
            let distance = |known: &&&str| crate::config::keys::distance(name, known);
            let nearest = known.iter().min_by_key(distance).copied().unwrap_or_default();
            let cure = format!("write {nearest:?}, or remove it; {what} has {}", known.join(", "));
            let what = format!(
                "{}: {what} has the field {name:?}, which Mesos passes over",
                self.from
            );
            self.findings
                .push(Finding::of(rules::MODULES_UNKNOWN_FIELD, what, cure));
        }
        Some(fields)
    }

    /// The entries of a list in an object; none where it is missing.
    fn list<'v>(&mut self, value: &'v Value, what: &str, known: &[&str], name: &str) -> &'v [Value] {
        let Some(fields) = self.object(value, what, known) else {
            return &[];
        };
        match fields.get(name) {
            None => &[],
            Some(Value::Array(entries)) => entries,
            Some(other) => {
                self.wrong(&format!("{name:?} is {other}, which is no list"));
                &[]
            }
        }
    }

    fn text(&mut self, fields: &Map<String, Value>, name: &str, of: &str) -> Option<String> {
        match fields.get(name) {
            None => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => {
                self.wrong(&format!("{name:?} of {of} is {other}, which is no text"));
                None
            }
        }
    }

    fn module(&mut self, value: &Value, library: &mut Library) {
        let Some(fields) = self.object(value, "a module", &["name", "parameters"]) else {
            return;
        };
        let Some(name) = self.text(fields, "name", "a module") else {
            if !fields.contains_key("name") {
                self.wrong("a module has no name");
            }
            return;
        };
        let mut module = Loaded {
            name,
            ..Loaded::default()
        };
        for parameter in self.list(value, "", &[], "parameters") {
            let of = format!("a parameter of {}", module.name);
            let Some(fields) = self.object(parameter, &of, &["key", "value"]) else {
                continue;
            };
            let pair = (self.text(fields, "key", &of), self.text(fields, "value", &of));
            match pair {
                (Some(key), Some(value)) => module.parameters.push((key, value)),
                _ if fields.contains_key("key") && fields.contains_key("value") => {}
                _ => self.wrong(&format!("{of} has no key or no value")),
            }
        }
        library.modules.push(module);
    }
}

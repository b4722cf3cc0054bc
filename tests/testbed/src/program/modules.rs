// SPDX-License-Identifier: Apache-2.0
//! `--modules` and `--modules_dir`. Of Mesos's loaders only the one for a folder of manifests is exported, so a manifest
//! given as text or file is put in a folder of its own first. Also finds what `--allocator` names.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::flags::Flags;
use crate::error::{Error, Tried};
use crate::native::Mesos;

/// Loads the modules that the flags name, and then the hooks among them.
pub(super) fn load(mesos: &Mesos, flags: &Flags) -> Result<(), Error> {
    if let Some(folder) = flags.get("modules_dir") {
        mesos.load_modules(Path::new(&folder))?;
    }
    if let Some(value) = flags.get("modules") {
        let tried = || "hand over --modules".to_owned();
        // An installed agent reads the flag without a detour; this one must not cost a write to a disk.
        let memory = Path::new("/dev/shm");
        let mut folder = tempfile::Builder::new();
        let folder = folder.prefix("testbed-modules-");
        let folder = folder
            .tempdir_in(memory)
            .or_else(|_| folder.tempdir())
            .tried(tried)?;
        fs::write(folder.path().join("modules.json"), text(&value)?).tried(tried)?;
        mesos.load_modules(folder.path())?;
    }
    match flags.get("hooks") {
        Some(hooks) => mesos.initialize_hooks(&hooks),
        None => Ok(()),
    }
}

/// A flag's value that is JSON itself, a path, or `file://` and a path.
pub(super) fn text(value: &str) -> Result<String, Error> {
    if value.trim_start().starts_with('{') {
        return Ok(value.to_owned());
    }
    let path = value.strip_prefix("file://").unwrap_or(value);
    fs::read_to_string(path).tried(|| format!("read the modules from {path}"))
}

/// A module's library and its parameters as Mesos's serialized message.
#[derive(Debug, PartialEq)]
pub(super) struct Module {
    pub(super) library: String,
    pub(super) parameters: Vec<u8>,
}

/// Finds a module by its name in what the flags name.
pub(super) fn find(flags: &Flags, name: &str) -> Result<Module, Error> {
    let mut texts = Vec::new();
    if let Some(value) = flags.get("modules") {
        texts.push(text(&value)?);
    }
    if let Some(folder) = flags.get("modules_dir") {
        let tried = || format!("read the modules in {folder}");
        for entry in fs::read_dir(&folder).tried(tried)? {
            texts.push(fs::read_to_string(entry.tried(tried)?.path()).tried(tried)?);
        }
    }
    for text in &texts {
        if let Some(module) = find_in(text, name)? {
            return Ok(module);
        }
    }
    Err(Error::new(
        format!("find the module {name}"),
        "no manifest names it",
    ))
}

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    libraries: Vec<Library>,
}

#[derive(Deserialize)]
struct Library {
    file: Option<String>,
    name: Option<String>,
    #[serde(default)]
    modules: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    #[serde(default)]
    parameters: Vec<Parameter>,
}

#[derive(Deserialize)]
struct Parameter {
    key: String,
    value: String,
}

fn find_in(text: &str, name: &str) -> Result<Option<Module>, Error> {
    let manifest: Manifest = serde_json::from_str(text).tried(|| "read a module manifest".to_owned())?;
    for library in manifest.libraries {
        let Some(entry) = library.modules.iter().find(|entry| entry.name == name) else {
            continue;
        };
        let file = library
            .file
            .or_else(|| library.name.map(|name| format!("lib{name}.so")));
        let library =
            file.ok_or_else(|| Error::new("read a module manifest", "a library has no file and no name"))?;
        return Ok(Some(Module {
            library,
            parameters: serialize(&entry.parameters),
        }));
    }
    Ok(None)
}

/// `Parameters { repeated Parameter parameter = 1 }`, `Parameter { key = 1; value = 2 }`.
fn serialize(parameters: &[Parameter]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for parameter in parameters {
        let mut inner = Vec::new();
        put(&mut inner, 1, parameter.key.as_bytes());
        put(&mut inner, 2, parameter.value.as_bytes());
        put(&mut bytes, 1, &inner);
    }
    bytes
}

fn put(bytes: &mut Vec<u8>, field: u8, value: &[u8]) {
    bytes.push(field << 3 | 2);
    let mut length = value.len();
    while length > 0x7f {
        bytes.push(length.to_le_bytes()[0] | 0x80);
        length >>= 7;
    }
    bytes.push(length.to_le_bytes()[0]);
    bytes.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_module_with_its_parameters() {
        let text = r#"{"libraries":[{"file":"/a.so","modules":[{"name":"x"},
            {"name":"y","parameters":[{"key":"k","value":"v"},{"key":"long","value":"LONG"}]}]}]}"#
            .replace("LONG", &"l".repeat(200));
        let module = find_in(&text, "y").unwrap().unwrap();
        assert_eq!(module.library, "/a.so");
        assert_eq!(&module.parameters[..8], [10, 6, 10, 1, b'k', 18, 1, b'v']);
        assert_eq!(&module.parameters[8..11], [10, 209, 1]);
        assert_eq!(module.parameters.len(), 8 + 3 + 6 + 203);
        assert_eq!(find_in(&text, "z").unwrap(), None);
    }
}

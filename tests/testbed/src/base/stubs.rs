// SPDX-License-Identifier: Apache-2.0
//! Stub libraries for what the library links to and a machine of today lacks (OpenSSL 1.0, Subversion, …). They are made
//! from its own undefined symbols; every function answers 0, which Mesos takes well as long as TLS, SASL and URI
//! fetching stay unused.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use object::elf::{FileHeader64, SHT_DYNSYM, STB_GLOBAL};
use object::endian::Endianness;
use object::read::elf::{FileHeader, Sym};

use super::progress::Progress;
use crate::error::{Error, Tried};

/// The stubs by the names that the library asks for.
pub(super) const NAMES: [&str; 7] = [
    "libssl.so.1.0.0",
    "libcrypto.so.1.0.0",
    "libcurl.so.4",
    "libsasl2.so.2",
    "libsvn_delta-1.so.1",
    "libsvn_subr-1.so.1",
    "libapr-1.so.0",
];

/// Symbol versions to their symbols; the empty version is "none".
type Symbols = BTreeMap<String, BTreeSet<String>>;

/// Makes every stub of `library` in `folder`.
pub(super) fn make(library: &Path, folder: &Path) -> Result<(), Error> {
    let progress = Progress::start("making stub libraries for Mesos");
    let tried = || format!("read the symbols of {}", library.display());
    let data = fs::read(library).tried(tried)?;
    let mut stubs: BTreeMap<&str, Symbols> = NAMES.iter().map(|name| (*name, Symbols::new())).collect();
    for symbol in undefined(&data).tried(tried)? {
        if let Some(symbols) = home(&symbol).and_then(|name| stubs.get_mut(name)) {
            symbols.entry(symbol.version).or_default().insert(symbol.name);
        }
    }
    for (name, symbols) in &stubs {
        compile(name, symbols, folder)?;
    }
    progress.done();
    Ok(())
}

struct Symbol {
    name: String,
    version: String,
    /// The library that the version is asked of.
    file: Option<String>,
}

fn undefined(data: &[u8]) -> object::read::Result<Vec<Symbol>> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let header = FileHeader64::<Endianness>::parse(data)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let symbols = sections.symbols(endian, data, SHT_DYNSYM)?;
    let versions = sections.versions(endian, data)?;
    let mut found = Vec::new();
    for (index, symbol) in symbols.enumerate() {
        let name = symbol.name(endian, symbols.strings())?;
        if !symbol.is_undefined(endian) || symbol.st_bind() != STB_GLOBAL || name.is_empty() {
            continue;
        }
        let version = match &versions {
            Some(table) => table.version(table.version_index(endian, index).index())?,
            None => None,
        };
        found.push(Symbol {
            name: text(name),
            version: version.map(|version| text(version.name())).unwrap_or_default(),
            file: version.and_then(|version| version.file()).map(text),
        });
    }
    Ok(found)
}

/// The stub that a symbol belongs in; none for what the system has (glibc, libstdc++, libz).
fn home(symbol: &Symbol) -> Option<&str> {
    match (&symbol.file, symbol.name.as_str()) {
        (Some(file), _) => Some(file),
        (None, name) if name.starts_with("svn_txdelta") => Some("libsvn_delta-1.so.1"),
        (None, name) if name.starts_with("svn_") => Some("libsvn_subr-1.so.1"),
        // The library is also a Python extension; any stub may carry what it wants of the interpreter.
        (None, name) if ["apr_", "Py", "_Py"].iter().any(|start| name.starts_with(start)) => {
            Some("libapr-1.so.0")
        }
        (None, _) => None,
    }
}

fn source(symbols: &Symbols) -> String {
    let is_data = |name: &str| name.starts_with("PyExc_") || name == "_Py_NoneStruct";
    let names: BTreeSet<&String> = symbols.values().flatten().collect();
    names
        .iter()
        .map(|name| match is_data(name) {
            true => format!("long {name}[64];\n"),
            false => format!("long {name}(void) {{ return 0; }}\n"),
        })
        .collect()
}

fn version_script(symbols: &Symbols) -> String {
    let named = symbols.iter().filter(|(version, _)| !version.is_empty());
    named
        .map(|(version, names)| {
            let names: String = names.iter().map(|name| format!(" {name};")).collect();
            format!("{version} {{ global:{names} }};\n")
        })
        .collect()
}

fn compile(name: &str, symbols: &Symbols, folder: &Path) -> Result<(), Error> {
    let tried =
        || format!("compile the stub {name} (a C compiler is needed: gcc or clang, as `cc` or in CC)");
    let code = folder.join(format!("{name}.c"));
    fs::write(&code, source(symbols)).tried(tried)?;
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut command = Command::new(compiler);
    command.args(["-w", "-fno-builtin", "-shared", "-fPIC", "-O1", "-nostdlib"]);
    command.arg(format!("-Wl,-soname,{name}"));
    let script = version_script(symbols);
    if !script.is_empty() {
        let path = folder.join(format!("{name}.map"));
        fs::write(&path, script).tried(tried)?;
        command.arg(format!("-Wl,--version-script={}", path.display()));
    }
    let output = command
        .arg("-o")
        .arg(folder.join(name))
        .arg(&code)
        .output()
        .tried(tried)?;
    match output.status.success() {
        true => Ok(()),
        false => Err(Error::new(tried(), String::from_utf8_lossy(&output.stderr))),
    }
}

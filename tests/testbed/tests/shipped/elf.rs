// SPDX-License-Identifier: Apache-2.0
//! What the dynamic linker reads in a library: the names it gives, the names it asks for, the libraries it needs.

use object::elf::{DT_NEEDED, FileHeader64, PT_LOAD, SHT_DYNSYM, STB_WEAK};
use object::endian::Endianness;
use object::read::elf::{FileHeader, ProgramHeader, Sym};

type Header = FileHeader64<Endianness>;

/// A name that the library asks for.
#[derive(Debug)]
pub struct Import {
    pub name: String,
    pub weak: bool,
    /// The symbol version, such as `GLIBC_2.34`.
    pub version: Option<String>,
}

/// The dynamic part of a shared library.
#[derive(Debug, Default)]
pub struct Dynamic {
    pub exports: Vec<String>,
    pub imports: Vec<Import>,
    pub needed: Vec<String>,
    /// How long the file is when all that is not loaded is stripped.
    pub loaded_bytes: u64,
}

impl Dynamic {
    pub fn read(data: &[u8]) -> Self {
        read(data).expect("the library is an ELF file")
    }
}

fn read(data: &[u8]) -> object::read::Result<Dynamic> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let header = Header::parse(data)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let symbols = sections.symbols(endian, data, SHT_DYNSYM)?;
    let versions = sections.versions(endian, data)?;
    let mut dynamic = Dynamic::default();
    for (index, symbol) in symbols.enumerate() {
        let name = text(symbol.name(endian, symbols.strings())?);
        if name.is_empty() {
            continue;
        }
        if !symbol.is_undefined(endian) {
            dynamic.exports.push(name);
            continue;
        }
        let version = match &versions {
            Some(table) => table.version(table.version_index(endian, index).index())?,
            None => None,
        };
        dynamic.imports.push(Import {
            name,
            weak: symbol.st_bind() == STB_WEAK,
            version: version.map(|version| text(version.name())),
        });
    }
    let table = sections.dynamic_table(endian, data)?;
    for entry in table.iter().filter(|entry| entry.tag == DT_NEEDED) {
        dynamic.needed.push(text(table.string(entry)?));
    }
    let segments = header
        .program_headers(endian, data)?
        .iter()
        .filter(|one| one.p_type(endian) == PT_LOAD);
    dynamic.loaded_bytes = segments
        .map(|one| one.p_offset(endian) + one.p_filesz(endian))
        .max()
        .unwrap_or(0);
    Ok(dynamic)
}

// SPDX-License-Identifier: Apache-2.0
//! A module's library and a Mesos program, read without being loaded: what the one exports and was built for, and which
//! Mesos the other is linked to. To load a library is to run it, and this is for one that may be the wrong one.

use crate::domain::elf;
use crate::tool::check::facts::LibraryFacts;
use crate::tool::modules::PREFIX;
use object::elf::{DT_NEEDED, FileHeader64, PT_LOAD, R_X86_64_RELATIVE, SHT_DYNSYM};
use object::endian::Endianness;
use object::read::elf::{FileHeader, ProgramHeader, Rela, SectionHeader, Sym};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

type Header = FileHeader64<Endianness>;

/// More than any library with all its debug information.
const LARGEST: u64 = 1 << 30;
/// Where in a module's record the release of Mesos is: its second pointer.
const RELEASE_AT: u64 = 8;
/// The longest release that is read.
const LONGEST_RELEASE: usize = 64;

/// What is known of a module's library.
pub(super) fn facts(path: &Path) -> LibraryFacts {
    let data = match contents(path) {
        Ok(data) => data,
        Err(error) => return LibraryFacts::Unreadable(error.to_string()),
    };
    let wrong = |why: String| LibraryFacts::NotElf(why);
    match data.get(..elf::HEADER).and_then(elf::class) {
        None => return wrong("it is no ELF file".to_owned()),
        Some(class) if class.machine != elf::Machine::OWN || class.bits != elf::Bits::Bits64 => {
            return wrong("it is for another kind of machine".to_owned());
        }
        Some(_) => {}
    }
    match exported(&data) {
        Ok((modules, mesos_release)) => LibraryFacts::Elf {
            path: path.to_owned(),
            modules,
            mesos_release,
        },
        Err(error) => wrong(format!("it is damaged: {error}")),
    }
}

/// The release of Mesos that a program is linked to, from the name of the library that it needs.
pub(super) fn mesos_release(program: &Path) -> Option<String> {
    let data = contents(program).ok()?;
    let needed = needed(&data).ok()?;
    needed.iter().find_map(|name| {
        let release = name.strip_prefix("libmesos-")?.split(".so").next()?;
        release
            .starts_with(|c: char| c.is_ascii_digit())
            .then(|| release.to_owned())
    })
}

fn contents(path: &Path) -> io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    if found.len() > LARGEST {
        return Err(io::Error::other(format!("it is larger than {LARGEST} bytes")));
    }
    let mut data = Vec::new();
    File::open(path)?.take(LARGEST).read_to_end(&mut data)?;
    Ok(data)
}

/// The names of modules that the library exports, and the release of Mesos in the record of the first.
fn exported(data: &[u8]) -> object::read::Result<(Vec<String>, Option<String>)> {
    let header = Header::parse(data)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let symbols = sections.symbols(endian, data, SHT_DYNSYM)?;
    let (mut names, mut release) = (Vec::new(), None);
    for symbol in symbols.iter().filter(|symbol| !symbol.is_undefined(endian)) {
        let name = String::from_utf8_lossy(symbol.name(endian, symbols.strings())?).into_owned();
        if name.starts_with(PREFIX) {
            release = release.or_else(|| text_pointed_to(data, symbol.st_value(endian) + RELEASE_AT));
            names.push(name);
        }
    }
    names.sort();
    Ok((names, release))
}

/// The text that the pointer at an address will point to when the library is loaded.
fn text_pointed_to(data: &[u8], address: u64) -> Option<String> {
    let header = Header::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, data).ok()?;
    let mut target = None;
    for section in sections.iter() {
        let Ok(Some((relocations, _))) = section.rela(endian, data) else {
            continue;
        };
        let at = relocations
            .iter()
            .find(|one| one.r_offset(endian) == address && one.r_type(endian, false) == R_X86_64_RELATIVE);
        target = target.or_else(|| at.and_then(|one| u64::try_from(one.r_addend(endian)).ok()));
    }
    let bytes = at_address(data, target?)?;
    let text = bytes.split(|byte| *byte == 0).next()?;
    let printable = text.len() <= LONGEST_RELEASE && text.iter().all(u8::is_ascii_graphic);
    (printable && !text.is_empty()).then(|| String::from_utf8_lossy(text).into_owned())
}

/// The bytes from an address to the end of its segment.
fn at_address(data: &[u8], address: u64) -> Option<&[u8]> {
    let header = Header::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, data).ok()?;
    segments
        .iter()
        .filter(|segment| segment.p_type(endian) == PT_LOAD)
        .find_map(|segment| {
            let skipped = address.checked_sub(segment.p_vaddr(endian))?;
            let bytes = segment.data(endian, data).ok()?;
            bytes
                .get(usize::try_from(skipped).ok()?..)
                .filter(|rest| !rest.is_empty())
        })
}

fn needed(data: &[u8]) -> object::read::Result<Vec<String>> {
    let header = Header::parse(data)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let table = sections.dynamic_table(endian, data)?;
    let mut names = Vec::new();
    for entry in table.iter().filter(|entry| entry.tag == DT_NEEDED) {
        names.push(String::from_utf8_lossy(table.string(entry)?).into_owned());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_library_is_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("text.so");
        fs::write(&text, "no library, but long enough for a header\n").unwrap();
        assert_eq!(facts(&text), LibraryFacts::NotElf("it is no ELF file".to_owned()));
        assert!(matches!(
            facts(&folder.path().join("none")),
            LibraryFacts::Unreadable(_)
        ));
        assert!(matches!(facts(folder.path()), LibraryFacts::Unreadable(_)));
        assert_eq!(mesos_release(&text), None);
    }

    #[test]
    fn a_library_that_is_cut_short_is_no_reason_to_end() {
        let whole = fs::read(std::env::current_exe().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let cut = folder.path().join("cut.so");
        for length in [64, 4096, whole.len() / 2] {
            fs::write(&cut, &whole[..length]).unwrap();
            assert!(!matches!(facts(&cut), LibraryFacts::Elf { ref modules, .. } if !modules.is_empty()));
        }
    }
}

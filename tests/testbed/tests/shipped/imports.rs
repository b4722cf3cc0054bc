// SPDX-License-Identifier: Apache-2.0
//! The names that the library asks for, by where they come from, and how new a system they ask for.

use std::collections::BTreeSet;

use super::elf::Import;
use super::library::repository;

/// The families of symbol versions that a system's own C and C++ run time has.
const SYSTEM: [&str; 4] = ["GLIBC", "GLIBCXX", "CXXABI", "GCC"];

/// The names that cpp/imports.hpp says the library takes from Mesos.
pub fn listed() -> BTreeSet<String> {
    let header = repository("cpp/imports.hpp");
    let (_, list) = header
        .split_once("IMPORTS[] = {")
        .expect("cpp/imports.hpp has IMPORTS");
    let (list, _) = list.split_once("};").expect("IMPORTS ends");
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether a name is C++ that no system has a version of: one of Mesos, or a mistake.
pub fn is_foreign_cpp(import: &Import) -> bool {
    import.version.is_none() && import.name.starts_with("_Z")
}

/// Whether a name comes from the system, for sure.
pub fn is_of_the_system(import: &Import) -> bool {
    let family = import
        .version
        .as_deref()
        .and_then(|version| version.split_once('_'));
    family.is_some_and(|(family, _)| SYSTEM.contains(&family))
}

/// The highest version of a family that is asked for, with a name that asks for it.
pub fn highest<'a>(imports: &'a [Import], family: &str) -> Option<(Version, &'a str)> {
    let asked = imports.iter().filter_map(|import| {
        let (of, number) = import.version.as_deref()?.split_once('_')?;
        (of == family).then(|| Some((Version::parse(number)?, import.name.as_str())))?
    });
    asked.max_by_key(|(version, _)| *version)
}

/// A version such as `2.34`, in the order of versions: 2.4 is below 2.34.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version([u32; 3]);

impl Version {
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self([major, minor, patch])
    }

    /// None where it is not numbers alone (`GLIBC_PRIVATE`).
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = [0; 3];
        for (i, part) in text.split('.').enumerate() {
            *parts.get_mut(i)? = part.parse().ok()?;
        }
        Some(Self(parts))
    }

    /// Of the glibc that runs this test, which is the one that the library was linked with.
    pub fn of_this_glibc() -> Self {
        // SAFETY: it takes nothing and answers a NUL-terminated constant of the C library.
        let text = unsafe { std::ffi::CStr::from_ptr(nix::libc::gnu_get_libc_version()) };
        Self::parse(text.to_str().unwrap()).expect("glibc's version is numbers")
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}")?;
        if patch == 0 { Ok(()) } else { write!(f, ".{patch}") }
    }
}

#[test]
fn versions_are_ordered_as_numbers() {
    let version = |text| Version::parse(text).unwrap();
    assert!(version("2.4") < version("2.34"));
    assert!(version("2.2.5") < version("2.3"));
    assert_eq!(version("3.4.29"), Version::new(3, 4, 29));
    assert_eq!(Version::parse("PRIVATE"), None);
    assert_eq!(
        (version("2.34").to_string(), version("2.2.5").to_string()),
        ("2.34".to_owned(), "2.2.5".to_owned())
    );
}

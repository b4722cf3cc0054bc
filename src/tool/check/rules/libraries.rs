// SPDX-License-Identifier: Apache-2.0
//! Whether modules.json names libraries that are there, and modules that these have.

use super::{
    LIBRARY_FOR_ANOTHER_MESOS, LIBRARY_MISSING, LIBRARY_NOT_ELF, LIBRARY_NOT_FOUND, LIBRARY_UNNAMED,
    LIBRARY_WITHOUT_MODULE, MODULE_REPEATED, MODULE_UNKNOWN,
};
use crate::tool::check::Case;
use crate::tool::check::facts::LibraryFacts;
use crate::tool::check::manifest::Library;
use crate::tool::finding::Finding;
use crate::tool::modules::{self, MODULES};

pub(crate) fn check(case: Case<'_>, findings: &mut Vec<Finding>) {
    let libraries = &case.settings.manifest.libraries;
    repeated(libraries, findings);
    let facts = case
        .facts
        .libraries
        .iter()
        .chain(std::iter::repeat(&LibraryFacts::Unknown));
    for (library, facts) in libraries
        .iter()
        .zip(facts)
        .filter(|(library, _)| library.is_ours())
    {
        unknown(library, findings);
        file(library, facts, findings);
        if let LibraryFacts::Elf {
            path,
            modules,
            mesos_release,
        } = facts
        {
            exports(library, &path.display().to_string(), modules, findings);
            if let (Some(built), Some(runs)) = (mesos_release, &case.facts.mesos_release)
                && built != runs
            {
                findings.push(Finding::of(
                    LIBRARY_FOR_ANOTHER_MESOS,
                    format!(
                        "{} was built for Mesos {built}, and the program is of Mesos {runs}",
                        path.display()
                    ),
                    format!("install the library that is built for Mesos {runs}: Mesos loads no other"),
                ));
            }
        }
    }
}

fn file(library: &Library, facts: &LibraryFacts, findings: &mut Vec<Finding>) {
    let Some(asked) = library.asked_for() else {
        let names: Vec<&str> = library
            .modules
            .iter()
            .map(|module| module.name.as_str())
            .collect();
        return findings.push(Finding::of(
            LIBRARY_UNNAMED,
            format!(
                "the library of {} has neither \"file\" nor \"name\"",
                names.join(", ")
            ),
            "give it \"file\" with the whole path of libmesos_gpu.so, or \"name\": \"mesos_gpu\"",
        ));
    };
    let found = match facts {
        LibraryFacts::NotFound => Finding::of(
            LIBRARY_NOT_FOUND,
            format!("{asked} is in none of the places where the loader looks"),
            "give the whole path as \"file\", or run ldconfig after installing it",
        ),
        LibraryFacts::Unreadable(why) => Finding::of(
            LIBRARY_MISSING,
            format!("cannot read the library {asked}: {why}"),
            "install the library there, or correct \"file\" in modules.json",
        ),
        LibraryFacts::NotElf(why) => Finding::of(
            LIBRARY_NOT_ELF,
            format!("{asked} is no library that can be loaded: {why}"),
            "put libmesos_gpu.so there, built for this machine",
        ),
        LibraryFacts::Unknown | LibraryFacts::Elf { .. } => return,
    };
    findings.push(found);
}

fn unknown(library: &Library, findings: &mut Vec<Finding>) {
    for module in library
        .modules
        .iter()
        .filter(|module| modules::named(&module.name).is_none())
    {
        let names = MODULES.map(|module| module.name).join(", ");
        findings.push(Finding::of(
            MODULE_UNKNOWN,
            format!(
                "modules.json names {:?}, which is no module of this library; there are {names}",
                module.name
            ),
            format!("write {}", modules::nearest(&module.name)),
        ));
    }
}

fn exports(library: &Library, path: &str, exported: &[String], findings: &mut Vec<Finding>) {
    let missing = |name: &&str| modules::named(name).is_some() && !exported.iter().any(|one| one == name);
    let names = library.modules.iter().map(|module| module.name.as_str());
    let missing: Vec<&str> = names.filter(missing).collect();
    if missing.is_empty() {
        return;
    }
    let has = if exported.is_empty() {
        "none of this library's modules".to_owned()
    } else {
        format!("only {}", exported.join(", "))
    };
    findings.push(Finding::of(
        LIBRARY_WITHOUT_MODULE,
        format!("{path} does not export {}: it has {has}", missing.join(", ")),
        "install a libmesos_gpu.so that has them, or take them out of modules.json",
    ));
}

/// Mesos takes a module that is named twice only where nothing differs.
fn repeated(libraries: &[Library], findings: &mut Vec<Finding>) {
    let all: Vec<_> = libraries
        .iter()
        .flat_map(|library| {
            library
                .modules
                .iter()
                .map(move |module| (library.asked_for(), module))
        })
        .filter(|(_, module)| modules::is_meant(&module.name))
        .collect();
    for (nth, (file, module)) in all.iter().enumerate() {
        let first = all[..nth].iter().find(|(_, other)| other.name == module.name);
        if let Some((other_file, other)) = first
            && (other_file != file || other.parameters != module.parameters)
        {
            findings.push(Finding::of(
                MODULE_REPEATED,
                format!(
                    "modules.json names {} twice, with different libraries or parameters",
                    module.name
                ),
                "name it once",
            ));
        }
    }
}

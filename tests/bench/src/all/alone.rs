// SPDX-License-Identifier: Apache-2.0
//! The parts that need no agent: the allocator beside the one it stands around, the estimator's work on the agent thread, and
//! the size of the library.

use std::fs;
use std::path::Path;

use object::{Object, ObjectSection, ObjectSegment, SectionFlags};

use super::goal::Goal;
use super::options::Options;
use super::report::{Samples, what};
use crate::allocator::{self, Allocator, Scenario};
use crate::rounds::turned;
use crate::sampling::{self, Case};
use crate::variant::Variant;
use testbed::{Error, Testbed};

const FRAMEWORKS: usize = 100;
const CYCLES: usize = 10;
const WARM_UP: usize = 10;
const LOOKS: usize = 500;
/// The library without symbols, in mebibytes.
const MOST_MEBIBYTES: f64 = 4.0;

/// Allocation cycles. What stands for "gpu/nvidia" is Mesos's allocator that does the same work as the module's policy: with
/// its GPU filter for `strict`, and without for `share`. They take turns in one process.
pub fn allocator(options: &Options, samples: &mut Samples) -> Result<(), Error> {
    const POLICIES: [Allocator; 2] = [Allocator::Strict, Allocator::Share];
    let measured = allocator::Options {
        agents: vec![options.agents],
        frameworks: FRAMEWORKS,
        cycles: CYCLES,
        warm_up: WARM_UP,
        rounds: options.rounds,
        variants: POLICIES.to_vec(),
        json: None,
    };
    let whats = |policy: Allocator| {
        let goal = |what: super::report::What| match policy.goal() {
            Some(limit) => what.goal(Goal::TimesBuiltIn(limit)),
            None => what,
        };
        let of = |figure: &str| format!("allocator cycle, {}, {figure}", policy.name());
        (goal(what(of("elapsed"), "ms")), goal(what(of("processor"), "ms")))
    };
    for round in 0..options.rounds {
        for at in turned(POLICIES.len(), round) {
            let pair = allocator::once(&measured, POLICIES[at], options.agents, Scenario::Hold, round)?;
            let (elapsed, processor) = whats(POLICIES[at]);
            for (sample, variant) in [(pair.own, Variant::Ours), (pair.beside, Variant::BuiltIn)] {
                samples.add(&elapsed, variant, sample.to_drained);
                samples.add(&processor, variant, sample.cpu);
            }
        }
    }
    Ok(())
}

/// What a look at the use of the GPUs and an answer to Mesos cost the agent thread.
pub fn estimator(samples: &mut Samples) -> Result<(), Error> {
    let taken = sampling::measure(Case::Guests, LOOKS)?;
    for (name, figures) in [("a look", &taken.looks), ("an answer", &taken.answers)] {
        let what = what(format!("estimator, {name}, 16 GPUs with guests"), "ms").goal(Goal::NinetyNinth(1.0));
        for figure in figures {
            samples.add(&what, Variant::Ours, *figure);
        }
    }
    Ok(())
}

/// What is left of the library's file without its symbols.
pub fn size(samples: &mut Samples) -> Result<(), Error> {
    let library = Testbed::module_library()?;
    let bytes = stripped(&library).map_err(|e| Error::new(format!("measure {}", library.display()), e))?;
    let what = what("library, stripped", "MiB").goal(Goal::Median(MOST_MEBIBYTES));
    #[allow(clippy::cast_precision_loss)] // It is not that large.
    samples.add(&what, Variant::Ours, bytes as f64 / f64::from(1 << 20));
    Ok(())
}

/// What `strip` leaves of an ELF file: all that is loaded, the sections that are neither symbols nor debug information, and
/// the table of those. The program itself need not be there.
fn stripped(file: &Path) -> std::io::Result<u64> {
    const HEADER: u64 = 64;
    let image = fs::read(file)?;
    let parsed = object::File::parse(&*image).map_err(std::io::Error::other)?;
    let ends = parsed.segments().map(|segment| {
        let (begin, size) = segment.file_range();
        begin + size
    });
    let is_kept = |section: &object::Section<'_, '_>| {
        let name = section.name().unwrap_or_default();
        let goes = [".symtab", ".strtab"].contains(&name) || name.starts_with(".debug");
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
            return false;
        };
        !goes && !sh_flags.contains(object::elf::SHF_ALLOC)
    };
    let (mut kept, mut headers) = (0, 1);
    for section in parsed.sections() {
        if is_kept(&section) {
            kept += section.size();
        }
        headers += 1;
    }
    Ok(ends.max().unwrap_or_default() + kept + headers * HEADER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_library_without_symbols_is_as_large_as_what_strip_leaves() {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("stripped");
        let program = Testbed::program().unwrap();
        let strip = Command::new("strip").arg("-o").arg(&copy).arg(&program).status();
        if !strip.is_ok_and(|status| status.success()) {
            return testbed::support::skip("bench all: strip, to compare with");
        }
        let (told, left) = (stripped(&program).unwrap(), fs::metadata(&copy).unwrap().len());
        assert!(told.abs_diff(left) < 1024, "{told} and {left}");
        assert!(stripped(Path::new("/proc/version")).is_err());
    }
}

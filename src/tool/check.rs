// SPDX-License-Identifier: Apache-2.0
//! `check`: what would refuse or surprise when an agent or a master starts, found before it starts.
//!
//! Three steps: what is asked about ([`subject`]), what that makes of settings ([`settings`], the modules' own reading),
//! and what the machine is like ([`facts`], read by [`crate::tool::machine`]). From these three the [`rules`] judge, and
//! they touch nothing.

pub mod facts;
pub mod manifest;
pub mod rules;
pub mod settings;
pub mod subject;

use crate::tool::finding::Finding;
use facts::Facts;
use settings::Settings;
use subject::Subject;

/// What the rules look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case<'a> {
    /// What is asked about.
    pub subject: &'a Subject,
    /// What that says.
    pub settings: &'a Settings,
    /// What the machine is like.
    pub facts: &'a Facts,
}

/// Everything that would refuse or surprise. `read` gives the facts of the machine that the settings ask for.
pub fn findings(subject: &Subject, read: impl FnOnce(&Subject, &Settings) -> Facts) -> Vec<Finding> {
    let (settings, mut findings) = Settings::of(subject);
    let facts = read(subject, &settings);
    let case = Case {
        subject,
        settings: &settings,
        facts: &facts,
    };
    let rules: [fn(Case<'_>, &mut Vec<Finding>); 11] = [
        rules::libraries::check,
        rules::flags::check,
        rules::named::check,
        rules::isolation::check,
        rules::resources::check,
        rules::host::check,
        rules::places::check,
        rules::driver::check,
        rules::effect::check,
        rules::oversubscription::check,
        rules::allocator::check,
    ];
    for rule in rules {
        rule(case, &mut findings);
    }
    findings
}

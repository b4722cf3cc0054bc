// SPDX-License-Identifier: Apache-2.0
//! `testbed master`: Mesos's master with Mesos's flags.

use std::ffi::OsStr;

use super::agent::listen;
use super::flags::{self, Flags};
use super::{leash, modules};
use crate::base::Base;
use crate::error::Error;
use crate::native::{self, Mesos};

/// Mesos's own allocator, by its old name and its new one.
const BUILT_IN: [&str; 2] = ["HierarchicalDRF", "hierarchical"];

pub(super) fn main(arguments: &[String]) -> Result<(), Error> {
    let flags = Flags::parse(arguments.get(1..).unwrap_or_default())?;
    let work_dir = flags.require("work_dir")?;
    let allocator = match flags.get("allocator") {
        Some(name) if !BUILT_IN.contains(&name.as_str()) => Some((modules::find(&flags, &name)?, name)),
        _ => None,
    };
    listen(&flags, "5050");
    // The master that the library can launch reads its flags from the environment only. It would load the modules
    // once more, which Mesos refuses, and it does not initialize hooks.
    for (name, value) in flags.given() {
        native::set_variable(&flags::variable(name), OsStr::new(value));
    }
    for name in ["modules", "modules_dir", "hooks"] {
        native::remove_variable(&flags::variable(name));
    }
    leash::take()?;
    let mesos = Mesos::open(&Base::obtain()?)?;
    mesos.initialize("testbed-master", "master", "master")?;
    modules::load(&mesos, &flags)?;
    let allocator = allocator.as_ref();
    mesos.master(
        &work_dir,
        allocator.map(|(module, name)| {
            (
                module.library.as_str(),
                name.as_str(),
                module.parameters.as_slice(),
            )
        }),
    )
}

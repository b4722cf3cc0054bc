// SPDX-License-Identifier: Apache-2.0
//! `testbed allocator-race`: agents go and come back under their ids while an allocator offers them, in this process. It is a
//! process of its own because Mesos ends the one in which an allocator gives back too much.

use serde_json::json;

use super::flags::Flags;
use super::modules;
use crate::base::Base;
use crate::error::{Error, Tried};
use crate::native::Mesos;
use crate::native::allocator_race::Settings;

pub(super) fn main(arguments: &[String]) -> Result<(), Error> {
    let flags = Flags::parse(arguments.get(1..).unwrap_or_default())?;
    let name = flags
        .get("allocator")
        .ok_or_else(|| Error::new("race an allocator", "--allocator does not name one"))?;
    let module = modules::find(&flags, &name)?;
    let settings = Settings {
        allocator: (&module.library, &name, &module.parameters),
        agents: read(&flags, "agents", 200)?,
        frameworks: read(&flags, "frameworks", 3)?,
        rounds: read(&flags, "rounds", 100)?,
    };
    let mesos = Mesos::open(&Base::obtain()?)?;
    modules::load(&mesos, &flags)?;
    let (offered, gpus) = mesos.allocator_race(&settings)?;
    println!("{}", json!({"offered": offered, "gpus": gpus}));
    Ok(())
}

fn read(flags: &Flags, name: &str, default: usize) -> Result<usize, Error> {
    match flags.get(name) {
        Some(value) => value.parse().tried(|| format!("take --{name}={value}")),
        None => Ok(default),
    }
}

// SPDX-License-Identifier: Apache-2.0
//! `testbed allocator-bench`: allocation cycles of one allocator in this process, in turns with Mesos's own if that is
//! asked for, and what they took as JSON. It is a process of its own because neither an allocator nor a module ever leaves
//! one.

use std::str::FromStr;

use super::flags::Flags;
use super::modules;
use crate::base::Base;
use crate::error::{Error, Tried};
use crate::native::Mesos;
use crate::native::allocator_bench::Settings;

pub(super) fn main(arguments: &[String]) -> Result<(), Error> {
    let flags = Flags::parse(arguments.get(1..).unwrap_or_default())?;
    let module = match flags.get("allocator") {
        Some(name) => Some((modules::find(&flags, &name)?, name)),
        None => None,
    };
    let settings = Settings {
        allocator: module.as_ref().map(|(module, name)| {
            (
                module.library.as_str(),
                name.as_str(),
                module.parameters.as_slice(),
            )
        }),
        filter_gpu_resources: read(&flags, "filter_gpu_resources", true)?,
        decline: read(&flags, "decline", false)?,
        agents: read(&flags, "agents", 1000)?,
        frameworks: at_least_one(&flags, "frameworks", 100)?,
        roles: at_least_one(&flags, "roles", 10)?,
        warm_up: read(&flags, "warm_up", 3)?,
        cycles: read(&flags, "cycles", 20)?,
        beside: match flags.get("beside_filter_gpu_resources") {
            Some(_) => Some(read(&flags, "beside_filter_gpu_resources", true)?),
            None => None,
        },
        beside_is_first: read(&flags, "beside_is_first", false)?,
    };
    let mesos = Mesos::open(&Base::obtain()?)?;
    modules::load(&mesos, &flags)?;
    let measured = mesos.allocator_bench(&settings)?;
    println!(
        "{}",
        serde_json::to_string(&measured).tried(|| "write the figures as JSON".to_owned())?
    );
    Ok(())
}

fn read<T: FromStr>(flags: &Flags, name: &str, default: T) -> Result<T, Error> {
    match flags.get(name) {
        Some(value) => value.parse().map_err(|_| {
            let kind = std::any::type_name::<T>();
            Error::new(format!("take --{name}={value}"), format!("it is no {kind}"))
        }),
        None => Ok(default),
    }
}

fn at_least_one(flags: &Flags, name: &str, default: usize) -> Result<usize, Error> {
    match read(flags, name, default)? {
        0 => Err(Error::new(format!("take --{name}=0"), "it must be at least 1")),
        some => Ok(some),
    }
}

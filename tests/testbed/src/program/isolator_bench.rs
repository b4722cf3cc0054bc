// SPDX-License-Identifier: Apache-2.0
//! `testbed isolator-bench`: an agent's start without an agent. It takes an agent's flags, loads the same modules in the same
//! way, and then makes the isolator's calls itself, as the agent would for containers that live and die; what each took
//! goes to a file as JSON. The containers have real device cgroups and no processes, so there can be a thousand of them.

mod containers;

use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use serde::Serialize;

use super::flags::Flags;
use super::{agent, leash, modules};
use crate::base::Base;
use crate::error::{Error, Tried};
use crate::native::Mesos;
use crate::native::isolator_bench::Isolator;
use containers::Containers;

/// The module whose calls are made.
const MODULE: &str = "mesos_gpu_Isolator";
/// Before a launch that is measured: the GPUs of the one before are free again, as they are between launches on an agent.
const SETTLED: Duration = Duration::from_millis(20);
/// Launches before those that count: the first one starts what later ones find.
const WARM_UP: usize = 5;

/// What came of it. All times are microseconds.
#[derive(Debug, Default, Serialize)]
struct Measured {
    /// Making the isolator: its share of the agent's start.
    create: f64,
    /// `recover`, with so many containers.
    recover: f64,
    recovered: usize,
    launches: Vec<Launched>,
}

/// One container.
#[derive(Debug, Serialize)]
struct Launched {
    gpus: u32,
    image: bool,
    prepare: f64,
    isolate: f64,
    /// The first `update`, to what the container has already.
    update: f64,
    /// One to one GPU more, where one is left.
    grow: Option<f64>,
    cleanup: f64,
}

pub(super) fn main(arguments: &[String]) -> Result<(), Error> {
    let flags = Flags::parse(arguments.get(1..).unwrap_or_default())?;
    let out = flags.require("out")?;
    agent::enter_simulation()?;
    leash::take()?;
    let mesos = Mesos::open(&Base::obtain()?)?;
    modules::load(&mesos, &flags)?;
    let module = modules::find(&flags, MODULE)?;
    let (isolator, create) = mesos.isolator(&module.library, MODULE, &module.parameters)?;
    let measured = measure(&flags, &isolator, create)?;
    let text = serde_json::to_string(&measured).tried(|| "write the figures as JSON".to_owned())?;
    fs::write(&out, text).tried(|| format!("write {out}"))
}

fn measure(flags: &Flags, isolator: &Isolator, create: f64) -> Result<Measured, Error> {
    let containers = Containers::of(flags)?;
    let recovered: usize = read(flags, "recover", 0)?;
    let states = containers.states(recovered);
    let mut measured = Measured {
        create,
        recover: isolator.recover(&states)?,
        recovered,
        launches: Vec::new(),
    };
    let machine: u32 = read(flags, "machine_gpus", 8)?;
    let leave: usize = read(flags, "leave", 0)?;
    for number in 0..leave {
        let has_one = number < usize::try_from(machine).unwrap_or(0);
        let id = Containers::name(number);
        containers.make_cgroup(&id)?;
        isolator.prepare(&id, &Containers::config(u32::from(has_one), None))?;
        isolator.isolate(&id, Containers::pid())?;
    }
    let launches: usize = read(flags, "launches", 0)?;
    let sizes = flags.get("gpus").unwrap_or_else(|| "1".to_owned());
    for size in sizes.split(',').filter(|_| launches > 0) {
        let gpus = parse("gpus", size)?;
        for number in 0..WARM_UP + launches {
            let launched = launch(isolator, &containers, gpus, None, gpus < machine)?;
            if number >= WARM_UP {
                measured.launches.push(launched);
            }
        }
    }
    if let Some(roots) = flags.get("roots") {
        let tried = || format!("read the folder {roots}");
        for (number, entry) in fs::read_dir(&roots).tried(tried)?.enumerate() {
            let root = entry.tried(tried)?.path();
            let launched = launch(isolator, &containers, 1, Some(&root), false)?;
            if number >= WARM_UP {
                measured.launches.push(launched);
            }
        }
    }
    Ok(measured)
}

/// A container's whole life.
fn launch(
    isolator: &Isolator,
    containers: &Containers,
    gpus: u32,
    root: Option<&Path>,
    grows: bool,
) -> Result<Launched, Error> {
    std::thread::sleep(SETTLED);
    let id = Containers::fresh_name();
    containers.make_cgroup(&id)?;
    let prepare = isolator.prepare(&id, &Containers::config(gpus, root))?;
    let isolate = isolator.isolate(&id, Containers::pid())?;
    let update = isolator.update(&id, f64::from(gpus))?;
    let grow = match grows {
        true => Some(isolator.update(&id, f64::from(gpus + 1))?),
        false => None,
    };
    let cleanup = isolator.cleanup(&id)?;
    containers.remove_cgroup(&id)?;
    Ok(Launched {
        gpus,
        image: root.is_some(),
        prepare,
        isolate,
        update,
        grow,
        cleanup,
    })
}

fn read<T: FromStr>(flags: &Flags, name: &str, default: T) -> Result<T, Error> {
    flags.get(name).map_or(Ok(default), |text| parse(name, &text))
}

fn parse<T: FromStr>(name: &str, text: &str) -> Result<T, Error> {
    let kind = std::any::type_name::<T>();
    text.parse()
        .map_err(|_| Error::new(format!("take --{name}={text}"), format!("it is no {kind}")))
}

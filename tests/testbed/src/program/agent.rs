// SPDX-License-Identifier: Apache-2.0
//! `testbed agent`: Mesos's agent with Mesos's flags.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use super::flags::Flags;
use super::{leash, modules};
use crate::base::Base;
use crate::bed::launcher;
use crate::error::{Error, Tried};
use crate::native::{self, Mesos};

/// Names the folder of a simulated NVIDIA machine, in which the agent then runs.
pub(crate) const SIMULATION: &str = "TESTBED_SIMULATION";

/// Names a loader's cache that this agent sees in place of the machine's.
pub(crate) const LOADER_CACHE: &str = "TESTBED_LOADER_CACHE";

const MESOS_RUN: &str = "/var/run/mesos";

pub(super) fn main(arguments: &[String]) -> Result<(), Error> {
    let flags = Flags::parse(arguments.get(1..).unwrap_or_default())?;
    let (master, work_dir) = (flags.require("master")?, flags.require("work_dir")?);
    enter_simulation()?;
    if let Some(file) = std::env::var_os(LOADER_CACHE) {
        see_loader_cache(Path::new(&file))?;
    }
    listen(&flags, "5051");
    leash::take()?;
    let base = Base::obtain()?;
    let arguments = with_defaults(arguments, &flags, Path::new(&work_dir), &base)?;
    let mesos = Mesos::open(&base)?;
    let id = mesos.agent_id()?;
    mesos.initialize("testbed-agent", &id, "agent")?;
    modules::load(&mesos, &flags)?;
    let (estimator, controller) = (flags.get("resource_estimator"), flags.get("qos_controller"));
    mesos.agent(
        &readable(&arguments)?,
        &id,
        &master,
        &work_dir,
        estimator.as_deref(),
        controller.as_deref(),
    )
}

/// Moves into the simulated machine, where there is one.
pub(super) fn enter_simulation() -> Result<(), Error> {
    // The simulation is a mount namespace, which only a process with one thread can move into as a whole.
    let Some(folder) = std::env::var_os(SIMULATION) else {
        return Ok(());
    };
    let folder = Path::new(&folder);
    fake_nvml::enter(folder).tried(|| format!("enter the simulated machine in {}", folder.display()))?;
    keep_volumes_in(folder)
}

/// What an installed agent has from its installation, for those who give Mesos's flags as its documentation does: helper
/// programs, here links to this one, and no systemd, whose unit this is not.
fn with_defaults(
    arguments: &[String],
    flags: &Flags,
    work_dir: &Path,
    base: &Base,
) -> Result<Vec<String>, Error> {
    let mut all = arguments.to_vec();
    if flags.get("launcher_dir").is_none() {
        let folder = work_dir.join("launcher");
        let program = std::env::current_exe().tried(|| "find the running program".to_owned())?;
        if !folder.exists() {
            launcher::make(&folder, &program, base)?;
        }
        all.push(format!("--launcher_dir={}", folder.display()));
    }
    if flags.get("systemd_enable_support").is_none() {
        all.push("--systemd_enable_support=false".to_owned());
    }
    Ok(all)
}

/// Puts a loader's cache over the machine's, for this process and its children, in a mount namespace of their own.
fn see_loader_cache(file: &Path) -> Result<(), Error> {
    let tried = || format!("see {} as the loader's cache", file.display());
    let none: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS).tried(tried)?;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_SLAVE, none).tried(tried)?;
    mount(Some(file), "/etc/ld.so.cache", none, MsFlags::MS_BIND, none).tried(tried)?;
    keep_volumes_in(file.parent().unwrap_or(Path::new("/")))
}

/// Mesos's own GPU isolator copies the driver to a fixed folder and takes it from there the next time: what a test made
/// must not get there, nor what was there into a test.
fn keep_volumes_in(simulation: &Path) -> Result<(), Error> {
    let tried = || format!("keep driver volumes out of {MESOS_RUN}");
    let private = simulation.join("var-run-mesos");
    fs::create_dir_all(MESOS_RUN).tried(tried)?;
    fs::create_dir_all(&private).tried(tried)?;
    mount(
        Some(&private),
        MESOS_RUN,
        None::<&str>,
        MsFlags::MS_BIND,
        None::<&str>,
    )
    .tried(tried)
}

/// Tells libprocess where to listen: it reads variables of its own.
pub(super) fn listen(flags: &Flags, port: &str) {
    let ip = flags.get("ip").unwrap_or_else(|| "127.0.0.1".to_owned());
    let port = flags.get("port").unwrap_or_else(|| port.to_owned());
    native::set_variable("LIBPROCESS_IP", OsStr::new(&ip));
    native::set_variable("LIBPROCESS_PORT", OsStr::new(&port));
}

/// Mesos takes JSON or `file://`, not the plain path that `--modules` may be here.
fn readable(arguments: &[String]) -> Result<Vec<String>, Error> {
    let arguments = arguments
        .iter()
        .map(|argument| match argument.strip_prefix("--modules=") {
            Some(value) => Ok(format!("--modules={}", modules::text(value)?)),
            None => Ok(argument.clone()),
        });
    arguments.collect()
}

// SPDX-License-Identifier: Apache-2.0
//! One binary under many names: Mesos starts its helpers by their file names in `launcher_dir`, which is a folder of
//! links to this program; a person starts `testbed master`, `agent` or `execute`.

mod agent;
mod allocator_bench;
mod allocator_race;
mod containerizer;
mod flags;
mod isolator_bench;
pub(crate) mod leash;
mod master;
mod modules;
pub(crate) mod switchboard;

pub(crate) use agent::{LOADER_CACHE, SIMULATION};

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::base::Base;
use crate::error::Error;
use crate::native::Mesos;

/// The names of Mesos's helper programs that this one answers to.
pub(crate) const HELPERS: [&str; 4] = [
    "mesos-containerizer",
    "mesos-io-switchboard",
    "mesos-executor",
    "mesos-default-executor",
];

/// The link in a `launcher_dir` that leads to the base: Mesos clears the environment of its helpers, so nothing else
/// could tell them.
pub(crate) const BASE_LINK: &str = "mesos-base";

const USAGE: &str = "usage: testbed master|agent [--flag=value …]
       testbed execute …
       testbed demo        show what tasks see of the GPUs of this machine, or of simulated ones
       testbed obtain      download Mesos and make its stubs
       testbed allocator-bench [--allocator=NAME --modules=… --agents=N --frameworks=N --cycles=N …]
       testbed allocator-race --allocator=NAME --modules=… [--agents=N --frameworks=N --rounds=N]
       testbed real-gpu …  tell the whole story on this machine's GPUs, or on simulated ones
       testbed payload …   put all that this takes on a machine without network into one folder
       testbed isolator-bench --out=FILE [--launches=N --gpus=N,N… …]   with an agent's own flags
       testbed clean       remove what crashed testbeds left behind";

/// Does what the name and the arguments of this process ask for.
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let path = PathBuf::from(arguments.first().map_or("testbed", String::as_str));
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    match name.as_str() {
        "mesos-containerizer" => answer(containerizer::main(&path, &arguments)),
        "mesos-io-switchboard" => answer(switchboard::main(&path, &arguments)),
        "mesos-executor" => crate::executor::main(),
        "mesos-default-executor" => crate::default_executor::main(),
        _ => subcommand(arguments.get(1..).unwrap_or_default()),
    }
}

fn subcommand(arguments: &[String]) -> ExitCode {
    let rest = arguments.get(1..).unwrap_or_default();
    match arguments.first().map(String::as_str) {
        Some("master") => answer(master::main(arguments).map(|()| 0)),
        Some("agent") => answer(agent::main(arguments).map(|()| 0)),
        Some("allocator-bench") => answer(allocator_bench::main(arguments).map(|()| 0)),
        Some("allocator-race") => answer(allocator_race::main(arguments).map(|()| 0)),
        Some("isolator-bench") => answer(isolator_bench::main(arguments).map(|()| 0)),
        Some("execute") => crate::execute::main(rest),
        Some("demo") => crate::demo::main(),
        Some("real-gpu") => crate::real_gpu::main(rest),
        Some("payload") => crate::payload::main(rest),
        Some("probe") => crate::demo::probe::main(),
        Some("obtain") => answer(Base::obtain().map(|base| {
            println!("{}", base.folder().display());
            0
        })),
        Some("clean") => answer(crate::bed::clean_stale().map(|()| 0)),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn answer(result: Result<i32, Error>) -> ExitCode {
    match result {
        // As the shell would see it: only the low byte of an exit status exists.
        Ok(status) => ExitCode::from(status.to_le_bytes()[0]),
        Err(error) => {
            eprintln!("testbed: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Opens Mesos for a helper that was started as `program`.
fn open(program: &Path) -> Result<Mesos, Error> {
    let link = program.with_file_name(BASE_LINK);
    let base = if link.exists() {
        Base::at(&link)
    } else {
        Base::obtain()
    };
    Mesos::open(&base?)
}

// SPDX-License-Identifier: Apache-2.0
//! `mesos-gpu`, the operator's tool: what the modules would find on this machine, without Mesos.

use mesos_gpu::agent::discovery::{Source, describe, discover};
use mesos_gpu::config::Config;
use mesos_gpu::config::flags::MesosFlags;
use mesos_gpu::system::driver_proc::ProcDriver;
use mesos_gpu::system::nvml::NvmlThread;
use std::process::ExitCode;

const HELP: &str = "\
usage: mesos-gpu list [key=value …]

  list        prints the GPUs that an agent on this machine would manage, one a line, with the modules' parameters given
  --version   prints the version
  --help      prints this

exit status: 0 when there are GPUs, 1 when there are none, 2 for a wrong call";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--version"] => println!("mesos-gpu {}", env!("CARGO_PKG_VERSION")),
        ["--help" | "-h"] => println!("{HELP}"),
        ["list", ref parameters @ ..] => match list(parameters) {
            Ok(0) => return ExitCode::from(1),
            Ok(_) => {}
            Err(why) => return wrong(&why),
        },
        _ => return wrong(&format!("cannot take the arguments {arguments:?}\n{HELP}")),
    }
    ExitCode::SUCCESS
}

fn wrong(why: &str) -> ExitCode {
    eprintln!("mesos-gpu: {why}");
    ExitCode::from(2)
}

fn list(parameters: &[&str]) -> Result<usize, String> {
    let pair = |text: &&str| match text.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(format!("cannot take {text:?}: a parameter is key=value")),
    };
    let parameters = parameters.iter().map(pair).collect::<Result<Vec<_>, _>>()?;
    let config = Config::from_parts(&parameters, &MesosFlags::default()).map_err(|e| e.to_string())?;
    let driver = ProcDriver::new(config.proc_dir.clone());
    let nvml = NvmlThread::start(config.nvml_library.clone(), config.nvml_timeout);
    let found = discover(&driver, &nvml, config.discovery_wait);
    for problem in &found.inventory.problems {
        eprintln!("mesos-gpu: {problem}");
    }
    if let Source::Nobody(why) = &found.source {
        eprintln!("mesos-gpu: this machine has no GPU to hand out: {why}");
        return Ok(0);
    }
    let chosen = config
        .gpus
        .choose(found.inventory.units())
        .map_err(|e| format!("parameter gpus: {e}"))?;
    for unit in found
        .inventory
        .units()
        .iter()
        .filter(|unit| chosen.contains(&unit.id))
    {
        println!("{}", describe(unit));
    }
    Ok(chosen.len())
}

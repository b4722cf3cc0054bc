// SPDX-License-Identifier: Apache-2.0
//! `mesos-gpu`, the operator's tool: reads its arguments, asks the library, prints.

#[path = "mesos-gpu/arguments.rs"]
mod arguments;

use arguments::{Arguments, Check, Command, List, Place, Status};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use mesos_gpu::config::{Config, MesosFlags};
use mesos_gpu::tool::check;
use mesos_gpu::tool::check::settings::Settings;
use mesos_gpu::tool::finding::{self, Finding};
use mesos_gpu::tool::list;
use mesos_gpu::tool::machine::process::{Asked, subject};
use mesos_gpu::tool::machine::{facts, gpus, holders};
use mesos_gpu::tool::status::{self, Witnesses};
use serde_json::Value;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The exit status of a wrong call of the newer subcommands: theirs of 1 and 2 tell what was found.
const WRONG_CALL: u8 = 64;
/// That of `list`, whose own are 0 and 1.
const WRONG_LIST: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let newer = arguments
        .get(1)
        .is_some_and(|word| ["check", "status", "completions"].iter().any(|name| word == name));
    let wrong = if newer { WRONG_CALL } else { WRONG_LIST };
    let parsed = match Arguments::try_parse_from(arguments) {
        Ok(parsed) => parsed,
        Err(error) => {
            let asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            // Nobody is left to be told.
            let _ = error.print();
            return ExitCode::from(if asked_for { 0 } else { wrong });
        }
    };
    let done = match &parsed.command {
        Command::List(list) => run_list(list),
        Command::Check(check) => run_check(check),
        Command::Status(status) => run_status(status),
        Command::Completions(shell) => {
            let mut text = Vec::new();
            clap_complete::generate(shell.shell, &mut Arguments::command(), "mesos-gpu", &mut text);
            print(&String::from_utf8_lossy(&text));
            Ok(0)
        }
    };
    match done {
        Ok(status) => ExitCode::from(status),
        Err(why) => {
            complain(&why);
            ExitCode::from(wrong)
        }
    }
}

fn run_list(arguments: &List) -> Result<u8, String> {
    let config = config(&arguments.place)?;
    let found = gpus::find(&config);
    found
        .inventory
        .problems
        .iter()
        .for_each(|problem| complain(problem));
    if let Some(why) = &found.nobody {
        complain(&format!("this machine has no GPU to hand out: {why}"));
        if arguments.json {
            print_json(&list::json(&[], None));
        }
        return Ok(1);
    }
    let units = found.inventory.units();
    let chosen = config
        .gpus
        .choose(units)
        .map_err(|error| format!("parameter gpus: {error}"))?;
    let written = holders::written(&checkpoint_dir(&config));
    let numa = |unit: &mesos_gpu::domain::gpu::Unit| gpus::numa_node(Path::new(gpus::PCI_DEVICES), unit.pci);
    let rows = list::rows(units, &chosen, &found.survey, &written, numa);
    if arguments.json {
        print_json(&list::json(&rows, found.inventory.driver_version.as_deref()));
    } else {
        list::notes(&rows).iter().for_each(|note| complain(note));
        print(&list::text(&rows, colours()));
    }
    Ok(u8::from(rows.is_empty()))
}

fn run_check(arguments: &Check) -> Result<u8, String> {
    let asked = match (arguments.pid, &arguments.command[..]) {
        (Some(pid), _) => Asked::Pid(pid),
        (None, []) => Asked::Nothing,
        (None, command) => Asked::Command(command.to_vec()),
    };
    if asked == Asked::Nothing && arguments.modules.is_none() {
        return Err(
            "nothing to check: give --modules=FILE, --pid=PID, or a command line after --".to_owned(),
        );
    }
    let subject = subject(arguments.modules.as_deref(), &asked)?;
    let findings = check::findings(&subject, facts::of_this_machine);
    show(&findings, arguments.json);
    Ok(finding::exit_status(&findings))
}

fn show(findings: &[Finding], json: bool) {
    if json {
        print_json(&serde_json::json!({ "findings": finding::json(findings) }));
    } else {
        print(&finding::text(findings, colours()));
    }
}

fn run_status(arguments: &Status) -> Result<u8, String> {
    let config = match arguments.pid {
        Some(pid) => {
            let subject = subject(None, &Asked::Pid(pid))?;
            let none = || format!("process {pid} has no module of this library that keeps books");
            Settings::of(&subject).0.agent.ok_or_else(none)?
        }
        None => config(&arguments.place)?,
    };
    let found = gpus::find(&config);
    found
        .inventory
        .problems
        .iter()
        .for_each(|problem| complain(problem));
    if let Some(why) = &found.nobody {
        complain(&format!("this machine has no GPU to hand out: {why}"));
    }
    let folder = checkpoint_dir(&config);
    let witnesses = Witnesses {
        units: found.inventory.units().to_vec(),
        written: holders::written(&folder),
        granted: holders::granted(&config, &found),
        processes: holders::processes(&config, &found),
    };
    let findings = status::judge(&witnesses, &holders::checkpoint_in(&folder).display().to_string());
    if arguments.json {
        print_json(&status::json(&witnesses, &findings));
    } else {
        print(&status::text(&witnesses, &findings, colours()));
    }
    Ok(finding::exit_status(&findings))
}

/// The settings of an agent with these parameters.
fn config(place: &Place) -> Result<Config, String> {
    let pair = |text: &String| match text.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(format!("cannot take {text:?}: a parameter is key=value")),
    };
    let mut parameters = place.parameters.iter().map(pair).collect::<Result<Vec<_>, _>>()?;
    if let Some(folder) = &place.checkpoint_dir {
        parameters.push(("checkpoint_dir".to_owned(), folder.clone()));
    }
    let mut argv = vec![String::new()];
    argv.extend(place.work_dir.iter().map(|folder| format!("--work_dir={folder}")));
    let flags = MesosFlags::parse(&argv, &[], &|_| Err(io::ErrorKind::NotFound.into()));
    Config::from_parts(&parameters, &flags).map_err(|error| error.to_string())
}

fn checkpoint_dir(config: &Config) -> PathBuf {
    let usual = || PathBuf::from(holders::USUAL_CHECKPOINT_DIR);
    config.checkpoint_dir.clone().unwrap_or_else(usual)
}

/// Whether there is somebody to see colours, and who has not asked for none.
fn colours() -> bool {
    let none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    io::stdout().is_terminal() && !none && !dumb
}

/// A reader that went away, such as head, is no failure.
fn print(text: &str) {
    let _ = io::stdout().lock().write_all(text.as_bytes());
}

fn print_json(value: &Value) {
    print(&format!("{value:#}\n"));
}

fn complain(why: &str) {
    let _ = writeln!(io::stderr(), "mesos-gpu: {why}");
}

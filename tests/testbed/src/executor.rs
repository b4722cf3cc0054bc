// SPDX-License-Identifier: Apache-2.0
//! Why: Mesos's own `mesos-executor` is not in the library that the testbed runs. This one runs a command task, and
//! serves as a custom executor for the tests of growing and shrinking containers.
//!
//! As `mesos-executor` it runs one task and ends. With `--stay`, or `TESTBED_EXECUTOR_STAY=1` in its environment, it
//! runs as many as it is sent, at once or one after another, until it is told to shut down. A task's command is
//! `TaskInfo.command`, or the text in `data` where a task of a custom executor has no command.

pub(crate) mod connection;
mod enter;
mod flags;
pub(crate) mod identity;
mod process;
mod tasks;

use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::thread;

use connection::{Connection, Event};
use flags::Flags;
use identity::Identity;
use tasks::Tasks;

/// Why the executor ends.
pub(crate) enum End {
    /// Its work is done and acknowledged.
    Done,
    /// It was told to, or it lost its agent; with the reason.
    Stopped(String),
}

/// `mesos-executor`.
pub fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some((first, rest)) = args.split_first()
        && first == enter::SUBCOMMAND
    {
        return enter::main(rest);
    }
    match run(&args) {
        Ok(End::Done) => ExitCode::SUCCESS,
        Ok(End::Stopped(why)) => {
            eprintln!("mesos-executor: {why}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("mesos-executor: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<End, String> {
    let flags = Flags::parse(args)?;
    let identity = Identity::from_environment()?;
    let grace = identity.shutdown_grace;
    let connection = Arc::new(Connection::new(identity));
    let (end, ended) = mpsc::channel();
    let tasks = Arc::new(Tasks::new(flags, Arc::clone(&connection), end.clone()));
    let handler = Arc::clone(&tasks);
    // On its own thread, for its read never returns while the agent is well.
    thread::spawn(move || {
        let why = connection.run(|event| match event {
            Event::Launch(task) => Tasks::launch(&handler, task),
            Event::LaunchGroup(group) => {
                group.into_iter().for_each(|task| Tasks::launch(&handler, task));
            }
            Event::Kill { task, grace } => Tasks::kill(&handler, &task, grace),
            Event::Subscribed(_) => {}
        });
        // Nobody listens any more when the last task ended meanwhile.
        end.send(End::Stopped(why)).unwrap_or_default();
    });
    let end = ended
        .recv()
        .map_err(|_| "no thread is left to wait for".to_owned())?;
    tasks.kill_all(grace);
    Ok(end)
}

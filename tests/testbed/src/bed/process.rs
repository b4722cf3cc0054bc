// SPDX-License-Identifier: Apache-2.0
//! A master or an agent as a child of the test, on the leash that `program` watches.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::error::{Error, Tried};
use crate::http::Client;
use crate::program::leash;

/// How a program is started, as often as needed.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) environment: Vec<(String, String)>,
    /// User and group, when not the test's own.
    pub(super) user: Option<(u32, u32)>,
    pub(super) log: PathBuf,
    pub(super) name: &'static str,
    pub(super) address: String,
}

/// A running program; it is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    program: Program,
    child: Child,
}

impl Process {
    pub(super) fn start(program: Program) -> Result<Self, Error> {
        let child = spawn(&program)?;
        Ok(Self { program, child })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn address(&self) -> &str {
        &self.program.address
    }

    pub(super) fn log(&self) -> String {
        let bytes = fs::read(&self.program.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub(super) fn kill9(&mut self) -> Result<(), Error> {
        let tried = || format!("kill the {}", self.program.name);
        self.child.kill().tried(tried)?;
        self.child.wait().tried(tried).map(|_| ())
    }

    /// SIGTERM, then waits for the end.
    pub(super) fn terminate(&mut self, patience: Duration) -> Result<(), Error> {
        let tried = || format!("terminate the {}", self.program.name);
        let process = Pid::from_raw(i32::try_from(self.child.id()).tried(tried)?);
        let until = Instant::now() + patience;
        if self.child.try_wait().tried(tried)?.is_none() {
            kill(process, Signal::SIGTERM).tried(tried)?;
        }
        while self.child.try_wait().tried(tried)?.is_none() {
            if Instant::now() >= until {
                return Err(Error::new(
                    tried(),
                    format!("it still runs after {} s", patience.as_secs_f32()),
                ));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Kills it where it still runs, and starts it as before.
    pub(super) fn restart(&mut self) -> Result<(), Error> {
        self.kill9()?;
        self.child = spawn(&self.program)?;
        Ok(())
    }

    /// The same with other flags: `--name=value` in place of what it had, or without the flag.
    pub(super) fn restart_with(&mut self, flags: &[(&str, Option<&str>)]) -> Result<(), Error> {
        for (name, value) in flags {
            let start = format!("--{name}=");
            let arguments = &mut self.program.arguments;
            arguments.retain(|argument| !argument.starts_with(&start));
            arguments.extend(value.map(|value| start + value));
        }
        self.restart()
    }

    /// Waits until every one of these API calls is answered with 200; an early death is an error with the log's end.
    pub(super) fn wait_for(&mut self, calls: &[&str], patience: Duration) -> Result<(), Error> {
        let until = Instant::now() + patience;
        let client = Client::new(self.address());
        let mut left = calls;
        while let Some(call) = left.first() {
            let answer = client.post_with("/api/v1", &json!({"type": call}), &[], Some(patience));
            if answer.is_ok_and(|answer| answer.status == 200) {
                left = &left[1..];
                continue;
            }
            self.check_alive()?;
            if Instant::now() >= until {
                let tried = format!("wait for the {} to answer {call}", self.program.name);
                return Err(Error::new(
                    tried,
                    format!("{} s are over\n{}", patience.as_secs_f32(), self.tail()),
                ));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Waits for an end by itself, with success.
    pub(super) fn wait_end(&mut self, patience: Duration) -> Result<(), Error> {
        let tried = || format!("run the {} to its end", self.program.name);
        let until = Instant::now() + patience;
        loop {
            match self.child.try_wait().tried(tried)? {
                Some(status) if status.success() => return Ok(()),
                Some(_) => return self.check_alive(),
                None if Instant::now() < until => std::thread::sleep(Duration::from_millis(2)),
                None => {
                    let why = format!("{} s are over\n{}", patience.as_secs_f32(), self.tail());
                    return Err(Error::new(tried(), why));
                }
            }
        }
    }

    /// An error with the end of the log when the program has ended.
    pub(super) fn check_alive(&mut self) -> Result<(), Error> {
        let tried = || format!("run the {}", self.program.name);
        match self.child.try_wait().tried(tried)? {
            Some(status) => Err(Error::new(
                tried(),
                format!("it ended with {status}\n{}", self.tail()),
            )),
            None => Ok(()),
        }
    }

    pub(super) fn tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        let shown = &lines[lines.len().saturating_sub(25)..];
        format!("the end of {}:\n{}", self.program.log.display(), shown.join("\n"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.kill9();
    }
}

fn spawn(program: &Program) -> Result<Child, Error> {
    use std::os::unix::process::CommandExt;

    let tried = || format!("start the {} with {}", program.name, program.path.display());
    let log = open_log(&program.log).tried(tried)?;
    let mut command = Command::new(&program.path);
    command.args(&program.arguments).stdin(Stdio::piped());
    command.stdout(log.try_clone().tried(tried)?).stderr(log);
    // Whatever flags a person has in the environment are for another Mesos.
    let foreign = std::env::vars_os().map(|(name, _)| name);
    for name in foreign.filter(|name| is_mesos_flag(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    command
        .env(leash::VARIABLE, "stdin")
        .envs(program.environment.iter().map(|(name, value)| (name, value)));
    // A group of its own keeps it from the terminal's signals: the test decides when it ends.
    command.process_group(0);
    if let Some((user, group)) = program.user {
        command.uid(user).gid(group);
    }
    command.spawn().tried(tried)
}

fn is_mesos_flag(name: &str) -> bool {
    let is_ours = name.starts_with("MESOS_GPU_");
    !is_ours && (name.starts_with("MESOS_") || name.starts_with("LIBPROCESS_"))
}

fn open_log(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

// SPDX-License-Identifier: Apache-2.0
//! Why: a task is a process group of its own, so that a kill reaches all of it and nothing else.

use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use nix::sys::signal::Signal;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use serde_json::Value;

use super::enter;
use super::flags::{Flags, environment};

/// Starts a task's command in its own process group.
pub(super) fn spawn(task: &Value, flags: &Flags) -> Result<Child, String> {
    let (program, argv, mut env) = what(task, flags)?;
    if let Some(user) = flags.user.as_deref().or(task["command"]["user"].as_str())
        && user != "root"
    {
        return Err(format!(
            "task wants user {user}, and the testbed's executor runs tasks as root alone"
        ));
    }
    let mut command = match &flags.rootfs {
        Some(root) => {
            let sandbox = flags.sandbox_directory.as_deref();
            let start = flags
                .working_directory
                .as_deref()
                .or(sandbox)
                .unwrap_or(Path::new("/"));
            let mut command = enter::command(root, start, &program, &argv);
            // The host's variables mean nothing in an image, and its PATH leads nowhere there.
            command.env_clear();
            if !env.iter().any(|(name, _)| name == "PATH") {
                env.push((
                    "PATH".to_owned(),
                    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned(),
                ));
            }
            if let Some(sandbox) = sandbox {
                env.push(("MESOS_SANDBOX".to_owned(), sandbox.to_string_lossy().into_owned()));
            }
            command
        }
        None => {
            let mut command = Command::new(&program);
            command.arg0(&argv[0]).args(&argv[1..]);
            command
        }
    };
    command.envs(env).process_group(0);
    command
        .spawn()
        .map_err(|e| format!("could not run {program}: {e}"))
}

type What = (String, Vec<String>, Vec<(String, String)>);

/// Program, `argv` (never empty) and environment of a task.
fn what(task: &Value, flags: &Flags) -> Result<What, String> {
    let mut env = flags.task_environment.clone();
    let Some(command) = flags.task_command.as_ref().or(task.get("command")) else {
        let bytes = BASE64_STANDARD.decode(task["data"].as_str().unwrap_or_default());
        let text = bytes
            .ok()
            .and_then(|b| String::from_utf8(b).ok())
            .filter(|t| !t.is_empty());
        let text = text.ok_or("task has no command, and its data is no text either")?;
        return Ok((
            "/bin/sh".to_owned(),
            vec!["sh".to_owned(), "-c".to_owned(), text],
            env,
        ));
    };
    // Later ones win, as they do in Mesos: the task's own word is the last.
    env.extend(environment(&command["environment"]));
    let value = command["value"].as_str();
    if command["shell"].as_bool().unwrap_or(true) {
        let text = value.ok_or("task's shell command has no value")?;
        return Ok((
            "/bin/sh".to_owned(),
            vec!["sh".to_owned(), "-c".to_owned(), text.to_owned()],
            env,
        ));
    }
    let list = command["arguments"].as_array().cloned().unwrap_or_default();
    let mut argv: Vec<String> = list
        .iter()
        .filter_map(|a| a.as_str().map(str::to_owned))
        .collect();
    let program = value.map(str::to_owned).or_else(|| argv.first().cloned());
    let program = program.ok_or("task's command has neither a value nor arguments")?;
    if argv.is_empty() {
        argv.push(program.clone());
    }
    Ok((program, argv, env))
}

/// Waits until the process has ended but leaves its number taken, so that a signal cannot hit a stranger.
pub(super) fn wait_unreaped(child: &Child) -> io::Result<()> {
    loop {
        match waitid(Id::Pid(pid(child)), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) {
            Ok(_) => return Ok(()),
            Err(nix::errno::Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// The process, which is also its group.
pub(super) fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}

/// Sends a signal to a task's whole group. A group that has just ended is no error.
pub(super) fn signal(group: Pid, signal: Signal) {
    if let Err(e) = nix::sys::signal::killpg(group, signal)
        && e != nix::errno::Errno::ESRCH
    {
        eprintln!("could not send {signal} to process group {group}: {e}");
    }
}

/// The state and the message that an end makes.
pub(super) fn verdict(status: ExitStatus, killed: bool) -> (&'static str, String) {
    let message = match (status.code(), status.signal()) {
        (Some(code), _) => format!("command exited with status {code}"),
        (None, Some(number)) => {
            let name = Signal::try_from(number).map_or("unknown signal", Signal::as_str);
            format!("command was ended by signal {number} ({name})")
        }
        (None, None) => "command ended in an unknown way".to_owned(),
    };
    let state = match (killed, status.success()) {
        (true, _) => "TASK_KILLED",
        (false, true) => "TASK_FINISHED",
        (false, false) => "TASK_FAILED",
    };
    (state, message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_verdict_names_the_status_or_the_signal() {
        let ended = |raw| ExitStatus::from_raw(raw);
        assert_eq!(
            verdict(ended(0), false),
            ("TASK_FINISHED", "command exited with status 0".to_owned())
        );
        assert_eq!(
            verdict(ended(3 << 8), false),
            ("TASK_FAILED", "command exited with status 3".to_owned())
        );
        assert_eq!(
            verdict(ended(9), false),
            (
                "TASK_FAILED",
                "command was ended by signal 9 (SIGKILL)".to_owned()
            )
        );
        assert_eq!(verdict(ended(15), true).0, "TASK_KILLED");
        assert_eq!(verdict(ended(0), true).0, "TASK_KILLED");
    }

    #[test]
    fn a_command_is_taken_from_the_command_or_from_the_data() {
        let flags = Flags::default();
        let shell = what(&json!({"command": {"value": "a b"}}), &flags).unwrap();
        assert_eq!(shell.1, ["sh", "-c", "a b"]);
        let exec = what(
            &json!({"command": {"value": "/p", "shell": false, "arguments": ["p", "x"]}}),
            &flags,
        )
        .unwrap();
        assert_eq!(
            (exec.0.as_str(), exec.1),
            ("/p", vec!["p".to_owned(), "x".to_owned()])
        );
        let bare = what(&json!({"command": {"value": "/p", "shell": false}}), &flags).unwrap();
        assert_eq!(bare.1, ["/p"]);
        let data = what(&json!({"data": BASE64_STANDARD.encode("c d")}), &flags).unwrap();
        assert_eq!(data.1, ["sh", "-c", "c d"]);
        assert!(what(&json!({}), &flags).is_err());
    }

    #[test]
    fn the_whole_group_of_a_task_ends_with_a_kill() {
        let task = json!({"command": {"value": "sleep 600 & wait"}});
        let mut child = spawn(&task, &Flags::default()).unwrap();
        signal(pid(&child), Signal::SIGKILL);
        wait_unreaped(&child).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }

    #[test]
    fn another_user_is_refused_by_name() {
        let error = spawn(
            &json!({"command": {"value": "true", "user": "nobody"}}),
            &Flags::default(),
        )
        .unwrap_err();
        assert!(error.contains("nobody"), "{error}");
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Why: for a command task with an image the executor stays on the host's files and is told by flags which root the
//! task is to live in and with which environment.

use std::path::PathBuf;

use serde_json::Value;

/// The flags that the agent passes to `mesos-executor`, and our own `--stay`.
#[derive(Debug, Clone, Default)]
pub(super) struct Flags {
    /// The task's root file system, as the host sees it.
    pub(super) rootfs: Option<PathBuf>,
    /// Where the sandbox is inside that root.
    pub(super) sandbox_directory: Option<PathBuf>,
    /// Where the task starts inside that root; the image's choice.
    pub(super) working_directory: Option<PathBuf>,
    /// The user the task runs as.
    pub(super) user: Option<String>,
    /// Environment for the task alone.
    pub(super) task_environment: Vec<(String, String)>,
    /// The task's command where isolators changed it, as a `CommandInfo`.
    pub(super) task_command: Option<Value>,
    /// Go on after the first task.
    pub(super) stay: bool,
}

impl Flags {
    pub(super) fn parse(args: &[String]) -> Result<Self, String> {
        let mut flags = Self {
            stay: std::env::var("TESTBED_EXECUTOR_STAY").is_ok_and(|v| v == "1"),
            ..Self::default()
        };
        for arg in args {
            flags.take(arg)?;
        }
        Ok(flags)
    }

    fn take(&mut self, arg: &str) -> Result<(), String> {
        let (name, value) = arg.split_once('=').unwrap_or((arg, ""));
        match name {
            "--stay" => self.stay = true,
            "--rootfs" => self.rootfs = Some(value.into()),
            "--sandbox_directory" => self.sandbox_directory = Some(value.into()),
            "--working_directory" => self.working_directory = Some(value.into()),
            "--user" => self.user = Some(value.to_owned()),
            "--task_environment" => self.task_environment = environment(&json_of(name, value)?),
            "--task_command" => self.task_command = Some(json_of(name, value)?),
            // The helpers of the launcher folder are not needed: the task is a child of this very program.
            "--launcher_dir" => {}
            // Says which namespaces and limits the real executor gives the task: ours shares its own.
            "--task_launch_info" => {}
            _ => return Err(format!("flag {name} is not supported by the testbed's executor")),
        }
        Ok(())
    }
}

fn json_of(name: &str, value: &str) -> Result<Value, String> {
    serde_json::from_str(value).map_err(|e| format!("flag {name} is not JSON: {e}"))
}

/// The variables of an `Environment` that are plain values.
pub(super) fn environment(of: &Value) -> Vec<(String, String)> {
    let list = of["variables"].as_array().cloned().unwrap_or_default();
    let pair = |v: &Value| Some((v["name"].as_str()?.to_owned(), v["value"].as_str()?.to_owned()));
    list.iter().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Flags, String> {
        Flags::parse(&args.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_flags_of_a_task_with_an_image_are_read() {
        let flags = parse(&[
            "--launcher_dir=/l",
            "--rootfs=/r",
            "--sandbox_directory=/mnt/mesos/sandbox",
            "--task_environment={\"variables\":[{\"name\":\"A\",\"type\":\"VALUE\",\"value\":\"b=c\"}]}",
        ])
        .unwrap();
        assert_eq!(flags.rootfs, Some("/r".into()));
        assert_eq!(flags.task_environment, [("A".to_owned(), "b=c".to_owned())]);
    }

    #[test]
    fn an_unknown_flag_is_refused_by_name() {
        assert!(
            parse(&["--capabilities={}"])
                .unwrap_err()
                .contains("--capabilities")
        );
    }
}

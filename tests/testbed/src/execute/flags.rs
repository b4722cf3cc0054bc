// SPDX-License-Identifier: Apache-2.0
//! Why: the flags of `mesos-execute`, by their own names. One that is not understood is refused, for a task without the
//! thing asked for would look like success.

use std::time::Duration;

use serde_json::Value;

use crate::mesos_text;

/// What was asked for.
#[derive(Debug, Clone)]
pub(super) struct Flags {
    pub(super) master: String,
    pub(super) name: Option<String>,
    pub(super) command: Option<String>,
    pub(super) shell: bool,
    pub(super) env: Vec<(String, String)>,
    pub(super) resources: Vec<(String, f64)>,
    pub(super) framework_capabilities: Vec<String>,
    pub(super) docker_image: Option<String>,
    pub(super) role: String,
    pub(super) principal: Option<String>,
    pub(super) checkpoint: bool,
    pub(super) kill_after: Option<Duration>,
    pub(super) task: Option<Value>,
    pub(super) task_group: Option<Value>,
}

/// Flags that are switched by their bare name.
const SWITCHES: [&str; 2] = ["shell", "checkpoint"];

impl Flags {
    pub(super) fn parse(args: &[String]) -> Result<Self, String> {
        let mut flags = Self {
            master: String::new(),
            name: None,
            command: None,
            shell: true,
            env: Vec::new(),
            resources: vec![("cpus".to_owned(), 1.0), ("mem".to_owned(), 128.0)],
            framework_capabilities: Vec::new(),
            docker_image: None,
            role: "*".to_owned(),
            principal: None,
            checkpoint: false,
            kill_after: None,
            task: None,
            task_group: None,
        };
        let mut left = args.iter();
        while let Some(arg) = left.next() {
            let flag = arg
                .strip_prefix("--")
                .ok_or_else(|| format!("argument {arg:?} is not a flag"))?;
            match flag.split_once('=') {
                Some((name, value)) => flags.take(name, value)?,
                None if SWITCHES.contains(&flag) => flags.take(flag, "true")?,
                None if flag.strip_prefix("no-").is_some_and(|f| SWITCHES.contains(&f)) => {
                    flags.take(&flag[3..], "false")?;
                }
                None => {
                    let value = left.next().ok_or_else(|| format!("flag --{flag} has no value"))?;
                    flags.take(flag, value)?;
                }
            }
        }
        flags.check()
    }

    fn take(&mut self, name: &str, value: &str) -> Result<(), String> {
        let said = |e: String| format!("flag --{name}: {e}");
        match name {
            // A master may be named the way ZooKeeper-less Mesos tools show it.
            "master" => self.master = value.trim_start_matches("http://").to_owned(),
            "name" => self.name = Some(value.to_owned()),
            "command" => self.command = Some(value.to_owned()),
            "shell" => self.shell = truth(value).map_err(said)?,
            "checkpoint" => self.checkpoint = truth(value).map_err(said)?,
            "env" => self.env = variables(value).map_err(said)?,
            "resources" => self.resources = mesos_text::resources(value).map_err(said)?,
            "framework_capabilities" => {
                let list = value.split(',').map(str::trim).filter(|c| !c.is_empty());
                self.framework_capabilities = list.map(str::to_owned).collect();
            }
            "docker_image" => self.docker_image = Some(value.to_owned()),
            "containerizer" if value == "mesos" => {}
            "containerizer" => return Err(format!("flag --containerizer={value}: only mesos is there")),
            "role" => self.role = value.to_owned(),
            "principal" => self.principal = Some(value.to_owned()),
            "kill_after" => self.kill_after = Some(mesos_text::duration(value).map_err(said)?),
            "task" => self.task = Some(document(value).map_err(said)?),
            "task_group" => self.task_group = Some(document(value).map_err(said)?),
            _ => return Err(format!("flag --{name} is not supported")),
        }
        Ok(())
    }

    fn check(self) -> Result<Self, String> {
        if self.master.is_empty() {
            return Err("flag --master is missing".to_owned());
        }
        let plain = self.name.is_some() || self.command.is_some();
        let ways = [plain, self.task.is_some(), self.task_group.is_some()];
        match ways.iter().filter(|w| **w).count() {
            0 => Err("one of --name with --command, --task, or --task_group is needed".to_owned()),
            1 if plain && self.name.is_none() => Err("flag --name is missing".to_owned()),
            1 if plain && self.command.is_none() && self.docker_image.is_none() => {
                Err("flag --command is missing".to_owned())
            }
            1 => Ok(self),
            _ => Err("only one of --name with --command, --task, or --task_group is possible".to_owned()),
        }
    }
}

fn truth(value: &str) -> Result<bool, String> {
    match value {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(format!("{value:?} is neither true nor false")),
    }
}

/// JSON, or with `file://PATH` or a path from the root, the JSON in that file.
fn document(value: &str) -> Result<Value, String> {
    let path = value
        .strip_prefix("file://")
        .or_else(|| value.starts_with('/').then_some(value));
    let text = match path {
        Some(path) => std::fs::read_to_string(path).map_err(|e| format!("could not read {path}: {e}"))?,
        None => value.to_owned(),
    };
    serde_json::from_str(&text).map_err(|e| format!("not JSON: {e}"))
}

fn variables(value: &str) -> Result<Vec<(String, String)>, String> {
    let document = document(value)?;
    let object = document
        .as_object()
        .ok_or("not a JSON object of names and values")?;
    let pair = |(name, value): (&String, &Value)| match value.as_str() {
        Some(text) => Ok((name.clone(), text.to_owned())),
        None => Err(format!("value of {name} is not a string")),
    };
    object.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Flags, String> {
        Flags::parse(&args.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>())
    }

    const BASE: [&str; 3] = ["--master=m:1", "--name=n", "--command=true"];

    #[test]
    fn both_ways_of_writing_a_flag_mean_the_same() {
        let flags = parse(&[
            "--master",
            "m:1",
            "--name",
            "n",
            "--command",
            "a=b c",
            "--resources",
            "cpus:0.5;gpus:2",
            "--no-shell",
            "--checkpoint",
            "--framework_capabilities=GPU_RESOURCES,PARTITION_AWARE",
            "--kill_after=2secs",
            "--env={\"A\":\"1\"}",
        ])
        .unwrap();
        assert_eq!(
            (flags.master.as_str(), flags.command.as_deref()),
            ("m:1", Some("a=b c"))
        );
        assert_eq!(
            flags.resources,
            [("cpus".to_owned(), 0.5), ("gpus".to_owned(), 2.0)]
        );
        assert!(!flags.shell && flags.checkpoint);
        assert_eq!(flags.framework_capabilities, ["GPU_RESOURCES", "PARTITION_AWARE"]);
        assert_eq!(flags.kill_after, Some(Duration::from_secs(2)));
        assert_eq!(flags.env, [("A".to_owned(), "1".to_owned())]);
    }

    #[test]
    fn what_is_not_understood_is_refused_by_name() {
        for (more, named) in [
            ("--volumes=[]", "--volumes"),
            ("--tty=true", "--tty"),
            ("--containerizer=docker", "docker"),
            ("--checkpoint=maybe", "maybe"),
            ("--resources=cpus", "cpus"),
            ("--env=[1]", "--env"),
            ("--kill_after", "--kill_after"),
            ("stray", "stray"),
        ] {
            let error = parse(&[&BASE[..], &[more]].concat()).unwrap_err();
            assert!(error.contains(named), "{more}: {error}");
        }
    }

    #[test]
    fn exactly_one_kind_of_work_is_taken() {
        assert!(parse(&BASE).is_ok());
        assert!(parse(&BASE[..1]).is_err());
        assert!(parse(&BASE[..2]).unwrap_err().contains("--command"));
        assert!(
            parse(&[&BASE[..], &["--task={}"]].concat())
                .unwrap_err()
                .contains("only one")
        );
        assert!(parse(&BASE[1..]).unwrap_err().contains("--master"));
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Why: the work comes as flags or as a document; either way it becomes one operation on an offer.

use serde_json::{Map, Value, json};

use super::flags::Flags;
use crate::resources;
use crate::scheduler::{DEFAULT_EXECUTOR, ExecutorSpec, Offer};

/// What is to be run.
pub(super) struct Work {
    /// `TaskInfo`s, complete but for the agent and the role.
    tasks: Vec<Value>,
    group: bool,
}

pub(super) fn work(flags: &Flags) -> Result<Work, String> {
    if let Some(group) = &flags.task_group {
        let tasks = group["tasks"].as_array().filter(|t| !t.is_empty());
        let tasks = tasks
            .ok_or("flag --task_group: the document has no tasks")?
            .clone();
        tasks.iter().try_for_each(|t| check(t, "--task_group"))?;
        return Ok(Work { tasks, group: true });
    }
    if let Some(task) = &flags.task {
        check(task, "--task")?;
        return Ok(Work {
            tasks: vec![task.clone()],
            group: false,
        });
    }
    Ok(Work {
        tasks: vec![from_flags(flags)],
        group: false,
    })
}

impl Work {
    pub(super) fn name(&self) -> String {
        self.task_ids().join(", ")
    }

    pub(super) fn task_ids(&self) -> Vec<String> {
        let id = |t: &Value| t["task_id"]["value"].as_str().map(str::to_owned);
        self.tasks.iter().filter_map(id).collect()
    }

    /// A resource that the offer has too little of, with what is wanted.
    pub(super) fn missing(&self, offer: &Offer) -> Option<(String, f64)> {
        let mut wanted: Map<String, Value> = Map::new();
        let mut add = |name: &str, value: f64| {
            let sum = wanted.get(name).and_then(Value::as_f64).unwrap_or(0.0) + value;
            wanted.insert(name.to_owned(), json!(sum));
        };
        for resource in self
            .tasks
            .iter()
            .filter_map(|t| t["resources"].as_array())
            .flatten()
        {
            // Revocable ones are checked by the master: the sums here are of regular resources.
            if resource.get("revocable").is_none()
                && let (Some(name), Some(value)) =
                    (resource["name"].as_str(), resource["scalar"]["value"].as_f64())
            {
                add(name, value);
            }
        }
        if self.group {
            DEFAULT_EXECUTOR
                .iter()
                .for_each(|(name, value)| add(name, *value));
        }
        let mut wanted = wanted
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_f64()?)));
        wanted.find(|(name, value)| offer.amount(name) + 1e-6 < *value)
    }

    /// The `LAUNCH` or `LAUNCH_GROUP` on an offer.
    pub(super) fn operation(&self, offer: &Offer, framework: &str) -> Value {
        let infos: Vec<Value> = self.tasks.iter().map(|task| placed(task, offer)).collect();
        if !self.group {
            return json!({"type": "LAUNCH", "launch": {"task_infos": infos}});
        }
        let executor = ExecutorSpec::default_executor("default-executor");
        let executor = executor.info(offer, framework);
        json!({"type": "LAUNCH_GROUP", "launch_group": {"executor": executor, "task_group": {"tasks": infos}}})
    }
}

fn placed(task: &Value, offer: &Offer) -> Value {
    let mut info = task.clone();
    info["agent_id"] = json!({"value": offer.agent_id()});
    if let Value::Array(list) = info["resources"].take() {
        info["resources"] = Value::Array(resources::allocated(list, offer.role()));
    }
    info
}

fn check(task: &Value, flag: &str) -> Result<(), String> {
    for field in ["name", "task_id", "resources"] {
        if task.get(field).is_none() {
            return Err(format!("flag {flag}: task has no {field}"));
        }
    }
    match task["task_id"]["value"].as_str() {
        Some(_) => Ok(()),
        None => Err(format!("flag {flag}: task_id has no value")),
    }
}

fn from_flags(flags: &Flags) -> Value {
    let name = flags.name.as_deref().unwrap_or_default();
    let mut command = json!({"shell": flags.shell && flags.command.is_some()});
    if let Some(text) = &flags.command {
        command["value"] = json!(text);
    }
    if !flags.env.is_empty() {
        let list: Vec<Value> = flags
            .env
            .iter()
            .map(|(n, v)| json!({"name": n, "value": v}))
            .collect();
        command["environment"] = json!({"variables": list});
    }
    let mut task = json!({
        "name": name,
        "task_id": {"value": name},
        "command": command,
        "resources": resources::scalars(&flags.resources),
    });
    if let Some(image) = &flags.docker_image {
        let image = json!({"type": "DOCKER", "docker": {"name": image}});
        task["container"] = json!({"type": "MESOS", "mesos": {"image": image}});
    }
    task
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(args: &[&str]) -> Flags {
        let base = ["--master=m:1"];
        Flags::parse(
            &[&base[..], args]
                .concat()
                .iter()
                .map(|s| (*s).to_owned())
                .collect::<Vec<_>>(),
        )
        .unwrap()
    }

    fn offer(gpus: f64) -> Offer {
        let scalar =
            |name: &str, value: f64| json!({"name": name, "type": "SCALAR", "scalar": {"value": value}});
        Offer::from(json!({
            "agent_id": {"value": "a"}, "allocation_info": {"role": "r"},
            "resources": [scalar("cpus", 4.0), scalar("mem", 512.0), scalar("disk", 64.0), scalar("gpus", gpus)],
        }))
    }

    #[test]
    fn a_task_of_flags_waits_for_an_offer_with_its_gpus() {
        let work = work(&flags(&[
            "--name=n",
            "--command=true",
            "--resources=cpus:1;gpus:2",
        ]))
        .unwrap();
        assert_eq!(work.missing(&offer(1.0)), Some(("gpus".to_owned(), 2.0)));
        assert_eq!(work.missing(&offer(2.0)), None);
        let task = &work.operation(&offer(2.0), "f")["launch"]["task_infos"][0];
        assert_eq!(task["agent_id"]["value"], "a");
        assert_eq!(task["resources"][1]["allocation_info"]["role"], "r");
    }

    #[test]
    fn a_group_runs_on_the_default_executor_whose_own_needs_count() {
        let task = |id: &str| {
            let gpu = json!([{"name": "gpus", "type": "SCALAR", "scalar": {"value": 1.0}}]);
            json!({"name": id, "task_id": {"value": id}, "resources": gpu, "command": {"value": "true"}})
        };
        let group = json!({"tasks": [task("a"), task("b")]}).to_string();
        let work = work(&flags(&[&format!("--task_group={group}")])).unwrap();
        assert_eq!(work.task_ids(), ["a", "b"]);
        assert_eq!(work.missing(&offer(1.0)), Some(("gpus".to_owned(), 2.0)));
        let operation = work.operation(&offer(2.0), "f");
        assert_eq!(operation["launch_group"]["executor"]["type"], "DEFAULT");
    }

    #[test]
    fn a_document_that_is_no_task_is_refused_by_the_missing_field() {
        let error = work(&flags(&["--task={\"name\":\"n\",\"task_id\":{}}"]))
            .err()
            .unwrap();
        assert!(error.contains("resources"), "{error}");
    }
}

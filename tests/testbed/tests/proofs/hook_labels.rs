// SPDX-License-Identifier: Apache-2.0
//! Labels that an executor puts into a status itself, against a real Mesos, which replaces them by a hook's: they arrive
//! as they were, before ours. The test plays the executor, since those of the testbed say no labels.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use std::collections::BTreeMap;
use std::io::Read;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use common::{Cluster, PATIENCE, eventually};
use fake_nvml::Machine;
use serde_json::{Value, json};
use testbed::http::Client;
use testbed::recordio::Records;
use testbed::scheduler::{ExecutorSpec, Framework, FrameworkOptions, Task};

const SMALL: [(&str, f64); 2] = [("cpus", 0.1), ("mem", 32.0)];

/// An executor's side of the agent's API.
struct Executor {
    client: Client,
    ids: Value,
    /// While it is open, the agent takes the executor for connected.
    events: Records<Box<dyn Read + Send>>,
}

impl Executor {
    fn subscribe(address: &str, env: &BTreeMap<String, String>) -> Self {
        let ids = json!({
            "framework_id": {"value": env["MESOS_FRAMEWORK_ID"]},
            "executor_id": {"value": env["MESOS_EXECUTOR_ID"]},
        });
        let client = Client::new(address);
        let nothing = json!({"unacknowledged_tasks": [], "unacknowledged_updates": []});
        let subscribe = call(&ids, "SUBSCRIBE", nothing);
        let events = client
            .stream("/api/v1/executor", &subscribe, "application/json", &[])
            .unwrap();
        assert_eq!(events.status, 200, "{events:?}");
        Self {
            client,
            ids,
            events: Records::new(events.reader),
        }
    }

    /// A word about a task that was not handed over yet aborts the agent.
    fn wait_for_its_task(&mut self) {
        loop {
            let event = self.events.next_record().unwrap().unwrap();
            let event: Value = serde_json::from_slice(&event).unwrap();
            if event["type"] == "LAUNCH" || event["type"] == "LAUNCH_GROUP" {
                return;
            }
        }
    }

    fn say(&self, task: &str, state: &str, labels: &Value) {
        // Mesos reads the version and the variant of a random UUID in these two bytes.
        let mut uuid = [state.as_bytes()["TASK_".len()]; 16];
        (uuid[6], uuid[8]) = (0x40, 0x80);
        let status = json!({
            "task_id": {"value": task},
            "executor_id": self.ids["executor_id"],
            "state": state,
            "source": "SOURCE_EXECUTOR",
            "timestamp": 1.0,
            "uuid": BASE64_STANDARD.encode(uuid),
            "labels": {"labels": labels},
        });
        let update = call(&self.ids, "UPDATE", json!({"status": status}));
        let reply = self.client.post("/api/v1/executor", &update).unwrap();
        assert_eq!(reply.status, 202, "{reply:?}");
    }
}

fn call(ids: &Value, kind: &str, body: Value) -> Value {
    let mut call = ids.clone();
    call["type"] = json!(kind);
    call[kind.to_lowercase()] = body;
    call
}

#[test]
fn ROOT_CGROUPS_labels_of_the_executor_arrive_as_they_were_and_ours_after_them() {
    if common::lacking("labels of executors") {
        return;
    }
    let machine = Machine::with_gpus(2);
    let cluster = Cluster::start(&machine);
    let options = FrameworkOptions::named("hook-labels");
    let framework = Framework::subscribe(cluster.master.address(), &options).unwrap();
    for gpus in [1, 0] {
        let (id, out) = (
            format!("own{gpus}"),
            cluster.bed.folder().join(format!("env{gpus}")),
        );
        let command = format!("env >{0}.part; mv {0}.part {0}; exec sleep 1000", out.display());
        let spec = ExecutorSpec::custom(&id, &command).resources(&SMALL);
        let task = Task::new(&id, "unused").resources(&SMALL).executor(&spec);
        let task = if gpus == 0 {
            task
        } else {
            task.resources(&[("gpus", gpus.into())])
        };
        let offer = framework.offer_with(&[("gpus", gpus.into())], PATIENCE).unwrap();
        framework.launch(&offer, &[task]).unwrap();
        let env = eventually("the executor to start", || std::fs::read_to_string(&out).ok());
        let pairs = env.lines().filter_map(|line| line.split_once('='));
        let env = pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();

        let mut executor = Executor::subscribe(cluster.agent.address(), &env);
        executor.wait_for_its_task();
        // Twice the same key, a key without a value, and our own key with something else.
        let own = json!([
            {"key": "team", "value": "a"},
            {"key": "team", "value": "b"},
            {"key": "bare"},
            {"key": "nvidia.com/gpu.uuids", "value": "mine"},
        ]);
        executor.say(&id, "TASK_STARTING", &own);
        executor.say(&id, "TASK_FINISHED", &own);
        for state in ["TASK_STARTING", "TASK_FINISHED"] {
            let update = framework.wait_state(&id, state, PATIENCE).unwrap();
            let mut want = own.as_array().unwrap().clone();
            if gpus > 0 {
                let granted = &env["NVIDIA_VISIBLE_DEVICES"];
                want.push(json!({"key": "nvidia.com/gpu.uuids", "value": granted}));
            }
            assert_eq!(update.raw["labels"]["labels"], json!(want), "{update:?}");
        }
    }
}

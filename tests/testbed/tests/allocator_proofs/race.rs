// SPDX-License-Identifier: Apache-2.0
//! The promise that an agent may go and come back under its id at any moment: what was withheld of it before is not given
//! back to it afterwards, for which Mesos would end the master. Mesos's own allocator, without a master, so that agents can
//! go and come in the midst of offers thousands of times.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testbed::Testbed;

const ALLOCATOR: &str = "mesos_gpu_Allocator";
const AGENTS: u64 = 200;
/// One is enough nearly always.
const ROUNDS: usize = 20;

#[test]
fn an_agent_that_comes_back_while_it_is_offered_is_not_given_what_was_withheld_before() {
    let parameters = [json!({"key": "policy", "value": "share"})];
    let modules = [json!({"name": ALLOCATOR, "parameters": parameters})];
    let library = Testbed::module_library().unwrap();
    let manifest = json!({"libraries": [{"file": library, "modules": modules}]});
    let output = Command::new(Testbed::program().unwrap())
        .arg("allocator-race")
        .arg(format!("--allocator={ALLOCATOR}"))
        .arg(format!("--modules={manifest}"))
        .arg(format!("--agents={AGENTS}"))
        .arg(format!("--rounds={ROUNDS}"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}:\n{said}", output.status);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    println!("{told}");
    // Were there few, hardly any agent went while it was offered.
    assert!(told["offered"].as_u64().unwrap() >= 3 * AGENTS, "{told}");
    // What was withheld can all be had.
    assert_eq!(told["gpus"], 8 * AGENTS);
}

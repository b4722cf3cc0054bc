// SPDX-License-Identifier: Apache-2.0
//! The attributes that an agent advertises of its GPUs, against a real Mesos: only those that the operator asks for,
//! beside the operator's own, and the same after a restart, since Mesos refuses an agent whose attributes changed.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use common::faults::{Faults, WAYS};
use common::{Cluster, ISOLATION, PATIENCE, eventually, logged};
use fake_nvml::Machine;
use serde_json::Value;
use testbed::{AgentBuilder, Testbed};

/// An agent with an attribute of its own whose hook has these parameters.
fn agent(bed: &Testbed, machine: &Machine, parameters: &[(&str, &str)]) -> AgentBuilder {
    bed.agent()
        .isolation(ISOLATION)
        .hooks("mesos_gpu_Hook")
        .module("mesos_gpu_Isolator", &[])
        .module("mesos_gpu_Hook", parameters)
        .machine(machine)
        .flag("attributes", "kind:tb")
}

/// The agent's attributes as the master lists them, in order, as `--attributes` would spell them.
fn attributes(cluster: &Cluster) -> Vec<String> {
    let id = cluster.agent.id().unwrap();
    let listed = |agents: Vec<Value>| {
        let is_it = |agent: &Value| agent["agent_info"]["id"]["value"] == id;
        agents.into_iter().find(is_it)
    };
    let agent = eventually("the master to list the agent", || {
        listed(cluster.master.operator().agents().unwrap())
    });
    let all = agent["agent_info"]["attributes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let spell = |one: &Value| {
        let name = one["name"].as_str().unwrap();
        match (&one["text"]["value"], &one["scalar"]["value"]) {
            (Value::String(text), Value::Null) => format!("{name}:{text}"),
            (Value::Null, Value::Number(number)) => format!("{name}:{number}"),
            _ => format!("{one}"),
        }
    };
    all.iter().map(spell).collect()
}

#[test]
fn ROOT_CGROUPS_an_agent_has_the_attributes_it_is_asked_for_beside_its_own_also_after_a_restart() {
    if common::lacking("attributes of GPUs") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let mut cluster = Cluster::with(|bed| agent(bed, &machine, &[("attributes", "model,memory,driver")]));
    let memory = machine
        .gpus
        .iter()
        .map(|gpu| gpu.memory.unwrap().total)
        .min()
        .unwrap()
        >> 20;
    let major = machine.driver_version.split('.').next().unwrap();
    let want = [
        "kind:tb".to_owned(),
        format!("gpu_model:{}", machine.gpus[0].name.replace(' ', "_")),
        format!("gpu_memory:{memory}.0"),
        format!("gpu_driver:{major}.0"),
    ];
    assert_eq!(attributes(&cluster), want);
    let id = cluster.agent.id().unwrap();
    cluster.agent.restart().unwrap();
    assert_eq!(cluster.agent.wait_registered(PATIENCE).unwrap(), id);
    assert_eq!(attributes(&cluster), want);
}

#[test]
fn ROOT_CGROUPS_an_agent_that_is_not_asked_says_nothing_of_its_gpus() {
    if common::lacking("attributes that nobody asked for") {
        return;
    }
    let machine = Machine::with_gpus(2);
    let cluster = Cluster::with(|bed| agent(bed, &machine, &[]));
    assert_eq!(attributes(&cluster), ["kind:tb"]);
}

#[test]
fn ROOT_CGROUPS_what_cannot_be_known_is_left_out_and_the_agent_starts() {
    if common::lacking("attributes that cannot be known") {
        return;
    }
    let mut machine = Machine::with_gpus(2);
    machine.gpus[1].memory = None;
    let parameters = [("attributes", "memory,driver"), ("discovery_wait", "1secs")];
    let cluster = Cluster::with(|bed| agent(bed, &machine, &parameters));
    let major = machine.driver_version.split('.').next().unwrap();
    assert_eq!(
        attributes(&cluster),
        ["kind:tb".to_owned(), format!("gpu_driver:{major}.0")]
    );
    logged(
        &cluster.agent,
        &["NVML did not tell all of the attributes within 1s"],
    );
}

#[test]
fn ROOT_CGROUPS_attributes_that_fail_leave_the_operators_own() {
    if common::faults::lacking("attributes that fail") {
        return;
    }
    let machine = Machine::with_gpus(2);
    for way in WAYS {
        let mut told = String::new();
        let cluster = Cluster::with(|bed| {
            let faults = Faults::new(bed);
            told = faults.fail("hook.attributes", way);
            let file = bed.folder().join("faults").display().to_string();
            agent(bed, &machine, &[("attributes", "model")]).env("MESOS_GPU_FAULTS", file)
        });
        assert_eq!(attributes(&cluster), ["kind:tb"]);
        logged(&cluster.agent, &["mesos_gpu_Hook", "hook.attributes", &told]);
        common::assert_serves_without_gpus(&cluster.agent);
        common::assert_all_free(&cluster.agent, &machine);
    }
}

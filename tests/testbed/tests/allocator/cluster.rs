// SPDX-License-Identifier: Apache-2.0
//! A real master with our allocator, and what is asked of it in these tests.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testbed::scheduler::{Framework, FrameworkOptions, Offer};
use testbed::{Agent, AgentBuilder, Master, MasterBuilder, Testbed};

pub const PATIENCE: Duration = Duration::from_secs(60);
pub const ALLOCATOR: &str = "mesos_gpu_Allocator";
/// What an agent of these tests has.
pub const RESOURCES: &str = "cpus:8;mem:8192;disk:4096;gpus:4";

/// A master to be started with our allocator.
pub fn builder(bed: &Testbed, parameters: &[(&str, &str)]) -> MasterBuilder {
    let library = Testbed::module_library().unwrap();
    let parameters: Vec<Value> = parameters
        .iter()
        .map(|(key, value)| json!({"key": key, "value": value}))
        .collect();
    let module = json!({"name": ALLOCATOR, "parameters": parameters});
    let modules = json!({"libraries": [{"file": library, "modules": [module]}]});
    bed.master()
        .flag("modules", modules.to_string())
        .flag("allocator", ALLOCATOR)
        .flag("allocation_interval", "50ms")
}

/// A running master.
pub fn master(bed: &Testbed, parameters: &[(&str, &str)]) -> Master {
    let mut master = builder(bed, parameters).start().unwrap();
    master.wait_ready(PATIENCE).unwrap();
    master
}

/// An agent that runs nothing, so that none of these tests needs root or cgroups.
pub fn agent_builder(bed: &Testbed) -> AgentBuilder {
    bed.agent()
        .flag("launcher", "posix")
        .flag("isolation", "filesystem/posix")
        .resources(RESOURCES)
}

/// A registered agent with [`RESOURCES`].
pub fn agent(bed: &Testbed) -> Agent {
    let mut agent = agent_builder(bed).start().unwrap();
    agent.wait_registered(PATIENCE).unwrap();
    agent
}

pub fn options(name: &str, role: &str, gpus: bool) -> FrameworkOptions {
    FrameworkOptions {
        roles: vec![role.to_owned()],
        gpu_resources: gpus,
        failover_timeout: 600.0,
        ..FrameworkOptions::named(name)
    }
}

pub fn framework(master: &Master, name: &str, role: &str, gpus: bool) -> Framework {
    Framework::subscribe(master.address(), &options(name, role, gpus)).unwrap()
}

/// The next offer.
pub fn offer(framework: &Framework) -> Offer {
    framework.next_offer(PATIENCE).unwrap()
}

/// Asserts that no offer comes for a while, which is many allocation cycles.
pub fn no_offer(framework: &Framework, why: &str) {
    let offer = framework.next_offer(Duration::from_millis(1500)).ok();
    let offered = offer.map(|offer| offer.raw().to_string());
    assert_eq!(offered, None, "{why}");
}

/// An operator's call that the master must take.
pub fn operate(master: &Master, kind: &str, body: Value) -> Value {
    let mut call = json!({"type": kind});
    if !body.is_null() {
        call[kind.to_lowercase()] = body;
    }
    let answer = master.operator().call(&call);
    answer.unwrap_or_else(|why| panic!("{call}: {why}\n{}", master.log()))
}

/// Waits until the master's log has `text`.
pub fn wait_log(master: &Master, text: &str) {
    let end = Instant::now() + PATIENCE;
    while !master.log().contains(text) {
        assert!(Instant::now() < end, "the log lacks {text:?}:\n{}", master.log());
        std::thread::sleep(Duration::from_millis(20));
    }
}

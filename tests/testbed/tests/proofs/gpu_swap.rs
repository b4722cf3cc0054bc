// SPDX-License-Identifier: Apache-2.0
//! Moving an agent from Mesos's own `gpu/nvidia` to this library and back, under running containers: they keep their GPUs
//! and notice nothing, nobody else gets these, and the master takes the agent for the same.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use std::collections::BTreeSet;

use common::{
    Cluster, Grants, ISOLATION, PATIENCE, assert_all_free, end, eventually, grants, launch, logged,
};
use fake_nvml::Machine;
use serde_json::{Value, json};
use testbed::operator::ApiError;
use testbed::scheduler::{ExecutorSpec, Framework, FrameworkOptions, Task};
use testbed::{Testbed, support};

const BUILT_IN: &str = "cgroups/devices,filesystem/linux,gpu/nvidia";
const SMALL: [(&str, f64); 2] = [("cpus", 0.1), ("mem", 32.0)];

/// `--modules` with ours.
fn modules() -> String {
    let modules = json!([{"name": "mesos_gpu_Isolator"}, {"name": "mesos_gpu_Hook"}]);
    json!({"libraries": [{"file": Testbed::module_library().unwrap(), "modules": modules}]}).to_string()
}

/// An agent that is moved to and fro.
struct Moved {
    cluster: Cluster,
    framework: Framework,
    id: String,
    total: BTreeSet<String>,
}

impl Moved {
    /// An agent with `gpu/nvidia` that finds its GPUs by itself.
    fn start(machine: &Machine) -> Self {
        let cluster = Cluster::with(|bed| bed.agent().machine(machine).loader_cache().isolation(BUILT_IN));
        let options = FrameworkOptions {
            checkpoint: true,
            ..FrameworkOptions::named("gpu-swap")
        };
        let framework = Framework::subscribe(cluster.master.address(), &options).unwrap();
        let id = cluster.agent.id().unwrap();
        let total = total(&cluster, &id);
        Self {
            cluster,
            framework,
            id,
            total,
        }
    }

    /// Starts a task with one GPU on an executor that outlives the agent.
    fn run_task(&self) {
        let program = self.cluster.agent.folder().join("launcher/mesos-executor");
        let executor = ExecutorSpec::custom("x", &format!("exec {} --stay", program.display()));
        let task = Task::new("task", "sleep 1000")
            .resources(&SMALL)
            .resources(&[("gpus", 1.0)])
            .executor(&executor.resources(&SMALL));
        let offer = self.framework.offer_with(&[("gpus", 1.0)], PATIENCE).unwrap();
        self.framework.launch(&offer, &[task]).unwrap();
        self.framework
            .wait_state("task", "TASK_RUNNING", PATIENCE)
            .unwrap();
    }

    /// Stops the agent and starts it with our library in place of `gpu/nvidia`, or the other way round. Asserts that it is
    /// the same agent, that every container has the GPUs that it had, and that every process goes on.
    fn restart(&mut self, isolation: &str) {
        let (held, processes) = (grants(&self.cluster.agent), self.processes());
        let modules = modules();
        let ours = isolation == ISOLATION;
        let agent = &mut self.cluster.agent;
        agent.terminate().unwrap();
        agent
            .restart_with(&[
                ("isolation", Some(isolation)),
                ("modules", ours.then_some(modules.as_str())),
                ("hooks", ours.then_some("mesos_gpu_Hook")),
            ])
            .unwrap();
        assert_eq!(agent.wait_registered(PATIENCE).unwrap(), self.id);
        assert_eq!(total(&self.cluster, &self.id), self.total);
        assert_eq!(grants(&self.cluster.agent), held);
        assert!(self.processes().is_superset(&processes));
    }

    fn processes(&self) -> BTreeSet<i32> {
        let processes = self.cluster.agent.container_processes().unwrap();
        processes.into_iter().map(nix::unistd::Pid::as_raw).collect()
    }

    fn launch(&self, id: &str, gpus: f64) -> Result<(), ApiError> {
        launch(&self.cluster.agent, id, gpus, "exec sleep 1000")
    }

    /// Asserts that as many GPUs as are free can be had and no more, and that nobody has one of them.
    fn assert_free(&self, free: u32) {
        let before = grants(&self.cluster.agent);
        let id = common::fresh_id("greedy");
        assert!(self.launch(&id, f64::from(free + 1)).is_err());
        let id = common::fresh_id("fits");
        self.launch(&id, free.into()).unwrap();
        let now = grants(&self.cluster.agent);
        assert_eq!(
            now[&id].len() + all(&before).len(),
            all(&now).len(),
            "{before:?} {now:?}"
        );
        end(&self.cluster.agent, &id);
        assert_eq!(grants(&self.cluster.agent), before);
    }
}

fn all(grants: &Grants) -> BTreeSet<u32> {
    grants.values().flatten().copied().collect()
}

/// The resources of the agent as the master lists them, in no particular order.
fn total(cluster: &Cluster, id: &str) -> BTreeSet<String> {
    eventually("the master to list the agent as active", || {
        let agents = cluster.master.operator().agents().unwrap();
        let agent = agents
            .into_iter()
            .find(|agent| agent["agent_info"]["id"]["value"] == id && agent["active"] == true)?;
        let resources = agent["total_resources"].as_array()?.iter();
        Some(resources.map(Value::to_string).collect())
    })
}

#[test]
fn ROOT_CGROUPS_containers_keep_their_gpus_when_the_built_in_is_replaced_by_ours_and_back() {
    if common::lacking("moving from gpu/nvidia and back") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    // The built-in cannot read the loader cache of today's glibc.
    if let Err(error) = fake_nvml::trimmed_loader_cache(&scratch.path().join("ld.so.cache")) {
        return support::skip(&format!("moving from gpu/nvidia and back: {error}"));
    }
    let machine = Machine::with_gpus(5);
    let mut moved = Moved::start(&machine);
    moved.run_task();
    moved.launch("alone", 2.0).unwrap();
    moved.assert_free(2);

    moved.restart(ISOLATION);
    logged(
        &moved.cluster.agent,
        &["mesos_gpu: recovered 2 containers and 0 orphans; they hold 3 of 5 GPUs"],
    );
    moved.assert_free(2);
    moved.launch("ours", 1.0).unwrap();
    moved.assert_free(1);

    moved.restart(BUILT_IN);
    moved.assert_free(1);
    // What our checkpoint says of the one is old soon, and of the other it never knew.
    end(&moved.cluster.agent, "alone");
    moved.launch("theirs", 1.0).unwrap();
    moved.assert_free(2);

    moved.restart(ISOLATION);
    moved.assert_free(2);
    eventually("the executor to come back", || {
        moved.framework.kill("task", &moved.id).unwrap();
        moved
            .framework
            .wait_state("task", "TASK_KILLED", common::SHORT)
            .ok()
    });
    for id in ["ours", "theirs"] {
        end(&moved.cluster.agent, id);
    }
    eventually("the executor to give back its GPU", || {
        grants(&moved.cluster.agent).is_empty().then_some(())
    });
    assert_all_free(&moved.cluster.agent, &machine);
}

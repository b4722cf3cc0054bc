// SPDX-License-Identifier: Apache-2.0
//! Whatever fails inside our modules, a panic in the core or an exception in the adapter, becomes a failure that Mesos
//! can read: the agent lives, other containers live, and no GPU is lost.
//!
//! A debug build fails on purpose where the file named by `MESOS_GPU_FAULTS` says so.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

mod common;

use std::fs;
use std::path::PathBuf;

use common::{
    Cluster, PATIENCE, assert_all_free, assert_serves_without_gpus, end, eventually, fresh_id, gpu_agent,
    grants, launch, logged,
};
use fake_nvml::Machine;
use testbed::scheduler::{ExecutorSpec, Framework, FrameworkOptions, Task};
use testbed::{AgentBuilder, Testbed};

const SMALL: [(&str, f64); 2] = [("cpus", 0.1), ("mem", 32.0)];

/// The two ways to fail.
const WAYS: [&str; 2] = ["throw", "panic"];

/// The file that tells our modules where to fail.
struct Faults(PathBuf);

impl Faults {
    fn new(bed: &Testbed) -> Self {
        Self(bed.folder().join("faults"))
    }

    /// An agent that fails where this says.
    fn agent(&self, bed: &Testbed, machine: &Machine) -> AgentBuilder {
        gpu_agent(bed)
            .machine(machine)
            .env("MESOS_GPU_FAULTS", self.0.display().to_string())
    }

    /// From now on `entry` fails in this way; gives back what the failure must say.
    fn fail(&self, entry: &str, way: &str) -> String {
        fs::write(&self.0, format!("{entry} {way}\n")).unwrap();
        format!("told to {way} in {entry}")
    }

    fn lift(&self) {
        fs::remove_file(&self.0).unwrap();
    }
}

/// A cluster whose agent can be made to fail.
fn cluster(machine: &Machine) -> (Cluster, Faults) {
    let mut faults = None;
    let cluster = Cluster::with(|bed| {
        let made = faults.insert(Faults::new(bed));
        made.agent(bed, machine)
    });
    (cluster, faults.unwrap())
}

/// After the fault is lifted: a panic leaves the agent without GPUs to give, until it is started again.
fn recover_from(cluster: &mut Cluster, way: &str) {
    assert_serves_without_gpus(&cluster.agent);
    if way == "throw" {
        return;
    }
    let refusal = launch(&cluster.agent, &fresh_id("poisoned"), 1.0, "true").unwrap_err();
    let says = "no GPU is handed out any more since ";
    assert!(
        refusal.body().contains(says) && refusal.body().contains("restart the agent"),
        "{refusal}"
    );
    cluster.agent.restart().unwrap();
    cluster.agent.wait_registered(PATIENCE).unwrap();
}

#[test]
fn ROOT_CGROUPS_a_module_that_fails_to_be_made_ends_the_agent_with_the_reason() {
    if common::lacking("modules that fail to be made") {
        return;
    }
    let (bed, machine) = (Testbed::new().unwrap(), Machine::with_gpus(4));
    let faults = Faults::new(&bed);
    for entry in ["isolator.create", "hook.create"] {
        faults.fail(entry, "throw");
        let mut agent = faults.agent(&bed, &machine).start().unwrap();
        for way in WAYS {
            let says = faults.fail(entry, way);
            agent.restart().unwrap();
            let error = agent.wait_ready(PATIENCE).unwrap_err().to_string();
            assert!(error.contains("it ended with exit status: 1"), "{error}");
            logged(&agent, &["mesos_gpu: cannot create the module: ", &says]);
        }
        faults.lift();
        agent.restart().unwrap();
        agent.wait_ready(PATIENCE).unwrap();
        assert_all_free(&agent, &machine);
    }
}

#[test]
fn ROOT_CGROUPS_a_hook_that_fails_leaves_an_agent_that_only_does_not_advertise_its_gpus() {
    if common::lacking("a hook that fails") {
        return;
    }
    let machine = Machine::with_gpus(4);
    for way in WAYS {
        let mut says = String::new();
        let mut made = None;
        let mut cluster = Cluster::with(|bed| {
            let faults = made.insert(Faults::new(bed));
            says = faults.fail("hook.resources", way);
            // The total changes when the fault is lifted.
            faults
                .agent(bed, &machine)
                .flag("reconfiguration_policy", "additive")
        });
        logged(&cluster.agent, &["mesos_gpu", &says]);
        assert_eq!(advertised(&cluster), None);
        assert_serves_without_gpus(&cluster.agent);
        made.unwrap().lift();
        cluster.agent.restart().unwrap();
        cluster.agent.wait_registered(PATIENCE).unwrap();
        eventually("the master to hear of the GPUs", || {
            advertised(&cluster).filter(|gpus| *gpus == 4.0)
        });
        assert_all_free(&cluster.agent, &machine);
    }
}

/// The GPUs that the master believes the agent to have.
fn advertised(cluster: &Cluster) -> Option<f64> {
    let agents = cluster.master.operator().agents().unwrap();
    let total = agents.first()?["total_resources"].as_array()?.clone();
    total.iter().find(|one| one["name"] == "gpus")?["scalar"]["value"].as_f64()
}

#[test]
fn ROOT_CGROUPS_a_failed_recovery_ends_the_agent_with_the_reason_and_the_next_one_recovers() {
    if common::lacking("a recovery that fails") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let (mut cluster, faults) = cluster(&machine);
    launch(&cluster.agent, "survivor", 2.0, "sleep 1000").unwrap();
    let held = grants(&cluster.agent);
    for way in WAYS {
        let says = faults.fail("isolator.recover", way);
        cluster.agent.restart().unwrap();
        let error = cluster.agent.wait_ready(PATIENCE).unwrap_err().to_string();
        assert!(error.contains("it ended with exit status: 1"), "{error}");
        logged(&cluster.agent, &["mesos_gpu: isolator.recover", &says]);
        assert_eq!(grants(&cluster.agent), held);
    }
    faults.lift();
    cluster.agent.restart().unwrap();
    cluster.agent.wait_registered(PATIENCE).unwrap();
    assert_eq!(grants(&cluster.agent), held);
    let refusal = launch(&cluster.agent, "greedy", 3.0, "true").unwrap_err();
    assert!(refusal.body().contains("3 more wanted, 2 of 4 free"), "{refusal}");
    end(&cluster.agent, "survivor");
    assert_all_free(&cluster.agent, &machine);
}

#[test]
fn ROOT_CGROUPS_a_launch_that_fails_in_any_of_its_steps_says_so_and_gives_its_gpus_back() {
    if common::lacking("launches that fail") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let (mut cluster, faults) = cluster(&machine);
    launch(&cluster.agent, "bystander", 1.0, "sleep 1000").unwrap();
    let held = grants(&cluster.agent);
    for entry in ["isolator.prepare", "isolator.isolate", "isolator.watch"] {
        for way in WAYS {
            let (says, id) = (faults.fail(entry, way), fresh_id("fails"));
            let launched = launch(&cluster.agent, &id, 2.0, "sleep 1000");
            if entry == "isolator.watch" {
                // The container runs by then, and Mesos ends it.
                logged(&cluster.agent, &["mesos_gpu: isolator.watch", &says, &id]);
            } else {
                let error = launched.unwrap_err();
                assert!(error.body().contains(&format!("mesos_gpu: {entry}")), "{error}");
                assert!(error.body().contains(&says), "{error}");
            }
            faults.lift();
            eventually("the container to go", || {
                (grants(&cluster.agent) == held).then_some(())
            });
            recover_from(&mut cluster, way);
            assert_eq!(grants(&cluster.agent), held, "the bystander");
        }
    }
    end(&cluster.agent, "bystander");
    assert_all_free(&cluster.agent, &machine);
}

#[test]
fn ROOT_CGROUPS_a_failed_status_or_usage_is_a_line_in_the_log_and_the_container_lives() {
    if common::lacking("questions that fail") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let (mut cluster, faults) = cluster(&machine);
    launch(&cluster.agent, "asked", 2.0, "sleep 1000").unwrap();
    let held = grants(&cluster.agent);
    let processes = cluster.agent.container_processes().unwrap();
    for entry in ["isolator.status", "isolator.usage"] {
        for way in WAYS {
            let says = faults.fail(entry, way);
            // Mesos asks for both to answer this.
            assert_eq!(cluster.agent.operator().containers().unwrap().len(), 1);
            logged(&cluster.agent, &[&format!("mesos_gpu: {entry}"), &says]);
            faults.lift();
            recover_from(&mut cluster, way);
            assert_eq!(grants(&cluster.agent), held);
            assert_eq!(cluster.agent.container_processes().unwrap(), processes);
        }
    }
    end(&cluster.agent, "asked");
    assert_all_free(&cluster.agent, &machine);
}

#[test]
fn ROOT_CGROUPS_a_failed_update_ends_the_executor_with_the_reason_and_its_gpus_come_back() {
    if common::lacking("an update that fails") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let (mut cluster, faults) = cluster(&machine);
    let options = FrameworkOptions::named("gpu-faults");
    let framework = Framework::subscribe(cluster.master.address(), &options).unwrap();
    let program = cluster.agent.folder().join("launcher/mesos-executor");
    for way in WAYS {
        let executor =
            ExecutorSpec::custom(way, &format!("exec {} --stay", program.display())).resources(&SMALL);
        let task = Task::new(way, "sleep 1000")
            .resources(&SMALL)
            .resources(&[("gpus", 2.0)])
            .executor(&executor);
        let says = faults.fail("isolator.update", way);
        let offer = framework.offer_with(&[("gpus", 2.0)], PATIENCE).unwrap();
        framework.launch(&offer, &[task]).unwrap();
        let ended = framework.wait_terminal(way, PATIENCE).unwrap();
        assert_eq!(
            ended.reason.as_deref(),
            Some("REASON_CONTAINER_UPDATE_FAILED"),
            "{ended}"
        );
        let message = ended.message.clone().unwrap_or_default();
        assert!(message.contains(&says), "{ended}\n{}", cluster.agent.log());
        logged(&cluster.agent, &["mesos_gpu: isolator.update", &says]);
        faults.lift();
        eventually("the container to go", || {
            grants(&cluster.agent).is_empty().then_some(())
        });
        recover_from(&mut cluster, way);
        assert_all_free(&cluster.agent, &machine);
    }
}

#[test]
fn ROOT_CGROUPS_a_failed_cleanup_harms_no_other_container_and_a_restart_frees_its_gpus() {
    if common::lacking("a cleanup that fails") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let (mut cluster, faults) = cluster(&machine);
    for way in WAYS {
        let (id, bystander) = (fresh_id("wedged"), fresh_id("bystander"));
        launch(&cluster.agent, &id, 1.0, "sleep 1000").unwrap();
        launch(&cluster.agent, &bystander, 1.0, "sleep 1000").unwrap();
        let held = grants(&cluster.agent)[&bystander].clone();
        let says = faults.fail("isolator.cleanup", way);
        cluster.agent.operator().kill_container(&[&id], None).unwrap();
        logged(&cluster.agent, &["mesos_gpu: isolator.cleanup", &says]);
        faults.lift();
        assert_serves_without_gpus(&cluster.agent);
        assert_eq!(grants(&cluster.agent)[&bystander], held);
        // In doubt a GPU stays held: three are free at most.
        let refusal = launch(&cluster.agent, &fresh_id("greedy"), 3.0, "true").unwrap_err();
        let reason = if way == "throw" {
            "3 more wanted, 2 of 4 free"
        } else {
            "no GPU is handed out any more"
        };
        assert!(refusal.body().contains(reason), "{refusal}");

        cluster.agent.restart().unwrap();
        cluster.agent.wait_registered(PATIENCE).unwrap();
        eventually("the container to go", || {
            (grants(&cluster.agent).len() == 1).then_some(())
        });
        assert_eq!(grants(&cluster.agent)[&bystander], held);
        end(&cluster.agent, &bystander);
        assert_all_free(&cluster.agent, &machine);
    }
}

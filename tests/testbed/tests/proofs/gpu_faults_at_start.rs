// SPDX-License-Identifier: Apache-2.0
//! What fails inside our modules while an agent starts is told: an agent that cannot be right does not run, and the next
//! one finds everything as it was.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use common::faults::{Faults, WAYS, cluster, lacking};
use common::{
    Cluster, PATIENCE, assert_all_free, assert_serves_without_gpus, end, eventually, grants, launch, logged,
};
use fake_nvml::Machine;
use testbed::Testbed;

#[test]
fn ROOT_CGROUPS_a_module_that_fails_to_be_made_ends_the_agent_with_the_reason() {
    if lacking("modules that fail to be made") {
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
    if lacking("a hook that fails") {
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
        logged(
            &cluster.agent,
            &[
                "decorator hook failed for module 'mesos_gpu_Hook': mesos_gpu: hook.resources",
                &says,
            ],
        );
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
    if lacking("a recovery that fails") {
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
        logged(
            &cluster.agent,
            &[
                "Failed to perform recovery: ",
                "mesos_gpu: isolator.recover",
                &says,
            ],
        );
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

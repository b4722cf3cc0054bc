// SPDX-License-Identifier: Apache-2.0
//! The estimator and the QoS controller when something is wrong with them: what an operator got wrong ends the agent at its
//! start with the cure, and what fails later costs an answer, never the agent, its containers or the owner's GPU.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use std::time::Duration;

use common::faults::{Faults, WAYS};
use common::oversubscription::{Controller, FAST, Shared, agent, offered, process, used_by};
use common::{Cluster, PATIENCE, log_lines, logged};
use fake_nvml::Machine;
use testbed::{AgentBuilder, Testbed};

/// Starts an agent that must end by itself, with a line that has these texts.
fn refuses(agent: AgentBuilder, texts: &[&str]) {
    let mut agent = agent.start().unwrap();
    let error = agent.wait_ready(PATIENCE).unwrap_err().to_string();
    assert!(
        error.contains("it ended with exit status: 1"),
        "{texts:?}: {error}"
    );
    logged(&agent, texts);
}

#[test]
fn ROOT_CGROUPS_an_estimator_or_a_controller_without_the_isolator_ends_the_agent_with_the_cure() {
    if common::lacking("modules without the isolator") {
        return;
    }
    let (bed, machine) = (Testbed::new().unwrap(), Machine::with_gpus(1));
    for (flag, module) in [
        ("resource_estimator", "mesos_gpu_ResourceEstimator"),
        ("qos_controller", "mesos_gpu_QoSController"),
    ] {
        let alone = bed
            .agent()
            .module(module, &[])
            .flag(flag, module)
            .machine(&machine);
        let cure = format!(
            "does not name mesos_gpu_Isolator, without which {module} has no GPUs to share; add mesos_gpu_Isolator to \
             --isolation, or leave {module} out"
        );
        refuses(
            alone,
            &["--isolation=\"cgroups/devices,filesystem/linux\"", &cure],
        );
    }
}

#[test]
fn ROOT_CGROUPS_parameters_that_only_the_estimator_is_given_end_the_agent_with_the_cure() {
    if common::lacking("parameters of the estimator alone") {
        return;
    }
    let (bed, machine) = (Testbed::new().unwrap(), Machine::with_gpus(1));
    let name = "mesos_gpu_ResourceEstimator";
    let late = common::gpu_agent(&bed)
        .module(name, &[("oversubscribe", "on")])
        .flag("resource_estimator", name)
        .machine(&machine);
    let cure = format!(
        "cannot create the module: the parameters of {name} come too late, because the agent thread runs already; give them \
         to mesos_gpu_Isolator or mesos_gpu_Hook"
    );
    refuses(late, &[&cure]);
}

fn cluster(machine: &Machine) -> (Shared, Faults) {
    let mut faults = None;
    let cluster = Cluster::with(|bed| {
        let made = faults.insert(Faults::new(bed));
        made.apply(agent(bed, &FAST, Controller::Loaded).machine(machine))
    });
    let machine = machine.clone();
    (Shared { cluster, machine }, faults.unwrap())
}

#[test]
fn ROOT_CGROUPS_an_estimate_that_fails_is_a_line_in_the_log_and_the_next_one_counts() {
    if common::faults::lacking("estimates that fail") {
        return;
    }
    let (mut shared, faults) = cluster(&Machine::with_gpus(1));
    let owners = shared.framework("owners", false);
    let owner = shared.own(&owners, "owner", 1.0);
    let guests = shared.framework("guests", true);
    for entry in ["estimator.oversubscribable", "estimator.usage"] {
        for way in WAYS {
            // Mesos keeps what it was told before.
            let offer = offered(&shared, &guests);
            guests.decline(&offer, 0.0).unwrap();
            let says = faults.fail(entry, way);
            logged(
                &shared.cluster.agent,
                &["Failed to get oversubscribable resources", "mesos_gpu: ", &says],
            );
            faults.lift();
            common::assert_serves_without_gpus(&shared.cluster.agent);
            if way == "panic" && entry == "estimator.oversubscribable" {
                // The books may be wrong, so nothing more is given out until the next start.
                logged(
                    &shared.cluster.agent,
                    &[
                        "Failed to get oversubscribable resources",
                        "no GPU is handed out any more",
                    ],
                );
                shared.cluster.agent.kill9().unwrap();
                shared.restart();
            }
        }
    }
    offered(&shared, &guests);
    let minors: Vec<u32> = shared.minors(&owner).into_iter().collect();
    shared.assert_books(&[(&owner, &minors)], &[]);
}

#[test]
fn ROOT_CGROUPS_corrections_that_fail_are_asked_for_again_after_a_pause_and_the_guest_still_goes() {
    if common::faults::lacking("corrections that fail") {
        return;
    }
    for way in WAYS {
        let (mut shared, faults) = cluster(&Machine::with_gpus(1));
        let owners = shared.framework("owners", false);
        let owner = shared.own(&owners, "owner", 1.0);
        let guests = shared.framework("guests", true);
        let says = faults.fail("controller.corrections", way);
        // The question that is open was asked before; its answer brings the next, which fails.
        let (pid, minor) = (shared.pid(&owner), *shared.minors(&owner).first().unwrap());
        let guest = shared.visit(&guests, "exec sleep 1000");
        shared.gpu(minor, |gpu| used_by(gpu, vec![process(pid, 60, 1 << 30)]));
        let ended = guests.wait_terminal(&guest.task, PATIENCE).unwrap();
        assert_eq!(
            ended.reason.as_deref(),
            Some("REASON_CONTAINER_PREEMPTED"),
            "{ended}"
        );
        logged(&shared.cluster.agent, &["controller.corrections", &says]);
        std::thread::sleep(Duration::from_secs(3));
        let failed = log_lines(
            &shared.cluster.agent.log(),
            &["Failed to get corrections from QoS Controller", &says],
        );
        assert!((1..=5).contains(&failed.len()), "{failed:?}");
        faults.lift();
        common::assert_serves_without_gpus(&shared.cluster.agent);
        shared.assert_books(&[(&owner, &[minor])], &[]);
        if way == "throw" {
            shared.gpu(minor, |gpu| used_by(gpu, vec![]));
            let guest = shared.visit(&guests, "exec sleep 1000");
            shared.gpu(minor, |gpu| used_by(gpu, vec![process(pid, 60, 1 << 30)]));
            let ended = guests.wait_terminal(&guest.task, PATIENCE).unwrap();
            assert_eq!(ended.state, "TASK_LOST", "the controller again: {ended}");
        }
    }
}

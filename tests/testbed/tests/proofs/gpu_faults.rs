// SPDX-License-Identifier: Apache-2.0
//! Whatever fails inside our modules, a panic in the core or an exception in the adapter, becomes a failure that Mesos
//! can read: the agent lives, other containers live, and no GPU is lost.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use common::faults::{WAYS, cluster, lacking, recover_from};
use common::{
    PATIENCE, assert_all_free, assert_serves_without_gpus, end, eventually, fresh_id, grants, launch, logged,
};
use fake_nvml::Machine;
use testbed::scheduler::{ExecutorSpec, Framework, FrameworkOptions, Task};

const SMALL: [(&str, f64); 2] = [("cpus", 0.1), ("mem", 32.0)];

#[test]
fn ROOT_CGROUPS_a_launch_that_fails_in_any_of_its_steps_says_so_and_gives_its_gpus_back() {
    if lacking("launches that fail") {
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
                let error = format!("Error in a resource limitation for container {id}: mesos_gpu: {entry}");
                logged(&cluster.agent, &[&error, &says]);
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
    if lacking("questions that fail") {
        return;
    }
    let machine = Machine::with_gpus(4);
    let (mut cluster, faults) = cluster(&machine);
    launch(&cluster.agent, "asked", 2.0, "exec sleep 1000").unwrap();
    let held = grants(&cluster.agent);
    let process = cluster.agent.operator().containers().unwrap()[0].pid;
    for (entry, skipped) in [
        ("isolator.status", "status"),
        ("isolator.usage", "resource statistic"),
    ] {
        for way in WAYS {
            let says = faults.fail(entry, way);
            // Mesos asks for both to answer this.
            assert_eq!(cluster.agent.operator().containers().unwrap().len(), 1);
            let warning = format!("Skipping {skipped} for container asked because: mesos_gpu: {entry}");
            logged(&cluster.agent, &[&warning, &says]);
            faults.lift();
            recover_from(&mut cluster, way);
            assert_eq!(grants(&cluster.agent), held);
            assert_eq!(cluster.agent.operator().containers().unwrap()[0].pid, process);
        }
    }
    end(&cluster.agent, "asked");
    assert_all_free(&cluster.agent, &machine);
}

#[test]
fn ROOT_CGROUPS_a_failed_update_ends_the_executor_with_the_reason_and_its_gpus_come_back() {
    if lacking("an update that fails") {
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
        logged(
            &cluster.agent,
            &["Failed to update resources", "mesos_gpu: isolator.update", &says],
        );
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
    if lacking("a cleanup that fails") {
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
        let operator = cluster.agent.operator();
        operator.kill_container(&[&id], None).unwrap();
        let error = operator.wait_container(&[&id]).unwrap_err();
        assert!(
            error.body().contains("mesos_gpu: isolator.cleanup") && error.body().contains(&says),
            "{error}"
        );
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

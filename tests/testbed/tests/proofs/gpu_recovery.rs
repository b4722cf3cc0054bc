// SPDX-License-Identifier: Apache-2.0
//! What an agent finds when it starts: a checkpoint that is gone, damaged or of a newer version, or GPUs with other
//! minors than before; and with each of them a container that lives, one that nobody knows any more and one that died.
//! The agent starts, who lives keeps its GPUs, nothing is shared and nothing is lost.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use common::{
    Cluster, PATIENCE, assert_all_free, end, eventually, grants, in_two, launch, log_lines, logged, probe,
};
use fake_nvml::Machine;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testbed::Agent;
use testbed::scheduler::{ExecutorSpec, Framework, FrameworkOptions, Task};

/// Even, so that none keeps its minor when they are turned round.
const GPUS: u32 = 6;
const SMALL: [(&str, f64); 2] = [("cpus", 0.1), ("mem", 32.0)];

fn checkpoint(agent: &Agent) -> PathBuf {
    agent.work_dir().join("mesos-gpu/checkpoint.json")
}

/// Runs a container `alive` with one GPU and `dead` with one, and an executor with two that its framework does not want to
/// outlive the agent; then the agent is killed, and `dead` dies.
fn crash(cluster: &mut Cluster) {
    let options = FrameworkOptions {
        checkpoint: false,
        ..FrameworkOptions::named("gpu-recovery")
    };
    let framework = Framework::subscribe(cluster.master.address(), &options).unwrap();
    let program = cluster.agent.folder().join("launcher/mesos-executor");
    let executor = ExecutorSpec::custom("x", &format!("exec {} --stay", program.display())).resources(&SMALL);
    let offer = framework.offer_with(&[("gpus", 2.0)], PATIENCE).unwrap();
    let task = Task::new("task", "sleep 1000")
        .resources(&SMALL)
        .resources(&[("gpus", 2.0)])
        .executor(&executor);
    framework.launch(&offer, &[task]).unwrap();
    let running = framework.wait_state("task", "TASK_RUNNING", PATIENCE);
    assert!(running.is_ok(), "{running:?}\n{}", cluster.agent.log());
    for id in ["alive", "dead"] {
        launch(&cluster.agent, id, 1.0, "exec sleep 1000").unwrap();
    }
    let containers = cluster.agent.operator().containers().unwrap();
    let dead = containers
        .iter()
        .find(|container| container.id == ["dead"])
        .unwrap();
    let process = Pid::from_raw(i32::try_from(dead.pid.unwrap()).unwrap());
    cluster.agent.kill9().unwrap();
    kill(process, Signal::SIGKILL).unwrap();
}

/// Starts the agent again and waits until only `alive` is left; its grant is what it was.
fn start_again(cluster: &mut Cluster) {
    let before = grants(&cluster.agent);
    assert_eq!(before.values().map(BTreeSet::len).sum::<usize>(), 4, "{before:?}");
    cluster.agent.restart().unwrap();
    cluster.agent.wait_registered(PATIENCE).unwrap();
    eventually("the dead and the orphan to go", || {
        let now = grants(&cluster.agent);
        assert_eq!(now.get("alive"), before.get("alive"), "{now:?}");
        assert!(in_two(&now).is_empty(), "{now:?}");
        (now.len() == 1).then_some(())
    });
}

/// Asserts that all GPUs but those that `alive` holds can be had and no more, and those as well when it ends.
fn assert_rest_is_free(agent: &Agent, machine: &Machine, rest: u32) {
    if let Err(refusal) = launch(agent, "rest", rest.into(), "exec sleep 1000") {
        panic!("{refusal}\n{}", agent.log());
    }
    let now = grants(agent);
    assert_eq!(now["rest"].len(), usize::try_from(rest).unwrap());
    assert!(in_two(&now).is_empty(), "{now:?}");
    let refusal = launch(agent, "greedy", 1.0, "true").unwrap_err();
    assert!(
        refusal.body().contains("1 more wanted, 0 of 6 free"),
        "{refusal}\n{}",
        agent.log()
    );
    for id in ["rest", "alive"] {
        end(agent, id);
    }
    assert_all_free(agent, machine);
}

/// Harms the checkpoint of a crashed agent; the log must have a line with all of these texts, and the agent's
/// containers keep what they had.
fn recovers_from(proof: &str, harm: impl FnOnce(&Path), texts: &[&str]) {
    if common::lacking(proof) {
        return;
    }
    let machine = Machine::with_gpus(GPUS);
    let mut cluster = Cluster::start(&machine);
    crash(&mut cluster);
    let path = checkpoint(&cluster.agent);
    harm(&path);
    let harmed = fs::read(&path).ok();
    start_again(&mut cluster);
    logged(&cluster.agent, texts);
    // Each of the three is named with what it holds.
    assert_eq!(
        log_lines(&cluster.agent.log(), &["; they hold 4 of 6 GPUs"]).len(),
        1,
        "{}",
        cluster.agent.log()
    );
    assert!(path.exists(), "it is written anew");
    let aside = path.with_file_name("checkpoint.json.unusable");
    assert_eq!(fs::read(aside).ok(), harmed, "what cannot be used is kept");
    assert_rest_is_free(&cluster.agent, &machine, GPUS - 1);
}

#[test]
fn ROOT_CGROUPS_without_its_checkpoint_an_agent_believes_the_kernel() {
    recovers_from(
        "a checkpoint that is gone",
        |path| fs::remove_file(path).unwrap(),
        &["container alive holds what the kernel grants, there is no checkpoint: "],
    );
}

#[test]
fn ROOT_CGROUPS_a_checkpoint_that_was_cut_short_is_kept_aside_and_the_kernel_believed() {
    recovers_from(
        "a checkpoint that was cut short",
        |path| {
            let whole = fs::read(path).unwrap();
            fs::write(path, &whole[..whole.len() / 2]).unwrap();
        },
        &["container alive holds what the kernel grants, the checkpoint cannot be used: "],
    );
}

#[test]
fn ROOT_CGROUPS_a_checkpoint_of_a_newer_version_is_kept_aside_and_the_kernel_believed() {
    recovers_from(
        "a checkpoint of a newer version",
        |path| {
            let text = fs::read_to_string(path).unwrap();
            assert!(text.contains("\"version\": 1,"), "{text}");
            fs::write(path, text.replace("\"version\": 1,", "\"version\": 2,")).unwrap();
        },
        &["it is of version 2, and this module knows version 1 only"],
    );
}

/// The same machine with the minors the other way round.
fn renumbered(machine: &Machine) -> Machine {
    let mut machine = machine.clone();
    for gpu in &mut machine.gpus {
        gpu.minor = GPUS - 1 - gpu.minor;
    }
    machine
}

#[test]
fn ROOT_CGROUPS_gpus_that_got_other_minors_while_the_agent_was_away_are_not_mistaken_for_one_another() {
    if common::lacking("other minors after a restart") {
        return;
    }
    let machine = Machine::with_gpus(GPUS);
    let mut cluster = Cluster::start(&machine);
    crash(&mut cluster);
    let now = renumbered(&machine);
    cluster.agent.simulation().unwrap().update(&now).unwrap();
    start_again(&mut cluster);
    // It was given one GPU, and the kernel lets it open another, by the number of the first: nobody else gets either.
    assert_rest_is_free(&cluster.agent, &now, GPUS - 2);
}

#[test]
fn ROOT_CGROUPS_gpus_that_get_other_minors_while_the_agent_runs_are_granted_by_the_new_ones() {
    if common::lacking("other minors in a running agent") {
        return;
    }
    let machine = Machine::with_gpus(GPUS);
    let cluster = Cluster::start(&machine);
    let agent = &cluster.agent;
    for (id, machine) in [("before", machine.clone()), ("after", renumbered(&machine))] {
        agent.simulation().unwrap().update(&machine).unwrap();
        let out = cluster.bed.folder().join(id);
        launch(
            agent,
            id,
            2.0,
            &format!("{}; exec sleep 1000", probe::command(&out)),
        )
        .unwrap();
        eventually("the container to look at its GPUs", || out.exists().then_some(()));
        probe::read(&out).assert_has(&machine, 2);
        end(agent, id);
        assert_all_free(agent, &machine);
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The testbed's promise: a real master and agent run, survive, and leave nothing behind.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use testbed::bed::cgroups::Hierarchies;
use testbed::operator::LaunchContainer;
use testbed::{Testbed, support};

const PATIENCE: Duration = Duration::from_secs(60);

/// Mounts below a folder, in the namespace of the test.
fn mounts_below(folder: &Path) -> Vec<String> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(1));
    points
        .filter(|point| Path::new(point).starts_with(folder))
        .map(str::to_owned)
        .collect()
}

fn is_alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn ROOT_CGROUPS_an_agent_registers_runs_containers_survives_kill_9_and_leaves_nothing() {
    if let Some(lacking) = support::lacking_for_cgroups() {
        return support::skip(&format!("real Mesos with cgroups: {lacking}"));
    }
    let bed = Testbed::new().unwrap();
    let mut master = bed.master().start().unwrap();
    master.wait_ready(PATIENCE).unwrap();
    let mut agent = bed.agent().start().unwrap();
    let id = agent.wait_registered(PATIENCE).unwrap();
    let agents = master.operator().agents().unwrap();
    assert_eq!(agents.len(), 1, "{agents:?}");
    assert!(agents[0].to_string().contains(&id), "{agents:?}");

    // A container that runs, with the answer of its program.
    let operator = agent.operator();
    operator
        .launch_container(&LaunchContainer::new(&["short"], "echo hello; exit 7"))
        .unwrap();
    assert_eq!(operator.wait_container(&["short"]).unwrap().code(), Some(7));
    let output = agent.work_dir().join("containers/short/stdout");
    assert_eq!(std::fs::read_to_string(output).unwrap(), "hello\n");

    // One that is still running when the agent dies, and is known to the next.
    operator
        .launch_container(&LaunchContainer::new(&["long"], "sleep 1000"))
        .unwrap();
    let rules = agent.device_rules().unwrap();
    assert!(
        rules[Path::new("long")].contains(&"c 1:3 rwm".to_owned()),
        "{rules:?}"
    );
    let before = agent.container_processes().unwrap();
    assert!(!before.is_empty());
    agent.kill9().unwrap();
    agent.restart().unwrap();
    assert_eq!(agent.wait_registered(PATIENCE).unwrap(), id);
    let known: BTreeSet<_> = agent
        .operator()
        .containers()
        .unwrap()
        .into_iter()
        .map(|c| c.id)
        .collect();
    assert_eq!(known, BTreeSet::from([vec!["long".to_owned()]]));
    let after = agent.container_processes().unwrap();
    assert!(
        before.iter().all(|pid| after.contains(pid)),
        "{before:?} {after:?}"
    );

    let hierarchies = Hierarchies::find().unwrap();
    let (root, folder, work_dir) = (
        agent.cgroups_root().to_owned(),
        bed.folder().to_owned(),
        agent.work_dir(),
    );
    assert!(!hierarchies.roots(&root).is_empty());
    assert!(!mounts_below(&work_dir).is_empty());
    // In the order that is worst for whoever cleans up: the testbed itself first.
    drop(bed);
    drop(master);
    drop(agent);
    assert_eq!(hierarchies.roots(&root), Vec::<PathBuf>::new());
    assert_eq!(mounts_below(&folder), Vec::<String>::new());
    assert!(!folder.exists());
    for pid in after {
        assert!(!is_alive(pid.as_raw()), "process {pid} still runs");
    }
}

#[test]
fn ROOT_an_agent_of_another_user_runs_containers() {
    if !nix::unistd::geteuid().is_root() {
        return support::skip("an agent of another user: root");
    }
    let bed = Testbed::new().unwrap();
    let mut master = bed.master().start().unwrap();
    master.wait_ready(PATIENCE).unwrap();
    let mut agent = bed.agent().user(65534, 65534).start().unwrap();
    agent.wait_registered(PATIENCE).unwrap();
    runs_as(&agent, 65534);
    let leftover = leave_a_process(&agent);
    drop((agent, master, bed));
    assert!(!is_alive(leftover), "process {leftover} still runs");
}

#[test]
fn an_agent_without_cgroups_runs_containers_as_its_own_user() {
    let bed = Testbed::new().unwrap();
    let mut master = bed.master().start().unwrap();
    master.wait_ready(PATIENCE).unwrap();
    let agent = bed
        .agent()
        .isolation("filesystem/posix")
        .flag("launcher", "posix");
    let mut agent = agent.start().unwrap();
    agent.wait_registered(PATIENCE).unwrap();
    runs_as(&agent, nix::unistd::geteuid().as_raw());
}

fn runs_as(agent: &testbed::Agent, user: u32) {
    let operator = agent.operator();
    operator
        .launch_container(&LaunchContainer::new(&["who"], "id -u"))
        .unwrap();
    assert_eq!(
        operator.wait_container(&["who"]).unwrap().code(),
        Some(0),
        "{}",
        agent.log()
    );
    let output = std::fs::read_to_string(agent.work_dir().join("containers/who/stdout")).unwrap();
    assert_eq!(output.trim(), user.to_string());
}

/// Starts a container that outlives its agent; without cgroups only its sandbox tells whose it is.
fn leave_a_process(agent: &testbed::Agent) -> i32 {
    agent
        .operator()
        .launch_container(&LaunchContainer::new(&["left"], "sleep 1000"))
        .unwrap();
    let containers = agent.operator().containers().unwrap();
    i32::try_from(containers.iter().find_map(|container| container.pid).unwrap()).unwrap()
}

#[test]
fn two_clusters_run_side_by_side() {
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let sender = sender.clone();
            scope.spawn(move || {
                let bed = Testbed::new().unwrap();
                let mut master = bed.master().start().unwrap();
                let mut agent = bed.agent().start().unwrap();
                let id = agent.wait_registered(PATIENCE).unwrap();
                master.wait_ready(PATIENCE).unwrap();
                let agents = master.operator().agents().unwrap();
                assert_eq!(agents.len(), 1, "each master has one agent: {agents:?}");
                sender
                    .send((id, bed.folder().to_owned(), agent.address().to_owned()))
                    .unwrap();
            });
        }
    });
    let (first, second) = (receiver.recv().unwrap(), receiver.recv().unwrap());
    assert!(
        first.0 != second.0 && first.1 != second.1 && first.2 != second.2,
        "{first:?} {second:?}"
    );
}

#[test]
fn an_agent_that_dies_early_says_why() {
    let bed = Testbed::new().unwrap();
    let mut agent = bed.agent().isolation("no_such_isolator").start().unwrap();
    let error = agent.wait_ready(PATIENCE).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot run the agent: it ended with exit status: 1"),
        "{error}"
    );
    assert!(error.contains("no_such_isolator"), "{error}");
}

#[test]
fn a_foreign_mesos_environment_changes_nothing() {
    let bed = Testbed::new().unwrap();
    let mut master = bed
        .master()
        .env("MESOS_GPU_SKIPS", "/nonexistent")
        .start()
        .unwrap();
    master.wait_ready(PATIENCE).unwrap();
    assert!(
        !master.log().contains("Failed to load unknown flag"),
        "{}",
        master.log()
    );
}

#[test]
fn ROOT_CGROUPS_a_container_with_a_terminal_runs_behind_the_switchboard() {
    if let Some(lacking) = support::lacking_for_cgroups() {
        return support::skip(&format!("a container with a terminal: {lacking}"));
    }
    let bed = Testbed::new().unwrap();
    let _master = bed.master().start().unwrap();
    let mut agent = bed.agent().start().unwrap();
    agent.wait_registered(PATIENCE).unwrap();
    let launch = serde_json::json!({"type": "LAUNCH_CONTAINER", "launch_container": {
        "container_id": {"value": "tty"},
        "command": {"shell": true, "value": "test -t 0 && test -t 1 && echo terminal"},
        "container": {"type": "MESOS", "tty_info": {}},
    }});
    agent.operator().launch(&launch).unwrap();
    assert_eq!(
        agent.operator().wait_container(&["tty"]).unwrap().code(),
        Some(0),
        "{}",
        agent.log()
    );
    let output = std::fs::read_to_string(agent.work_dir().join("containers/tty/stdout")).unwrap();
    assert!(output.ends_with("terminal\r\n"), "{output:?}");
}

// SPDX-License-Identifier: Apache-2.0
//! A test runner that is killed takes its masters and agents with it, and `testbed clean` removes the rest.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use testbed::bed::cgroups::Hierarchies;
use testbed::operator::LaunchContainer;
use testbed::{Testbed, support};

const PATIENCE: Duration = Duration::from_secs(60);

/// Names the file in which the process that is to be killed leaves what it made.
const NOTES: &str = "TESTBED_TEST_NOTES";

#[test]
fn ROOT_CGROUPS_nothing_is_left_of_a_test_runner_that_was_killed() {
    if let Some(lacking) = support::lacking_for_cgroups() {
        return support::skip(&format!("cleaning up after a crash: {lacking}"));
    }
    if let Some(notes) = std::env::var_os(NOTES) {
        return be_killed(Path::new(&notes));
    }
    let scratch = tempfile::tempdir().unwrap();
    let notes = scratch.path().join("notes");
    let mut runner = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "ROOT_CGROUPS_nothing_is_left_of_a_test_runner_that_was_killed",
        ])
        .env(NOTES, &notes)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the cluster to run", || notes.exists());
    let text = std::fs::read_to_string(&notes).unwrap();
    let [folder, root, agent, master] = text.lines().collect::<Vec<_>>().try_into().unwrap();
    let folder = PathBuf::from(folder);
    runner.kill().unwrap();
    runner.wait().unwrap();
    for process in [agent, master] {
        wait_until("Mesos to end with the runner", || !is_alive(process));
    }
    let hierarchies = Hierarchies::find().unwrap();
    assert!(
        folder.exists() && !hierarchies.roots(root).is_empty(),
        "a container is left"
    );

    let cleaned = Command::new(Testbed::program().unwrap())
        .arg("clean")
        .output()
        .unwrap();
    assert!(cleaned.status.success(), "{cleaned:?}");
    assert!(
        String::from_utf8_lossy(&cleaned.stderr).contains(root),
        "{cleaned:?}"
    );
    assert!(!folder.exists());
    assert_eq!(hierarchies.roots(root), Vec::<PathBuf>::new());
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains(folder.to_str().unwrap()));
}

fn be_killed(notes: &Path) {
    let bed = Testbed::new().unwrap();
    let mut master = bed.master().start().unwrap();
    master.wait_ready(PATIENCE).unwrap();
    let mut agent = bed.agent().start().unwrap();
    agent.wait_registered(PATIENCE).unwrap();
    agent
        .operator()
        .launch_container(&LaunchContainer::new(&["c"], "sleep 1000"))
        .unwrap();
    let lines = [
        bed.folder().display().to_string(),
        agent.cgroups_root().to_owned(),
    ];
    let unfinished = notes.with_extension("unfinished");
    std::fs::write(
        &unfinished,
        format!("{}\n{}\n{}\n", lines.join("\n"), agent.pid(), master.pid()),
    )
    .unwrap();
    std::fs::rename(unfinished, notes).unwrap();
    std::thread::sleep(PATIENCE);
}

fn is_alive(process: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

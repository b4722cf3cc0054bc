// SPDX-License-Identifier: Apache-2.0
//! Mesos is obtained once, however many ask at the same time.

use std::process::{Command, Stdio};

use testbed::Testbed;

#[test]
fn two_processes_obtain_mesos_at_once() {
    let cache = tempfile::tempdir().unwrap();
    let start = || {
        let mut command = Command::new(Testbed::program().unwrap());
        command
            .arg("obtain")
            .env("MESOS_GPU_CACHE", cache.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let outputs = [start(), start()].map(|child| child.wait_with_output().unwrap());
    let texts = outputs.map(|output| {
        assert!(output.status.success(), "{output:?}");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout).trim(),
            cache.path().join("mesos-1.11.0").to_str().unwrap()
        );
        String::from_utf8_lossy(&output.stderr).into_owned()
    });
    let told = texts
        .iter()
        .filter(|text| text.contains("downloading Mesos"))
        .count();
    assert_eq!(told, 1, "one downloads, the other waits: {texts:?}");
    let left: Vec<_> = std::fs::read_dir(cache.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "the folder and the lock: {left:?}");

    // What is cached is silent, and is opened.
    let again = start().wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&again.stderr), "");
}

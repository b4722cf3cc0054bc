// SPDX-License-Identifier: Apache-2.0
//! `testbed real-gpu`: on a machine with NVIDIA GPUs the story itself, elsewhere that it works from what was carried there.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use std::fs;
use std::path::Path;
use std::process::Command;

use testbed::payload::Payload;
use testbed::{real_gpu, support};

#[test]
fn ROOT_CGROUPS_NVIDIA_tasks_compute_on_their_own_gpus_and_no_others_and_the_machine_stays_as_it_was() {
    if !real_gpu::is_here() {
        return support::skip("real GPUs: an NVIDIA GPU with its driver");
    }
    if !support::is_root() {
        return support::skip("real GPUs: root");
    }
    let out = tempfile::tempdir().unwrap();
    let told = Command::new(env!("CARGO_BIN_EXE_testbed"))
        .arg("real-gpu")
        .arg(format!("--out={}", out.path().display()))
        .output()
        .unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stdout));
}

#[test]
fn ROOT_CGROUPS_a_payload_tells_the_whole_story_where_cgroup_v1_is_not_even_mounted() {
    if let Some(lacking) = support::lacking_for_cgroups() {
        return support::skip(&format!("the story of real GPUs on simulated ones: {lacking}"));
    }
    let folder = tempfile::tempdir().unwrap();
    let (payload, out) = (folder.path().join("payload"), folder.path().join("out"));
    let bytes = Payload::new(&payload).fast().make().unwrap();
    assert!(bytes > 20 << 20, "{bytes} bytes cannot be all of it");

    // As on a machine of today, in a mount namespace where the controllers are mounted nowhere.
    let script =
        "umount -R /sys/fs/cgroup && ! grep -q ' cgroup ' /proc/self/mounts && exec \"$0\" --simulate \"$@\"";
    let told = Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .arg(payload.join("run"))
        .arg("--also=testbed obtain")
        .env("OUT", &out)
        .output()
        .unwrap();
    let report = fs::read_to_string(out.join("report.txt")).unwrap_or_default();
    let said = format!("{report}\n{}", String::from_utf8_lossy(&told.stderr));
    assert!(told.status.success(), "{said}");
    assert!(report.contains("cgroup v1 was not mounted; it is now"), "{said}");
    assert!(report.contains("cgroup v1 is unmounted again"), "{said}");
    assert!(report.ends_with("all as it should be\n"), "{said}");
    assert_findings(&out);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 3, "report, findings, logs");
    assert!(out.join("logs.tar.gz").is_file());
}

/// Every chapter has found something, and what matters most is among it.
fn assert_findings(out: &Path) {
    let text = fs::read_to_string(out.join("findings.jsonl")).unwrap();
    let findings: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for chapter in [
        "machine",
        "nvml",
        "mesos-gpu",
        "gpu-nvidia",
        "sharing",
        "figures",
        "machine-after",
    ] {
        assert!(
            findings.iter().any(|one| one["chapter"] == chapter),
            "{chapter}: {text}"
        );
    }
    for check in [
        "task with 1 GPUs, host: CUDA computes and the result is right",
        "task with 1 GPUs, image: CUDA computes and the result is right",
        "task with 0 GPUs, host: CUDA refuses",
        "task with 0 GPUs, image: it can open as many GPUs",
        "nobody else gets its GPU",
        "a guest computes on while its owner waits",
    ] {
        assert!(
            findings
                .iter()
                .any(|one| one["check"] == check && one["holds"] == true),
            "{check}: {text}"
        );
    }
}

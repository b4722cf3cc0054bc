// SPDX-License-Identifier: Apache-2.0
//! A defect in what decides must not stop a cluster: offers go on, unchanged, and the log says what happened.
//! Needs a debug build, as these tests are.

use testbed::Testbed;

use crate::cluster::{PATIENCE, agent, builder, framework, offer, wait_log};

#[test]
fn a_failure_in_a_decision_passes_the_offer_on_and_is_logged() {
    for (fault, told) in [
        ("allocator.decide panic", "allocator.decide panicked"),
        ("allocator.offer throw", "told to throw in allocator.offer"),
    ] {
        let bed = Testbed::new().unwrap();
        let faults = bed.folder().join("faults");
        std::fs::write(&faults, fault).unwrap();
        let mut master = builder(&bed, &[("policy", "share")])
            .env("MESOS_GPU_FAULTS", faults.display().to_string())
            .start()
            .unwrap();
        master.wait_ready(PATIENCE).unwrap();
        let _agent = agent(&bed);
        let without = framework(&master, "without", "a", false);
        let untouched = offer(&without);
        assert_eq!((untouched.gpus(), untouched.cpus()), (4.0, 8.0), "{fault}");
        wait_log(&master, told);
        // The next one is decided again.
        std::fs::write(&faults, "").unwrap();
        without.decline(&untouched, 0.0).unwrap();
        assert_eq!(offer(&without).gpus(), 0.0, "{fault}");
    }
}

#[test]
fn a_failure_of_what_is_told_loses_no_call() {
    const TOLD: [&str; 9] = [
        "initialized",
        "inner_filters",
        "framework_added",
        "agent_added",
        "recovered",
        "suppressed",
        "revival_waits",
        "revived",
        "framework_removed",
    ];
    let bed = Testbed::new().unwrap();
    let faults = bed.folder().join("faults");
    let lines: Vec<String> = TOLD
        .iter()
        .map(|one| format!("allocator.{one} throw\n"))
        .collect();
    std::fs::write(&faults, lines.concat()).unwrap();
    let mut master = builder(&bed, &[("policy", "share")])
        .env("MESOS_GPU_FAULTS", faults.display().to_string())
        .start()
        .unwrap();
    master.wait_ready(PATIENCE).unwrap();
    let _agent = agent(&bed);
    let gpus = framework(&master, "gpus", "r", true);
    let first = offer(&gpus);
    gpus.decline(&first, 0.0).unwrap();
    assert_eq!(offer(&gpus).gpus(), 4.0);
    gpus.revive().unwrap();
    gpus.teardown().unwrap();
    let other = framework(&master, "other", "q", true);
    assert_eq!(offer(&other).gpus(), 4.0);
    assert!(
        master.log().contains("told to throw in allocator.initialized"),
        "{}",
        master.log()
    );
}

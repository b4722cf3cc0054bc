// SPDX-License-Identifier: Apache-2.0
//! Idle GPUs are offered a second time, in the real Mesos: to those who take revocable resources, and only while they are idle.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use std::time::Duration;

use common::oversubscription::{Controller, Shared, offered, process, revocable_offer, used_by, withdrawn};
use fake_nvml::{Fault, Memory};

#[test]
fn ROOT_CGROUPS_a_held_gpu_that_is_idle_is_offered_once_to_those_who_take_revocable_resources() {
    if common::lacking("idle GPUs that are offered a second time") {
        return;
    }
    let mut shared = Shared::start(2, Controller::Loaded);
    let owners = shared.framework("owners", false);
    let owner = shared.own(&owners, "owner", 1.0);
    let guests = shared.framework("guests", true);
    let offer = offered(&shared, &guests);
    assert_eq!((offer.revocable("gpus"), offer.gpus()), (1.0, 1.0), "{offer:?}");
    guests.decline(&offer, 0.0).unwrap();

    let plain = shared.framework("plain", false);
    assert!(revocable_offer(&plain, Duration::from_secs(1)).is_none());
    plain.teardown().unwrap();

    let (pid, minor) = (shared.pid(&owner), *shared.minors(&owner).first().unwrap());
    shared.gpu(minor, |gpu| used_by(gpu, vec![process(pid, 80, 1 << 20)]));
    withdrawn(&guests);
    shared.gpu(minor, |gpu| used_by(gpu, vec![]));
    assert_eq!(offered(&shared, &guests).revocable("gpus"), 1.0);
}

#[test]
fn ROOT_CGROUPS_a_gpu_of_which_the_driver_does_not_say_that_it_is_idle_is_not_offered() {
    if common::lacking("GPUs that are not offered a second time") {
        return;
    }
    let mut shared = Shared::start(4, Controller::Missing);
    // A model that is loaded and waits, and counters that the product does not have.
    let total = shared.machine.gpus[0].memory.unwrap().total;
    let used = 20 << 30;
    shared.gpu(0, |gpu| {
        gpu.memory = Some(Memory {
            total,
            used,
            free: total - used,
        });
    });
    shared.gpu(1, |gpu| gpu.utilization = None);
    shared.gpu(2, |gpu| gpu.memory = None);
    let owners = shared.framework("owners", false);
    for id in ["a", "b", "c", "d"] {
        shared.own(&owners, id, 1.0);
    }
    let guests = shared.framework("guests", true);
    let offer = offered(&shared, &guests);
    assert_eq!(offer.revocable("gpus"), 1.0, "only the fourth is idle");
    guests.decline(&offer, 0.0).unwrap();

    shared.driver(|machine| machine.faults.push(Fault::hang("nvmlDeviceGetUtilizationRates")));
    withdrawn(&guests);
    common::assert_serves_without_gpus(&shared.cluster.agent);
    assert!(revocable_offer(&guests, Duration::from_secs(3)).is_none());
    shared.driver(|machine| {
        machine.faults.clear();
        for gpu in &mut machine.gpus {
            gpu.memory = Some(Memory {
                total,
                used: 0,
                free: total,
            });
            used_by(gpu, vec![]);
        }
    });
    common::eventually("all four to be offered", || {
        let offer = offered(&shared, &guests);
        let all = offer.revocable("gpus") == 4.0;
        guests.decline(&offer, 0.0).unwrap();
        all.then_some(())
    });
}

// SPDX-License-Identifier: Apache-2.0
//! Owners beside guests: whose a process is, and who must go.

use crate::story::{Story, logged, quiet, uuid};
use crate::support::agent::{ROOT, id};
use crate::support::driver_proc::proc_gpu;
use crate::support::nvml::gpu_sample;
use mesos_gpu::domain::estimate::{Cause, Eviction};

#[test]
fn an_estimate_that_shrinks_from_2_to_0_while_2_are_in_use_takes_nothing_away_and_is_said_once() {
    let mut story = Story::idle(2);
    assert_eq!(story.offered().len(), 2);
    story.guest("g0", 0, 100);
    story.guest("g1", 1, 101);
    // What is in use is Mesos's to add, so it is not told a second time, and nothing is taken back.
    assert_eq!((story.resources(), story.evicted()), (vec![], vec![]));
    let of = |n: u8, pid| gpu_sample(&proc_gpu(n), 90, 4096, &[(pid, 90, 4096)]);
    story.tell(vec![of(0, 100), of(1, 101)]);
    let (_, first) = logged(|| story.looks(1));
    assert_eq!(first, ["no held GPU is idle any more"]);
    let ((), rest) = logged(|| story.looks(200));
    assert_eq!(rest, Vec::<String>::new(), "equal estimates are not said again");
    assert_eq!((story.resources(), story.evicted()), (vec![], vec![]));
}

#[test]
fn an_owner_that_becomes_active_is_seen_beside_its_guest_and_only_that_guest_must_go() {
    let mut story = Story::idle(2);
    story.guest("g0", 0, 100);
    story.guest("g1", 1, 101);
    story.cgroup.enter(&id("c0").cgroup(ROOT), 200);
    let of = |n: u8, pid, own: u32| {
        let processes = [(pid, 90, 4096), (200 + u32::from(n), own, 100)];
        gpu_sample(&proc_gpu(n), 100, 4196, &processes[..2 - usize::from(n)])
    };
    story.tell(vec![of(0, 100, 5), of(1, 101, 0)]);
    story.looks(5);
    assert_eq!(story.evicted(), []);
    story.tell(vec![of(0, 100, 6), of(1, 101, 0)]);
    let ((), said) = logged(|| story.looks(1));
    let want = (uuid(0), vec![id("g0")], Eviction::OwnerActive(Cause::Computes(6)));
    assert_eq!(story.evicted(), [want]);
    assert_eq!(
        said,
        [format!(
            "the guests of {} must go (g0): its owner computes 6 % of the time",
            uuid(0)
        )]
    );
    let ((), said) = logged(|| story.looks(5));
    assert_eq!((story.evicted().len(), said), (1, vec![]));
    story.state.guests.remove(&id("g0"));
    assert_eq!(story.evicted(), []);
}

#[test]
fn a_process_of_nobody_counts_as_the_owners() {
    for outside in ["", "elsewhere", "mesos"] {
        let mut story = Story::idle(1);
        story.guest("g0", 0, 100);
        match outside {
            "" => story.cgroup.end(100),
            cgroup => {
                if cgroup != ROOT {
                    story.cgroup.create(cgroup);
                }
                story.cgroup.enter(cgroup, 100);
            }
        }
        story.tell(vec![gpu_sample(&proc_gpu(0), 90, 4096, &[(100, 90, 4096)])]);
        story.looks(1);
        assert_eq!(story.evicted().len(), 1, "in {outside:?}");
    }
}

#[test]
fn a_cgroup_that_cannot_be_read_makes_nobody_a_guest() {
    let mut story = Story::idle(1);
    story.guest("g0", 0, 100);
    story.tell(vec![gpu_sample(&proc_gpu(0), 90, 4096, &[(100, 90, 4096)])]);
    story.looks(1);
    assert_eq!(story.evicted(), []);
    story.cgroup.fail("cgroup_of", "input/output error");
    story.looks(1);
    assert_eq!(story.evicted().len(), 1);
}

#[test]
fn a_guests_process_that_ended_a_moment_ago_is_still_the_guests_for_one_look() {
    let mut story = Story::idle(1);
    story.guest("g0", 0, 100);
    story.tell(vec![gpu_sample(&proc_gpu(0), 90, 4096, &[(100, 90, 4096)])]);
    story.looks(1);
    story.cgroup.end(100);
    story.looks(1);
    assert_eq!(story.evicted(), []);
    story.looks(1);
    assert_eq!(story.evicted().len(), 1, "it should be gone from NVML too by now");
}

#[test]
fn the_guest_that_left_does_not_make_the_owner_look_busy() {
    let mut story = Story::idle(1);
    story.guest("g0", 0, 100);
    story.tell(vec![gpu_sample(&proc_gpu(0), 90, 4096, &[(100, 90, 4096)])]);
    story.looks(1);
    story.state.guests.remove(&id("g0"));
    story.looks(1);
    story.tell(quiet(1));
    story.looks(1);
    assert_eq!(story.offered(), [uuid(0)]);
}

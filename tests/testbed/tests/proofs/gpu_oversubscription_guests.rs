// SPDX-License-Identifier: Apache-2.0
//! Guests on idle GPUs, in the real Mesos: they run beside the owner, and are gone within a poll when it wants its GPU, which
//! costs the owner nothing. The books are right at each step, also after the agent was killed in it.
#![allow(non_snake_case, reason = "a test name says what it needs, in capitals")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use crate::common;

use std::time::{Duration, Instant};

use common::oversubscription::{Controller, Shared, offered, process, used_by};
use common::{PATIENCE, log_lines, logged, probe};
use nix::unistd::Pid;
use testbed::scheduler::{Framework, TaskUpdate};

const GIB: u64 = 1 << 30;

/// How a guest ends that the QoS controller ended, and one whose watch was answered.
const LOST: &str = "TASK_LOST";
const FAILED: &str = "TASK_FAILED";

/// An owner, its minor, and a guest on its GPU that computes.
struct Sharing {
    shared: Shared,
    owner: TaskUpdate,
    guest: TaskUpdate,
    guests: Framework,
    owners: Framework,
    minor: u32,
    /// The first process of the owner's container.
    pid: u32,
}

impl Sharing {
    fn start(controller: Controller) -> Self {
        let mut shared = Shared::start(2, controller);
        let owners = shared.framework("owners", false);
        let owner = shared.own(&owners, "owner", 1.0);
        let (pid, minors) = (shared.pid(&owner), shared.minors(&owner));
        let minor = *minors.first().unwrap();
        shared.assert_books(&[(&owner, &[minor])], &[]);
        let guests = shared.framework("guests", true);
        let guest = shared.visit(&guests, "exec sleep 1000");
        let of_guest = process(shared.pid(&guest), 90, 4 * GIB);
        shared.gpu(minor, |gpu| used_by(gpu, vec![of_guest]));
        let sharing = Self {
            shared,
            owner,
            guest,
            guests,
            owners,
            minor,
            pid,
        };
        sharing.assert_shared();
        sharing
    }

    fn assert_shared(&self) {
        let minor = [self.minor];
        self.shared
            .assert_books(&[(&self.owner, &minor)], &[(&self.guest, &minor)]);
    }

    /// The owner begins to compute beside its guest.
    fn wake(&mut self) -> Instant {
        let (pid, guest) = (self.pid, self.shared.pid(&self.guest));
        self.shared.gpu(self.minor, |gpu| {
            used_by(gpu, vec![process(guest, 90, 4 * GIB), process(pid, 60, GIB)]);
        });
        Instant::now()
    }

    /// Asserts that the guest was sent away in this way, and that the owner has all that it had.
    fn assert_evicted(&mut self, state: &str, message: &str) {
        let ended = self.guests.wait_terminal(&self.guest.task, PATIENCE);
        let ended = ended.unwrap_or_else(|why| panic!("{why}\n{}", self.shared.cluster.agent.log()));
        assert_eq!(
            ended.reason.as_deref(),
            Some("REASON_CONTAINER_PREEMPTED"),
            "{ended}"
        );
        assert_eq!(ended.state, state, "{ended}");
        let said = ended.message.clone().unwrap_or_default();
        assert!(
            said.contains(message),
            "{ended}\n{}",
            self.shared.cluster.agent.log()
        );
        common::eventually("the guest's container to go", || {
            self.shared.container(&self.guest).is_none().then_some(())
        });
        let pid = self.pid;
        self.shared
            .gpu(self.minor, |gpu| used_by(gpu, vec![process(pid, 60, GIB)]));
        self.assert_owner_has_all();
    }

    fn assert_owner_has_all(&self) {
        self.shared.assert_books(&[(&self.owner, &[self.minor])], &[]);
        assert_eq!(self.shared.pid(&self.owner), self.pid);
        let updates = self.owners.updates();
        let of_owner = updates.iter().filter(|update| update.task == self.owner.task);
        assert!(
            of_owner.into_iter().all(|update| !update.is_terminal()),
            "{updates:?}"
        );
    }
}

fn rules(shared: &Shared, task: &TaskUpdate) -> Vec<String> {
    let rules = shared.cluster.agent.device_rules().unwrap();
    rules[std::path::Path::new(&task.container[0])].clone()
}

fn evicts(controller: Controller, state: &str, message: &str) {
    let mut sharing = Sharing::start(controller);
    let before = rules(&sharing.shared, &sharing.owner);
    assert_eq!(
        rules(&sharing.shared, &sharing.guest),
        before,
        "shared access is the same access"
    );
    // What the guest does is not the owner's doing, for several looks.
    std::thread::sleep(Duration::from_secs(1));
    sharing.assert_shared();

    let victim = Pid::from_raw(i32::try_from(sharing.shared.pid(&sharing.guest)).unwrap());
    let woke = sharing.wake();
    common::eventually("the guest's processes to end", || {
        let processes = sharing.shared.cluster.agent.container_processes().unwrap();
        (!processes.contains(&victim)).then_some(())
    });
    let took = woke.elapsed();
    println!(
        "{controller:?}: the guest was gone {} ms after its owner woke up",
        took.as_millis()
    );
    // One look, the kill, and a machine that is busy with others.
    assert!(
        took < Duration::from_secs(3),
        "{took:?}\n{}",
        sharing.shared.cluster.agent.log()
    );
    sharing.assert_evicted(state, message);
    assert_eq!(rules(&sharing.shared, &sharing.owner), before);
    // Mesos was told of the guest once.
    let log = sharing.shared.cluster.agent.log();
    assert_eq!(log_lines(&log, &["the guests of", "must go"]).len(), 1, "{log}");
    // And it can begin again.
    let pid = sharing.pid;
    sharing
        .shared
        .gpu(sharing.minor, |gpu| used_by(gpu, vec![process(pid, 0, 1 << 20)]));
    sharing.guest = sharing.shared.visit(&sharing.guests, "exec sleep 1000");
    sharing.assert_shared();
}

#[test]
fn ROOT_CGROUPS_an_owner_that_wakes_up_has_its_gpu_alone_within_a_poll_by_the_qos_controller() {
    if common::lacking("guests that the QoS controller ends") {
        return;
    }
    // To a framework that is partition-aware Mesos says TASK_GONE.
    evicts(Controller::Loaded, LOST, "");
}

#[test]
fn ROOT_CGROUPS_an_owner_that_wakes_up_has_its_gpu_alone_within_a_poll_without_the_qos_controller() {
    if common::lacking("guests that are ended without a QoS controller") {
        return;
    }
    evicts(Controller::Missing, FAILED, "is needed by its owner: ");
}

#[test]
fn ROOT_CGROUPS_a_guest_sees_the_owners_gpu_and_is_told_so_in_its_environment_and_its_status() {
    if common::lacking("what a guest sees") {
        return;
    }
    let shared = Shared::start(2, Controller::Loaded);
    let owners = shared.framework("owners", false);
    let owner = shared.own(&owners, "owner", 1.0);
    let guests = shared.framework("guests", true);
    let out = shared.cluster.bed.folder().join("seen");
    let guest = shared.visit(&guests, &format!("{}; exec sleep 1000", probe::command(&out)));
    common::eventually("the guest to look", || out.exists().then_some(()));
    let seen = probe::read(&out);
    seen.assert_has(&shared.machine, 1);
    assert_eq!(seen.minors(), shared.minors(&owner));
    const KEY: &str = "nvidia.com/gpu.uuids";
    assert!(
        guest.label(KEY).is_some() && guest.label(KEY) == owner.label(KEY),
        "{guest:?}"
    );
}

#[test]
fn ROOT_CGROUPS_a_container_that_is_to_hold_a_gpu_gets_it_from_the_guest_that_its_owner_left_on_it() {
    if common::lacking("a GPU whose owner ends before its guest") {
        return;
    }
    for controller in [Controller::Loaded, Controller::Missing] {
        let sharing = &mut Sharing::start(controller);
        // The second GPU is taken, so the first is needed.
        let other = sharing.shared.own(&sharing.owners, "other", 1.0);
        let agent = sharing.owner.agent_id.clone().unwrap();
        sharing.owners.kill(&sharing.owner.task, &agent).unwrap();
        sharing
            .owners
            .wait_terminal(&sharing.owner.task, PATIENCE)
            .unwrap();
        sharing.shared.begin(&sharing.owners, "next", 1.0);
        let ended = sharing
            .guests
            .wait_terminal(&sharing.guest.task, PATIENCE)
            .unwrap();
        sharing.shared.gpu(sharing.minor, |gpu| used_by(gpu, vec![]));
        let next = sharing.owners.wait_state("next", "TASK_RUNNING", PATIENCE);
        let next = next.unwrap_or_else(|why| panic!("{why}\n{}", sharing.shared.cluster.agent.log()));
        assert_eq!(
            ended.reason.as_deref(),
            Some("REASON_CONTAINER_PREEMPTED"),
            "{ended}"
        );
        let others = sharing.shared.minors(&other).into_iter().collect::<Vec<_>>();
        sharing
            .shared
            .assert_books(&[(&next, &[sharing.minor]), (&other, &others)], &[]);
    }
}

#[test]
fn ROOT_CGROUPS_the_books_are_right_after_the_agent_was_killed_in_each_step() {
    if common::lacking("an agent that is killed beside guests") {
        return;
    }
    for controller in [Controller::Loaded, Controller::Missing] {
        // Idle, with the offer out.
        let mut shared = Shared::start(2, controller);
        let owners = shared.framework("owners", false);
        let owner = shared.own(&owners, "owner", 1.0);
        let minors: Vec<u32> = shared.minors(&owner).into_iter().collect();
        let guests = shared.framework("guests", true);
        offered(&shared, &guests);
        shared.cluster.agent.kill9().unwrap();
        shared.restart();
        shared.assert_books(&[(&owner, &minors)], &[]);
        shared.visit(&guests, "exec sleep 1000");
        drop(shared);

        // With a guest that runs.
        let mut sharing = Sharing::start(controller);
        sharing.shared.cluster.agent.kill9().unwrap();
        sharing.shared.restart();
        sharing.assert_shared();
        std::thread::sleep(Duration::from_secs(2));
        sharing.assert_shared();
        sharing.wake();
        sharing.assert_evicted(
            match controller {
                Controller::Loaded => LOST,
                Controller::Missing => FAILED,
            },
            "",
        );
        drop(sharing);

        // While it is sent away.
        let mut sharing = Sharing::start(controller);
        sharing.wake();
        logged(&sharing.shared.cluster.agent, &["the guests of", "must go"]);
        sharing.shared.cluster.agent.kill9().unwrap();
        sharing.shared.restart();
        common::eventually("the guest's container to go", || {
            sharing.shared.container(&sharing.guest).is_none().then_some(())
        });
        let pid = sharing.pid;
        sharing
            .shared
            .gpu(sharing.minor, |gpu| used_by(gpu, vec![process(pid, 60, GIB)]));
        sharing
            .guests
            .wait_terminal(&sharing.guest.task, PATIENCE)
            .unwrap();
        sharing.assert_owner_has_all();
    }
}

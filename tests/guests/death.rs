// SPDX-License-Identifier: Apache-2.0
//! The agent dies before every single thing that it writes, be it to the kernel or to its checkpoint, and starts again: who
//! holds, who is a guest, and what each can open is right every time.

use crate::house::both;
use crate::story::{SOON, Story, uuid};
use crate::support::agent::{ROOT, id};
use crate::support::machine::FakeMachine;
use mesos_gpu::domain::device_rules::DeviceRule;
use mesos_gpu::domain::ledger::Phase;
use mesos_gpu::domain::record::Record;
use mesos_gpu::isolator::reconcile;
use mesos_gpu::ports::checkpoint::{Checkpoint, Loaded};
use mesos_gpu::ports::device_cgroup::{DeviceCgroup, ProcessCgroups};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The writing ports of a machine on which the agent dies before the write with this number.
struct Mortal {
    machine: FakeMachine,
    written: Arc<AtomicUsize>,
    last: usize,
}

struct Killed;

impl Mortal {
    fn write(&self) {
        if self.written.fetch_add(1, Ordering::SeqCst) == self.last {
            resume_unwind(Box::new(Killed));
        }
    }
}

impl DeviceCgroup for Mortal {
    fn exists(&self, cgroup: &str) -> bool {
        self.machine.cgroup.exists(cgroup)
    }

    fn allow(&self, cgroup: &str, rule: DeviceRule) -> Result<(), String> {
        self.write();
        self.machine.cgroup.allow(cgroup, rule)
    }

    fn deny(&self, cgroup: &str, rule: DeviceRule) -> Result<(), String> {
        self.write();
        self.machine.cgroup.deny(cgroup, rule)
    }

    fn list(&self, cgroup: &str) -> Result<Vec<DeviceRule>, String> {
        self.machine.cgroup.list(cgroup)
    }

    fn processes(&self) -> Arc<dyn ProcessCgroups> {
        self.machine.cgroup.processes()
    }
}

impl Checkpoint for Mortal {
    fn load(&self) -> Loaded {
        self.machine.checkpoint.load()
    }

    fn save(&self, record: &Record) -> Result<(), String> {
        self.write();
        self.machine.checkpoint.save(record)
    }

    fn boot_id(&self) -> String {
        self.machine.checkpoint.boot_id()
    }
}

/// What the agent is at, in words and in calls.
type Step = (&'static str, fn(&mut Story));

/// What it is at when it dies, on three GPUs that `c0`, `c1` and `c2` hold and leave idle.
const STEPS: [Step; 7] = [
    ("a guest is launched", |story| {
        drop(story.enter("g", both(0.0, 1.0)))
    }),
    ("it grows", |story| drop(story.change("g", both(0.0, 2.0)))),
    ("another is launched", |story| {
        drop(story.enter("h", both(0.0, 1.0)))
    }),
    ("the first shrinks", |story| {
        drop(story.change("g", both(0.0, 1.0)))
    }),
    ("an owner ends", |story| {
        let _ = story.cleanup("c2");
    }),
    ("a guest ends", |story| {
        let _ = story.cleanup("h");
    }),
    ("an owner shrinks", |story| drop(story.update("c1", 0.0))),
];

/// Lets the agent die before its write with this number. None when it lives on; else in which step.
fn die_before(last: usize) -> Option<(Story, &'static str)> {
    let mut story = Story::idle(3);
    let written = Arc::new(AtomicUsize::new(0));
    let mortal = || Mortal {
        machine: story.machine.clone(),
        written: Arc::clone(&written),
        last,
    };
    let (cgroup, checkpoint) = (Box::new(mortal()), Box::new(mortal()));
    story.state.machine.cgroup = Ok(cgroup);
    story.state.machine.checkpoint = checkpoint;
    for (step, work) in STEPS {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(&mut story))) {
            assert!(panic.is::<Killed>(), "{step}");
            return Some((story, step));
        }
    }
    None
}

/// Every container that has a cgroup is still there.
fn living(story: &Story) -> Vec<&'static str> {
    let all = ["c0", "c1", "c2", "g", "h"];
    all.into_iter()
        .filter(|name| story.machine.cgroup.exists(&id(name).cgroup(ROOT)))
        .collect()
}

fn minors(story: &Story, name: &str) -> Vec<u32> {
    let units = story.state.units_of(&id(name));
    let mut minors: Vec<u32> = (0..3)
        .filter(|n| units.contains(&uuid(*n)))
        .map(u32::from)
        .collect();
    minors.sort_unstable();
    minors
}

#[test]
fn whenever_the_agent_dies_guests_are_guests_owners_owners_and_all_comes_back() {
    let mut died = Vec::new();
    for last in 0.. {
        let Some((before, step)) = die_before(last) else {
            break;
        };
        died.push(step);
        let case = format!("before write {last}, when {step}");
        let living = living(&before);
        let mut story = before.restart(&living, &[]);
        reconcile::repair(&mut story.agent.state);
        for gpu in 0..3 {
            let unit = uuid(gpu);
            let holders: Vec<_> = story.state.ledger.holders(&unit).collect();
            let owner = id(&format!("c{gpu}"));
            assert!(
                holders.is_empty() || holders == [&owner],
                "{case}: {holders:?} hold {gpu}"
            );
            // Before an owner gives anything back it has its GPU whatever happens.
            let gone = STEPS.iter().position(|(name, _)| *name == step).unwrap() >= 4;
            assert!(gone || holders == [&owner], "{case}: nobody holds {gpu}");
            let guests = story.guests_on(gpu);
            assert!(guests.len() <= 1, "{case}: {guests:?} are on {gpu}");
            if holders.is_empty() && !guests.is_empty() {
                assert_eq!(story.phase(gpu), Phase::Releasing, "{case}");
            }
        }
        for name in &living {
            let mut open = story.open_gpus(name);
            open.sort_unstable();
            assert_eq!(open, minors(&story, name), "{case}: {name}");
        }
        for guest in ["g", "h"] {
            assert_eq!(story.holds(guest), [], "{case}");
        }
        // The first guest that was launched is where it was, whatever was done to others.
        if step != "a guest is launched" {
            assert!(minors(&story, "g").contains(&0), "{case}");
        }
        for name in &living {
            story.end(name);
        }
        story.pass(SOON);
        assert!(
            story.state.guests.is_empty() && story.state.releases.is_empty(),
            "{case}"
        );
        assert_eq!(story.free(), 3, "{case}");
    }
    for (step, _) in STEPS {
        let writes = died.iter().filter(|at| **at == step).count();
        assert!(writes >= 2, "{step}: only {writes} deaths");
    }
}

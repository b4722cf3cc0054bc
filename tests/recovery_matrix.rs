// SPDX-License-Identifier: Apache-2.0
//! The agent comes back: every state of its checkpoint, of the container, of its GPU and of the machine, in one table.
//!
//! What must be held is worked out here by two plain rules, apart from the code under test: the kernel's rules name the
//! units that have those numbers now, and a checkpoint of the same boot names what it names. Both count.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mesos_gpu::domain::gpu::UnitId;
use mesos_gpu::ports::checkpoint::Loaded;
use std::collections::BTreeSet;
use std::time::Duration;
use support::agent::FakeAgent;
use support::driver_proc::proc_gpu;
use support::nvml::{Answer, nvml_gpu, survey};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Written {
    Present,
    Absent,
    Corrupt,
    NewerVersion,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Container {
    Alive,
    Dead,
    Orphan,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Gpu {
    Present,
    Lost,
    /// The numbers of the first two are swapped.
    Renumbered,
}

fn held(agent: &FakeAgent) -> BTreeSet<UnitId> {
    agent
        .state
        .ledger
        .all_held()
        .values()
        .flatten()
        .cloned()
        .collect()
}

fn row(written: Written, container: Container, gpu: Gpu, same_boot: bool) {
    let case = format!("{written:?}, {container:?}, {gpu:?}, same boot: {same_boot}");
    let mut before = FakeAgent::with_gpus(3);
    before.launch("c", 1.0).unwrap();

    match written {
        Written::Present => {}
        Written::Absent => before.checkpoint.put(Loaded::Absent),
        Written::Corrupt => before.checkpoint.ruin("it is cut short"),
        Written::NewerVersion => before.checkpoint.ruin("it is of version 2, this is version 1"),
    }
    if !same_boot {
        before.checkpoint.set_boot_id("another");
    }
    let mut now: Vec<_> = (0..3).map(proc_gpu).collect();
    match gpu {
        Gpu::Present => {}
        Gpu::Lost => drop(now.remove(0)),
        Gpu::Renumbered => (now[0].minor, now[1].minor) = (1, 0),
    }
    let listed = now
        .iter()
        .zip(0..)
        .map(|(gpu, index)| nvml_gpu(index, gpu))
        .collect();
    before.nvml.usual(Answer::Now(Ok(survey("580.159.04", listed))));
    before.driver.change(|report| report.gpus.clone_from(&now));

    let mut agent = before.restart();
    let (live, orphans): (&[&str], &[&str]) = match container {
        Container::Alive => (&["c"], &[]),
        Container::Orphan => (&[], &["c"]),
        Container::Dead => {
            agent.cgroup.remove("mesos/c");
            (&[], &[])
        }
    };
    agent
        .recover(live, orphans)
        .unwrap_or_else(|error| panic!("{case}: {error}"));

    let mut must = BTreeSet::new();
    if container != Container::Dead {
        match gpu {
            Gpu::Present => must.insert(proc_gpu(0).uuid),
            Gpu::Renumbered => must.insert(proc_gpu(1).uuid),
            Gpu::Lost => false,
        };
        if written == Written::Present && same_boot {
            must.insert(proc_gpu(0).uuid);
        }
    }
    assert_eq!(held(&agent), must, "{case}");

    // Nobody else gets what is held.
    let there = agent.state.inventory.units().len();
    let free = agent.free();
    assert_eq!(
        free,
        agent
            .state
            .inventory
            .units()
            .iter()
            .filter(|unit| !must.contains(&unit.id))
            .count(),
        "{case}"
    );
    #[allow(clippy::cast_precision_loss)] // There are three.
    agent
        .launch("other", free as f64)
        .unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_eq!(
        agent.state.ledger.held_by(&support::agent::id("other")).len(),
        free,
        "{case}"
    );
    agent.end("other");

    // Everything is free when it is gone, and the total never changed.
    if container != Container::Dead {
        agent.end("c");
    }
    agent.pass(Duration::from_secs(5));
    assert_eq!(agent.free(), there, "{case}");
    assert_eq!(agent.state.advertised.units.len(), 3, "{case}");
}

#[test]
fn every_row_of_the_recovery_matrix() {
    let mut rows = 0;
    for written in [
        Written::Present,
        Written::Absent,
        Written::Corrupt,
        Written::NewerVersion,
    ] {
        for container in [Container::Alive, Container::Dead, Container::Orphan] {
            for gpu in [Gpu::Present, Gpu::Lost, Gpu::Renumbered] {
                for same_boot in [true, false] {
                    row(written, container, gpu, same_boot);
                    rows += 1;
                }
            }
        }
    }
    assert_eq!(rows, 72);
}

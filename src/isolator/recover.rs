// SPDX-License-Identifier: Apache-2.0
//! `recover`: the agent starts, perhaps beside containers of its predecessor.
//!
//! What a container holds is told by two witnesses, the agent's own checkpoint and the kernel, for live containers and for
//! orphans alike (those are destroyed later, and hold until then); who was a guest is told by the checkpoint alone. Nothing here fails the agent: one container that cannot
//! be read costs a log line.

use crate::agent::discovery::AFTER_START;
use crate::agent::reply::Reply;
use crate::agent::state::State;
use crate::agent::{eviction, release};
use crate::domain::container::{ContainerId, Executor};
use crate::domain::gpu::UnitId;
use crate::domain::record::Record;
use crate::domain::recovery::{Checkpointed, Witnesses, guest_of, holds, same_boot};
use crate::domain::words::listed;
use crate::isolator::{devices, observe};
use crate::ports::checkpoint::Loaded;

/// A container that lives on.
#[derive(Debug, Clone)]
pub struct Live {
    /// Which.
    pub id: ContainerId,
    /// The executor it was made for, when it was made for one.
    pub executor: Option<Executor>,
    /// Its first process.
    pub pid: Option<u32>,
}

/// Takes up the containers of the agent before.
pub fn recover(state: &mut State, live: &[Live], orphans: &[ContainerId], reply: &Reply<()>) {
    let loaded = if observe::is_on(state) {
        Loaded::Absent
    } else {
        state.machine.checkpoint.load()
    };
    if let Loaded::Unusable(why) = &loaded {
        log::error!("the checkpoint cannot be used, what the kernel grants is what containers hold: {why}");
    }
    let boot_id = state.machine.checkpoint.boot_id();
    let same_boot = record_of(&loaded).is_some_and(|record| same_boot(&record.boot_id, &boot_id));
    let orphaned = orphans.iter().map(|id| (id, None, None));
    let living = live
        .iter()
        .map(|live| (&live.id, live.executor.clone(), live.pid));
    for (container, executor, pid) in living.chain(orphaned) {
        let known = state.containers.entry(container.clone()).or_default();
        known.executor = executor;
        known.pid = pid;
        known.recovered = true;
        if container.is_nested() {
            let record = record_of(&loaded).filter(|_| same_boot);
            known.given = record.and_then(|record| record.held.get(container).cloned());
            continue;
        }
        let guest_of = record_of(&loaded).map(|record| guest_of(record, container, same_boot));
        state.guests.add(container, &guest_of.unwrap_or_default());
        let checkpoint = match &loaded {
            Loaded::Absent => Checkpointed::NoRecord,
            Loaded::Unusable(_) => Checkpointed::Unusable,
            Loaded::Present(record) => Checkpointed::in_record(record, container),
        };
        take_up(state, container, checkpoint, same_boot);
    }
    release::of_guests(state);
    state.recovered = true;
    let held = state
        .inventory
        .units()
        .iter()
        .filter(|unit| state.ledger.is_held(&unit.id))
        .count();
    log::info!(
        "recovered {} containers and {} orphans; they hold {held} of {} GPUs",
        live.len(),
        orphans.len(),
        state.advertised.units.len()
    );
    reply.answer(Ok(()));
    // The kernel is told nothing here, so the disk can wait until the agent's own start is over.
    state.show();
    state.later(AFTER_START, "recover", |state| {
        state.record();
        if state.estimate.interval().is_none() {
            // Nobody watches over the owners.
            eviction::all(state, "the parameter oversubscribe is off");
        }
    });
}

/// Books what the kernel grants a container that nobody told us of.
pub(super) fn adopt(state: &mut State, container: &ContainerId) {
    take_up(state, container, Checkpointed::NotListed, true);
    state.record();
}

fn take_up(state: &mut State, container: &ContainerId, checkpoint: Checkpointed<'_>, same_boot: bool) {
    let guest_of = state.guests.of(container);
    if !guest_of.is_empty() {
        log::info!("container {container} is a guest on {}", listed(&guest_of));
    }
    let mut kernel = granted(state, container);
    if let Some(units) = &mut kernel {
        units.retain(|unit| !guest_of.contains(unit));
    }
    let witnesses = Witnesses {
        checkpoint,
        kernel: kernel.as_deref(),
        same_boot,
    };
    let decision = holds(container, &witnesses, &state.inventory);
    // Who only observes has no checkpoint, and nothing hangs on the difference.
    for note in decision.notes.iter().filter(|_| !observe::is_on(state)) {
        log::warn!("{note}");
    }
    for unit in &decision.units {
        let others = listed(state.ledger.holders(unit));
        if !others.is_empty() {
            log::error!("{unit} belongs to container {container} and to {others}; both keep it");
        }
    }
    state.ledger.adopt(container, &decision.units);
}

/// What the kernel lets a container open; none where it cannot tell.
fn granted(state: &State, container: &ContainerId) -> Option<Vec<UnitId>> {
    let cgroup = container.cgroup(&state.cgroups_root);
    let control = devices::controller(state).ok()?;
    if !control.exists(&cgroup) {
        return None;
    }
    match devices::granted(state, &cgroup) {
        Ok(units) => Some(units),
        Err(error) => {
            log::error!("cannot ask the kernel which GPUs container {container} holds: {error}");
            None
        }
    }
}

fn record_of(loaded: &Loaded) -> Option<&Record> {
    match loaded {
        Loaded::Present(record) => Some(record),
        Loaded::Absent | Loaded::Unusable(_) => None,
    }
}

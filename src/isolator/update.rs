// SPDX-License-Identifier: Apache-2.0
//! `update`: the tasks of a running container changed, and with them what it may use.
//!
//! Mesos tells the new total, not the change, and destroys the whole executor with all its tasks when this fails. So an
//! update that changes nothing touches nothing, one that takes GPUs away does not fail, and only one that asks for more
//! than there are must.

use crate::agent::reply::Reply;
use crate::agent::state::State;
use crate::domain::container::ContainerId;
use crate::error::Error;
use crate::isolator::{devices, prepare, recover};
use crate::wire::Resource;
use std::cmp::Ordering;

/// Makes the container hold as many GPUs as its resources say now.
pub fn update(state: &mut State, container: &ContainerId, resources: &[Resource], reply: &Reply<()>) {
    reply.answer(change(state, container, resources));
}

fn change(state: &mut State, container: &ContainerId, resources: &[Resource]) -> Result<(), Error> {
    if container.is_nested() {
        return Err(Error::request(format!(
            "cannot update nested container {container}: its root holds the GPUs"
        )));
    }
    if !state.containers.contains_key(container) {
        // It was there before us. What the kernel lets it use is what it has.
        recover::adopt(state, container);
        state.containers.entry(container.clone()).or_default();
    }
    let wanted = prepare::wanted(resources)?;
    let held = state.ledger.held_by(container).len();
    match wanted.cmp(&held) {
        Ordering::Equal => {}
        Ordering::Greater => {
            let more = prepare::give(state, container, wanted - held)?;
            log::info!("container {container} grew by {}", prepare::list(&more));
        }
        Ordering::Less => shrink(state, container, wanted),
    }
    Ok(())
}

/// The units that were taken last go first. A rule that cannot be withdrawn keeps its unit with the container: nobody else
/// may get a GPU that this one can still open.
fn shrink(state: &mut State, container: &ContainerId, wanted: usize) {
    let held = state.ledger.held_by(container).to_vec();
    let (kept, surplus) = held.split_at(wanted.min(held.len()));
    let cgroup = container.cgroup(&state.cgroups_root);
    let failures = devices::revoke(state, &cgroup, surplus, kept);
    if !failures.is_empty() {
        log::error!(
            "container {container} keeps {}: {}",
            prepare::list(surplus),
            failures.join("; ")
        );
        return;
    }
    state.ledger.give_back(container, surplus);
    log::info!("container {container} gave back {}", prepare::list(surplus));
}

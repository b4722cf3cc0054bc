// SPDX-License-Identifier: Apache-2.0
//! `watch`: Mesos asks to be told when a container must die. Whatever the answer, the container is destroyed, so there is
//! none while it may live. A guest that must go is told so.

use crate::agent::reply::Reply;
use crate::agent::state::State;
use crate::domain::container::ContainerId;

/// Keeps the reply with the container; `cleanup` drops it.
pub fn watch(state: &mut State, container: &ContainerId, reply: Reply<Vec<u8>>) {
    if let Some(limitation) = state.evictions.answer(container) {
        return reply.answer(Ok(limitation));
    }
    state.containers.entry(container.clone()).or_default().watch = Some(reply);
}

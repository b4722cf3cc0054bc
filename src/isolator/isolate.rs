// SPDX-License-Identifier: Apache-2.0
//! `isolate`: the container's first process exists and waits. Its devices cgroup was written in `prepare`; what is kept of
//! the process is the way into its file system, for nodes of GPUs that the container gets later.

use crate::agent::reply::Reply;
use crate::agent::state::State;
use crate::domain::container::ContainerId;

/// Notes the process and lets it go on.
pub fn isolate(state: &mut State, container: &ContainerId, pid: u32, reply: &Reply<()>) {
    if let Some(known) = state.containers.get_mut(container) {
        known.pid = Some(pid);
    }
    reply.answer(Ok(()));
}

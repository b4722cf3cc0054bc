// SPDX-License-Identifier: Apache-2.0
//! CUDA needs the nodes of unified memory, which the driver makes only on demand. They are made when a container with
//! GPUs is the first to need them, by NVIDIA's helper, beside the agent thread; a failure is that container's.

use crate::agent::state::State;
use crate::error::Error;
use crate::ports::dev_nodes::NodeState;
use std::sync::Arc;
use std::thread;

const NODE: &str = "nvidia-uvm";

/// What goes on when the nodes are there, or cannot be made.
pub(super) type Then = Box<dyn FnOnce(&mut State, Result<(), Error>) + Send>;

/// Makes sure that the nodes are there. `then` runs exactly once.
pub(super) fn ensure(state: &mut State, then: Then) {
    if !matches!(state.machine.nodes.stat(NODE), Ok(NodeState::Missing)) {
        // There, or odd in a way that the grant will name.
        return then(state, Ok(()));
    }
    let (loader, mailbox) = (Arc::clone(&state.machine.modules), state.mailbox.clone());
    let work = move || {
        let made = loader
            .load_uvm()
            .map_err(|why| Error::machine(format!("cannot make the device {NODE}: {why}")));
        mailbox.post("unified memory", move |state| then(state, made));
    };
    if let Err(error) = thread::Builder::new().name("gpu-uvm".to_owned()).spawn(work) {
        // The job went with the thread, and with it what would have answered: the reply says that it was dropped.
        log::error!("cannot start a thread to make the device {NODE}: {error}");
    }
}

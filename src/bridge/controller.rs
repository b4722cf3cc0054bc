// SPDX-License-Identifier: Apache-2.0
//! The QoS controller's calls.

use super::fault::panic_if_told;
use super::ffi::bridge::CorrectionsReply;
use super::guard::guard;
use super::{process, reply};
use crate::agent::Agent;
use crate::error::Error;
use cxx::UniquePtr;
use std::sync::OnceLock;
use std::time::Duration;

/// How long a failure is kept back: Mesos asks again as soon as it has one, without a pause of its own.
const PAUSE: Duration = Duration::from_secs(1);

/// What the C++ controller holds.
pub(super) struct ControllerCore {
    agent: OnceLock<Agent>,
}

/// Makes the controller of this process.
pub(super) fn create_controller(parameters: &[u8]) -> Result<Box<ControllerCore>, Error> {
    guard("controller.create", || {
        process::controller(parameters)?;
        Ok(Box::new(ControllerCore {
            agent: OnceLock::new(),
        }))
    })
}

impl ControllerCore {
    pub(super) fn initialize(&self) -> Result<(), Error> {
        guard("controller.initialize", || {
            self.agent
                .set(process::controlling()?)
                .map_err(|_| Error::defect("the QoS controller was initialized twice"))
        })
    }

    pub(super) fn corrections(&self, promise: UniquePtr<CorrectionsReply>) {
        const ENTRY: &str = "controller.corrections";
        let Some(agent) = self.agent.get() else {
            // Mesos asks nothing before it has initialized; the promise stays open, so it would not ask again either.
            return log::error!("{ENTRY} came before initialize");
        };
        let failing = agent.clone();
        let reply = reply::corrections(promise, move |promise, why| fail(&failing, promise, why));
        agent.submit(ENTRY, reply, |state, reply| {
            panic_if_told(ENTRY);
            state.corrections.ask(reply);
        });
    }

    /// What failed before the question came here.
    pub(super) fn fail_later(&self, promise: UniquePtr<CorrectionsReply>, why: &str) {
        log::error!("controller.corrections: {why}");
        if let Some(agent) = self.agent.get() {
            fail(agent, promise, why.to_owned());
        }
    }
}

/// Fails the question after a pause. Where the agent thread is gone it stays open: nobody would answer the next either.
fn fail(agent: &Agent, promise: UniquePtr<CorrectionsReply>, why: String) {
    agent.post("controller.corrections", move |state| {
        state.later(PAUSE, "controller.corrections", move |_| {
            if let Err(thrown) = promise.fail(&format!("mesos_gpu: {why}")) {
                log::error!("cannot answer Mesos: {thrown}");
            }
        });
    });
}

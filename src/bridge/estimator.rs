// SPDX-License-Identifier: Apache-2.0
//! The resource estimator's calls, and Mesos's word on who has what.

use super::fault::panic_if_told;
use super::ffi::bridge::{ResourcesReply, Usage};
use super::guard::{caught, guard};
use super::message::read;
use super::{process, reply};
use crate::agent::{Agent, oversubscribable};
use crate::error::Error;
use crate::ports::usage::{self, Told};
use crate::wire::usage::ResourceUsage;
use cxx::UniquePtr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What the C++ estimator holds.
pub(super) struct EstimatorCore {
    started: OnceLock<Started>,
}

struct Started {
    agent: Agent,
    usage: Arc<Source>,
}

/// Mesos's function.
struct Source(UniquePtr<Usage>);

// SAFETY: `Send` asks that it may be destroyed on another thread than the one that made it, `Sync` that it may be called from
// several. It holds a function of Mesos's, which keeps an actor's address and no more, and Mesos lets it be called from any
// thread: it only puts a message into that actor's queue.
unsafe impl Send for Usage {}
// SAFETY: as above.
unsafe impl Sync for Usage {}

/// Makes the estimator of this process.
pub(super) fn create_estimator(parameters: &[u8]) -> Result<Box<EstimatorCore>, Error> {
    guard("estimator.create", || {
        process::estimator(parameters)?;
        Ok(Box::new(EstimatorCore {
            started: OnceLock::new(),
        }))
    })
}

impl EstimatorCore {
    pub(super) fn initialize(&self, usage: UniquePtr<Usage>) -> Result<(), Error> {
        guard("estimator.initialize", || {
            let agent = process::estimating()?;
            let usage = Arc::new(Source(usage));
            self.started
                .set(Started { agent, usage })
                .map_err(|_| Error::defect("the resource estimator was initialized twice"))
        })
    }

    pub(super) fn oversubscribable(&self, promise: UniquePtr<ResourcesReply>) {
        const ENTRY: &str = "estimator.oversubscribable";
        let reply = reply::resources(promise);
        let Some(Started { agent, usage }) = self.started.get() else {
            return reply.fail(&Error::defect(format!("{ENTRY} came before initialize")));
        };
        let usage = Arc::clone(usage);
        let reply = agent.counted(ENTRY, reply);
        agent.submit(ENTRY, reply, move |state, reply| {
            panic_if_told(ENTRY);
            oversubscribable::answer(state, usage.as_ref(), reply);
        });
    }
}

impl usage::Usage for Source {
    fn ask(&self, told: Told) {
        let question = Box::new(UsageQuestion(Mutex::new(Some(told))));
        if let Err(thrown) = self.0.ask(question) {
            // The question is gone with what was thrown, and whoever asked runs out of patience.
            log::error!("cannot ask Mesos who has what: {thrown}");
        }
    }
}

/// Somebody waits for who has what.
pub(super) struct UsageQuestion(Mutex<Option<Told>>);

impl UsageQuestion {
    /// Reads the answer here, on Mesos's thread.
    pub(super) fn told(&self, usage: &[u8]) {
        self.answer(|| read::<ResourceUsage>("ResourceUsage", usage));
    }

    pub(super) fn failed(&self, why: &str) {
        self.answer(|| Err(Error::machine(why)));
    }

    fn answer(&self, read: impl FnOnce() -> Result<ResourceUsage, Error>) {
        const ENTRY: &str = "estimator.usage";
        let Some(told) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        let answer = guard(ENTRY, read).map_err(|error| error.to_string());
        let given = caught(ENTRY, || {
            told(answer);
            Ok(())
        });
        if let Err(error) = given {
            log::error!("{error}");
        }
    }
}

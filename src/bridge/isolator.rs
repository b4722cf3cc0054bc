// SPDX-License-Identifier: Apache-2.0
//! The isolator's calls, from bytes to jobs for the agent thread.

use super::fault::panic_if_told;
use super::ffi::bridge::{LaunchReply, LimitationReply, Message, NothingReply, StatusReply, UsageReply};
use super::guard::{caught, guard};
use super::message::read;
use super::{process, reply};
use crate::agent::Agent;
use crate::agent::reply::Reply;
use crate::agent::state::State;
use crate::domain::container::ContainerId;
use crate::error::Error;
use crate::isolator;
use crate::isolator::recover::Live;
use crate::wire::{ContainerConfig, ContainerID, ContainerState, Resource};
use cxx::UniquePtr;

/// What the C++ isolator holds.
pub(super) struct IsolatorCore {
    agent: Agent,
}

/// Makes the isolator of this process, and with it the agent if no other module has.
pub(super) fn create_isolator(parameters: &[u8]) -> Result<Box<IsolatorCore>, Error> {
    guard("isolator.create", || {
        Ok(Box::new(IsolatorCore {
            agent: process::isolator(parameters)?,
        }))
    })
}

impl IsolatorCore {
    pub(super) fn recover(
        &self,
        states: Vec<Message>,
        orphans: Vec<Message>,
        promise: UniquePtr<NothingReply>,
    ) {
        let read = || {
            let live = states.iter().map(|state| {
                let state: ContainerState = read("ContainerState", &state.bytes)?;
                let executor = state.executor_info.as_ref().and_then(isolator::prepare::executor);
                Ok(Live {
                    id: container(&state.container_id)?,
                    executor,
                    pid: u32::try_from(state.pid).ok(),
                })
            });
            let live = live.collect::<Result<Vec<_>, Error>>()?;
            let orphans = orphans
                .iter()
                .map(|id| container_of(&id.bytes))
                .collect::<Result<Vec<_>, Error>>()?;
            Ok((live, orphans))
        };
        self.submit(
            "isolator.recover",
            reply::nothing(promise),
            read,
            |state, (live, orphans), reply| {
                isolator::recover::recover(state, &live, &orphans, &reply);
            },
        );
    }

    pub(super) fn prepare(&self, id: &[u8], config: &[u8], promise: UniquePtr<LaunchReply>) {
        let read = || {
            Ok((
                container_of(id)?,
                read::<ContainerConfig>("ContainerConfig", config)?,
            ))
        };
        self.submit(
            "isolator.prepare",
            reply::launch(promise),
            read,
            |state, (container, config), reply| {
                isolator::prepare::prepare(state, &container, config, reply);
            },
        );
    }

    pub(super) fn isolate(&self, id: &[u8], pid: i32, promise: UniquePtr<NothingReply>) {
        let read = || {
            let pid =
                u32::try_from(pid).map_err(|e| Error::defect(format!("process {pid} cannot be: {e}")))?;
            Ok((container_of(id)?, pid))
        };
        self.submit(
            "isolator.isolate",
            reply::nothing(promise),
            read,
            |state, (container, pid), reply| {
                isolator::isolate::isolate(state, &container, pid, &reply);
            },
        );
    }

    pub(super) fn watch(&self, id: &[u8], promise: UniquePtr<LimitationReply>) {
        let read = || container_of(id);
        self.submit(
            "isolator.watch",
            reply::limitation(promise),
            read,
            |state, container, reply| {
                isolator::watch::watch(state, &container, reply);
            },
        );
    }

    pub(super) fn update(&self, id: &[u8], resources: Vec<Message>, promise: UniquePtr<NothingReply>) {
        let read = || {
            let resources = resources
                .iter()
                .map(|one| read::<Resource>("Resource", &one.bytes));
            Ok((container_of(id)?, resources.collect::<Result<Vec<_>, Error>>()?))
        };
        self.submit(
            "isolator.update",
            reply::nothing(promise),
            read,
            |state, (container, resources), reply| {
                isolator::update::update(state, &container, resources, reply);
            },
        );
    }

    pub(super) fn usage(&self, id: &[u8], promise: UniquePtr<UsageReply>) {
        let read = || container_of(id);
        self.submit("isolator.usage", reply::usage(promise), read, |_, _, reply| {
            isolator::usage::usage(&reply)
        });
    }

    pub(super) fn status(&self, id: &[u8], promise: UniquePtr<StatusReply>) {
        let read = || container_of(id);
        self.submit("isolator.status", reply::status(promise), read, |_, _, reply| {
            isolator::status::status(&reply)
        });
    }

    pub(super) fn cleanup(&self, id: &[u8], promise: UniquePtr<NothingReply>) {
        let read = || container_of(id);
        self.submit(
            "isolator.cleanup",
            reply::nothing(promise),
            read,
            |state, container, reply| {
                isolator::cleanup::cleanup(state, &container, &reply);
            },
        );
    }

    /// Reads the arguments here, on Mesos's thread, and runs the verb on the agent's. Whatever fails answers the reply.
    fn submit<A: Send + 'static, T: 'static>(
        &self,
        entry: &'static str,
        reply: Reply<T>,
        read: impl FnOnce() -> Result<A, Error>,
        verb: impl FnOnce(&mut State, A, Reply<T>) + Send + 'static,
    ) {
        let reply = self.agent.counted(entry, reply);
        let submitted = caught(entry, read).map(|arguments| {
            self.agent.submit(entry, reply.clone(), move |state, reply| {
                panic_if_told(entry);
                verb(state, arguments, reply);
            });
        });
        if let Err(error) = submitted {
            // Mesos keeps a failed cleanup to itself.
            log::error!("{entry}: {error}");
            reply.fail(&error);
        }
    }
}

fn container_of(bytes: &[u8]) -> Result<ContainerId, Error> {
    container(&read("ContainerID", bytes)?)
}

fn container(id: &ContainerID) -> Result<ContainerId, Error> {
    ContainerId::try_from(id).map_err(|e| Error::defect(e.to_string()))
}

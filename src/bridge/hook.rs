// SPDX-License-Identifier: Apache-2.0
//! The hook's calls. Mesos waits for each, so they answer from what is known already; only attributes, asked once at the
//! agent's start, wait for NVML where the operator wants what only NVML tells.

use super::ffi::bridge::Message;
use super::guard::guard;
use super::process;
use crate::advertise::{attributes, labels, resources};
use crate::agent::board::Board;
use crate::config::AttributeChoice;
use crate::domain::container::ContainerId;
use crate::domain::gpu::{Unit, UnitId};
use crate::error::Error;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// How often the board is looked at while NVML is waited for.
const LOOK: Duration = Duration::from_millis(20);

/// What the C++ hook holds.
pub(super) struct HookCore {
    /// Found once: statuses are asked often, and the way to it reads the agent's flags.
    board: OnceLock<Board>,
}

/// Makes the hook. The agent starts later, at the first question: hooks are made before isolators, whose parameters count
/// as well.
pub(super) fn create_hook(parameters: &[u8]) -> Result<Box<HookCore>, Error> {
    guard("hook.create", || {
        process::hook(parameters)?;
        Ok(Box::new(HookCore {
            board: OnceLock::new(),
        }))
    })
}

impl HookCore {
    pub(super) fn resources(&self, slave_info: &[u8]) -> Result<Vec<Message>, Error> {
        guard("hook.resources", || {
            let count = process::advertised()?;
            Ok(messages(resources::with_gpus(slave_info, count)?))
        })
    }

    pub(super) fn attributes(&self, slave_info: &[u8]) -> Result<Vec<Message>, Error> {
        guard("hook.attributes", || {
            let wanted = process::attributes()?;
            if wanted.choice.is_none() {
                return Ok(Vec::new());
            }
            let units = known_units(self.board()?, wanted.choice, wanted.wait);
            let driver = wanted.driver_version.as_deref();
            let attributes = attributes::with_gpus(slave_info, wanted.choice, &units, driver)?;
            Ok(messages(attributes))
        })
    }

    pub(super) fn status(&self, framework: &[u8], task_status: &[u8]) -> Result<Vec<u8>, Error> {
        guard("hook.status", || {
            let board = self.board()?;
            let decorated = labels::with_gpus(framework, task_status, board)?;
            Ok(decorated.unwrap_or_default())
        })
    }

    fn board(&self) -> Result<&Board, Error> {
        if let Some(board) = self.board.get() {
            return Ok(board);
        }
        let board = process::board()?;
        Ok(self.board.get_or_init(|| board))
    }
}

impl labels::Holdings for Board {
    fn of_container(&self, container: &ContainerId) -> Vec<UnitId> {
        self.held_by(container)
    }

    fn of_executor(&self, framework: &str, executor: &str) -> Vec<UnitId> {
        self.held_by_executor(framework, executor)
    }
}

fn messages(all: Vec<Vec<u8>>) -> Vec<Message> {
    all.into_iter().map(|bytes| Message { bytes }).collect()
}

/// The units, as soon as all that is chosen is known of them, or after `wait` as they are then.
fn known_units(board: &Board, choice: AttributeChoice, wait: Duration) -> Vec<Unit> {
    let start = Instant::now();
    loop {
        let units = board.units();
        if attributes::are_known(choice, &units) {
            return units;
        }
        if start.elapsed() >= wait {
            log::warn!(
                "NVML did not tell all of the attributes within {wait:?}; those that are not known of every GPU are left out"
            );
            return units;
        }
        thread::sleep(LOOK);
    }
}

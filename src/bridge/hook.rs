// SPDX-License-Identifier: Apache-2.0
//! The hook's calls. Mesos waits for each, so they answer from what is known already.

use super::ffi::bridge::Message;
use super::guard::guard;
use super::process;
use crate::advertise;
use crate::error::Error;

/// What the C++ hook holds.
pub(super) struct HookCore;

/// Makes the hook. The agent starts later, at the first question: hooks are made before isolators, whose parameters count
/// as well.
pub(super) fn create_hook(parameters: &[u8]) -> Result<Box<HookCore>, Error> {
    guard("hook.create", || {
        process::hook(parameters)?;
        Ok(Box::new(HookCore))
    })
}

impl HookCore {
    pub(super) fn resources(&self, slave_info: &[u8]) -> Result<Vec<Message>, Error> {
        guard("hook.resources", || {
            let count = process::advertised()?;
            let resources = advertise::resources::with_gpus(slave_info, count)?;
            Ok(resources.into_iter().map(|bytes| Message { bytes }).collect())
        })
    }
}

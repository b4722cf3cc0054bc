// SPDX-License-Identifier: Apache-2.0
//! One call of NVML at a time: told to the supervisor before it is made, so that it knows what hangs and since when.

use crate::ports::nvml::NvmlFailure;
use crate::system::nvml::supervisor::Message;
use nvml_wrapper::error::NvmlError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Instant;

/// Why a call brought nothing.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Nobody waits for this answer any more, so no further call is made.
    Abandoned,
    /// NVML or its wrapper refused.
    Failed {
        /// NVML's function.
        call: String,
        /// The reason.
        error: NvmlError,
    },
}

impl Trouble {
    /// Whether the GPU itself is out of reach, rather than one answer of it.
    pub fn is_gpu_out_of_reach(&self) -> bool {
        matches!(
            self,
            Trouble::Failed {
                error: NvmlError::GpuLost | NvmlError::ResetRequired,
                ..
            }
        )
    }

    /// Whether the GPU, the driver or the library does not know such a thing.
    pub fn is_not_supported(&self) -> bool {
        use NvmlError::{FailedToLoadSymbol, FunctionNotFound, NotSupported};
        matches!(
            self,
            Trouble::Failed {
                error: NotSupported | FunctionNotFound | FailedToLoadSymbol(_),
                ..
            }
        )
    }
}

impl From<Trouble> for NvmlFailure {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Abandoned => NvmlFailure::Call {
                call: "asking NVML".to_owned(),
                reason: "it was given up".to_owned(),
            },
            Trouble::Failed {
                call,
                error: NvmlError::LibRmVersionMismatch,
            } => NvmlFailure::VersionMismatch { call },
            Trouble::Failed { call, error } => NvmlFailure::Call {
                call,
                reason: error.to_string(),
            },
        }
    }
}

/// The worker's way to make calls.
pub(super) struct Calls {
    supervisor: Sender<Message>,
    abandoned: Arc<AtomicBool>,
}

impl Calls {
    /// Calls that `supervisor` times; `abandoned` is its word that nobody waits for this answer.
    pub fn new(supervisor: Sender<Message>, abandoned: Arc<AtomicBool>) -> Self {
        Self {
            supervisor,
            abandoned,
        }
    }

    /// Makes one call.
    pub fn make<T>(&self, call: &str, ask: impl FnOnce() -> Result<T, NvmlError>) -> Result<T, Trouble> {
        if self.abandoned.load(Ordering::SeqCst) {
            return Err(Trouble::Abandoned);
        }
        // If the supervisor is gone, nobody is left to wait for the answer either.
        self.tell(Message::Calling {
            call: call.to_owned(),
            at: Instant::now(),
        });
        ask().map_err(|error| Trouble::Failed {
            call: call.to_owned(),
            error,
        })
    }

    /// Tells the supervisor.
    pub fn tell(&self, message: Message) {
        let _ = self.supervisor.send(message);
    }
}

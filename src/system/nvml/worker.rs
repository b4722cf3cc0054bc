// SPDX-License-Identifier: Apache-2.0
//! Owns NVML and makes every call of it, on one thread. It may hang in any of them; nobody waits for it but the
//! supervisor's clock.

use crate::ports::nvml::NvmlFailure;
use crate::system::nvml::calls::{Calls, Trouble};
use crate::system::nvml::question::{Found, Job};
use crate::system::nvml::sample::{self, Clocks};
use crate::system::nvml::supervisor::Message;
use crate::system::nvml::survey;
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

/// NVML's owner.
pub(super) struct Worker {
    library: PathBuf,
    calls: Calls,
    session: Option<Session>,
    /// What samples go on from.
    clocks: Clocks,
}

impl Worker {
    /// Opens `library` at the first job.
    pub fn new(library: PathBuf, calls: Calls) -> Self {
        Self {
            library,
            calls,
            session: None,
            clocks: Clocks::new(),
        }
    }

    /// Does one after the other of `jobs`.
    pub fn run(mut self, jobs: &Receiver<Job>) {
        while let Ok(job) = jobs.recv() {
            let result = catch_unwind(AssertUnwindSafe(|| self.work(job))).unwrap_or_else(|_| {
                let reason = "the thread for NVML panicked".to_owned();
                Err(NvmlFailure::Call {
                    call: "asking NVML".to_owned(),
                    reason,
                })
            });
            self.calls.tell(Message::Finished(result));
        }
        if let Some(session) = self.session.take() {
            session.close();
        }
    }

    fn work(&mut self, job: Job) -> Result<Found, NvmlFailure> {
        if let Some(worn) = self.session.take_if(|session| session.worn) {
            // Closing is a call like any other and may hang like any other.
            self.calls.make("nvmlShutdown", || {
                worn.close();
                Ok(())
            })?;
        }
        let session = match &mut self.session {
            Some(session) => session,
            none => none.insert(Session::open(&self.library, &self.calls)?),
        };
        // Until the whole answer is there, the session counts as worn: also when a panic cuts it short.
        session.worn = true;
        let (found, reopen) = match job {
            Job::Survey => {
                let found = survey::survey(&session.nvml, &self.calls)?;
                (Found::Survey(found.survey), found.reopen)
            }
            Job::Sample => {
                let (sample, reopen) = sample::sample(&session.nvml, &self.calls, &mut self.clocks)?;
                (Found::Sample(sample), reopen)
            }
        };
        session.worn = reopen;
        Ok(found)
    }
}

/// NVML, open.
struct Session {
    nvml: Nvml,
    /// Whether it shall be closed before the next job. NVML learns of a reloaded driver or of a GPU that came back
    /// from a reset only when it starts anew.
    worn: bool,
}

impl Session {
    fn open(library: &Path, calls: &Calls) -> Result<Self, NvmlFailure> {
        let opened = calls.make("nvmlInit_v2", || {
            Nvml::builder().lib_path(library.as_os_str()).init()
        });
        match opened {
            Ok(nvml) => Ok(Self { nvml, worn: false }),
            Err(Trouble::Failed {
                error: NvmlError::LibloadingError(error),
                ..
            }) => Err(NvmlFailure::Library {
                library: library.display().to_string(),
                reason: error.to_string(),
            }),
            Err(trouble) => Err(trouble.into()),
        }
    }

    fn close(self) {
        if self.nvml.lib().nvmlShutdown.is_ok() {
            drop(self.nvml);
        } else {
            // `nvml-wrapper` panics on closing a library that has no `nvmlShutdown`.
            std::mem::forget(self.nvml);
        }
    }
}

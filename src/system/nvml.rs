// SPDX-License-Identifier: Apache-2.0
//! NVML on a thread of its own, because its calls can fail to return: on a GPU that fell off the bus, on a driver that
//! is half unloaded. No thread of Mesos ever waits for it, and however often it is asked, one stuck call costs one
//! thread and never a second.
//!
//! Two threads: the worker makes the calls, the supervisor times them and answers. The library is opened when it is
//! first asked, so that an agent starts on a machine without a driver, and it then stays open: without NVIDIA's
//! persistence mode, a machine whose last user closes the driver takes seconds for the next one to start.
//! `nvml-wrapper` calls `nvmlShutdown` when its value is dropped, so the worker holds the value between questions.

mod calls;
mod gpu;
mod mig_ids;
mod question;
mod sample;
mod supervisor;
mod survey;
mod worker;

use crate::domain::estimate::Sample;
use crate::ports::nvml::{Done, Nvml, NvmlFailure, Survey};
use calls::Calls;
use question::Question;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use supervisor::{Message, Supervisor};
use worker::Worker;

/// The library that the loader is asked for where no path is given.
pub const DEFAULT_LIBRARY: &str = "libnvidia-ml.so.1";

/// NVML behind a time limit. Dropping it ends its threads as soon as they are free, and never waits for them; questions
/// that were asked before are still answered.
pub struct NvmlThread {
    library: PathBuf,
    call_limit: Duration,
    /// None while the threads could not be started.
    inbox: Mutex<Option<Sender<Message>>>,
}

impl NvmlThread {
    /// Starts the threads. `library` is a path to NVML; without one it is [`DEFAULT_LIBRARY`]. `call_limit` is how long
    /// one call may take.
    ///
    /// It does not fail: where no thread can be had, every question tries again and is answered with the reason.
    pub fn start(library: Option<PathBuf>, call_limit: Duration) -> Self {
        let library = library.unwrap_or_else(|| PathBuf::from(DEFAULT_LIBRARY));
        let inbox = spawn(&library, call_limit).ok();
        Self {
            library,
            call_limit,
            inbox: Mutex::new(inbox),
        }
    }
}

impl NvmlThread {
    fn ask(&self, question: Question) {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let inbox = match &mut *inbox {
            Some(inbox) => Ok(inbox),
            none => spawn(&self.library, self.call_limit).map(|started| none.insert(started)),
        };
        let unasked = match inbox {
            Ok(inbox) => inbox
                .send(Message::Asked(question))
                .err()
                .map(|unsent| (unsent.0, "it is gone".to_owned())),
            Err(error) => Some((Message::Asked(question), error.to_string())),
        };
        // There is no thread of ours to answer on, so the asking one gets the answer.
        if let Some((Message::Asked(question), reason)) = unasked {
            question.fail(NvmlFailure::Call {
                call: "starting the thread for NVML".to_owned(),
                reason,
            });
        }
    }
}

impl Nvml for NvmlThread {
    fn survey(&self, done: Done<Survey>) {
        self.ask(Question::Survey(done));
    }

    fn sample(&self, done: Done<Sample>) {
        self.ask(Question::Sample(done));
    }
}

impl Drop for NvmlThread {
    fn drop(&mut self) {
        let inbox = self.inbox.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(inbox) = inbox {
            // A supervisor that is gone needs no end.
            let _ = inbox.send(Message::Closed);
        }
    }
}

fn spawn(library: &std::path::Path, call_limit: Duration) -> io::Result<Sender<Message>> {
    let (inbox, messages) = mpsc::channel();
    let (jobs, work) = mpsc::channel();
    let abandoned = Arc::new(AtomicBool::new(false));

    let worker = Worker::new(
        library.to_owned(),
        Calls::new(inbox.clone(), Arc::clone(&abandoned)),
    );
    let supervisor = Supervisor::new(jobs, abandoned, call_limit);
    // If the second thread cannot be had, the first ends with the channel of its jobs.
    thread::Builder::new()
        .name("gpu-nvml".to_owned())
        .spawn(move || worker.run(&work))?;
    thread::Builder::new()
        .name("gpu-nvml-timer".to_owned())
        .spawn(move || supervisor.run(&messages))?;
    Ok(inbox)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(nvml: &NvmlThread) -> Result<Survey, NvmlFailure> {
        let (to, answer) = mpsc::channel();
        nvml.survey(Box::new(move |result| to.send(result).unwrap()));
        answer.recv_timeout(Duration::from_secs(30)).unwrap()
    }

    #[test]
    fn what_is_no_library_is_named_with_the_loaders_reason() {
        let dir = tempfile::tempdir().unwrap();
        let text = dir.path().join("text.so");
        std::fs::write(&text, "not a library").unwrap();
        for (path, why) in [
            (dir.path().to_owned(), "directory"),
            (dir.path().join("missing.so"), "No such file"),
            (text, "file too short"),
        ] {
            let nvml = NvmlThread::start(Some(path.clone()), Duration::from_secs(10));
            match answer(&nvml) {
                Err(NvmlFailure::Library { library, reason }) => {
                    assert_eq!(library, path.display().to_string());
                    assert!(reason.contains(why), "{reason}");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_library_that_is_not_nvml_fails_by_the_missing_function() {
        let nvml = NvmlThread::start(Some(PathBuf::from("libc.so.6")), Duration::from_secs(10));
        match answer(&nvml) {
            Err(NvmlFailure::Call { call, reason }) => {
                assert_eq!(call, "nvmlInit_v2");
                assert!(reason.contains("nvmlInit_v2"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Publishing the numbers from a thread of its own, so that no offer waits for a disk.

use super::Filter;
use crate::error::Error;
use crate::ports::metrics::Metrics;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often the numbers are looked at.
pub const PERIOD: Duration = Duration::from_secs(1);

/// The thread. It ends with this.
#[derive(Debug)]
pub struct Publisher {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Publisher {
    /// Publishes a filter's numbers once in each period, where they changed.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(filter: Arc<Filter>, metrics: Box<dyn Metrics>, period: Duration) -> Result<Self, Error> {
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("mesos-gpu-numbers".to_owned())
            .spawn(move || {
                let (mut before, mut failure) = (String::new(), None);
                loop {
                    let text = filter.numbers();
                    if text != before || failure.is_some() {
                        let failed = metrics.publish(&text).err();
                        if let Some(why) = failed.as_ref().filter(|why| failure.as_ref() != Some(*why)) {
                            log::warn!("{why}");
                        }
                        (before, failure) = (text, failed);
                    }
                    if stopped.recv_timeout(period) != Err(RecvTimeoutError::Timeout) {
                        return;
                    }
                }
            })
            .map_err(|e| Error::machine(format!("cannot start the thread for the metrics: {e}")))?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic in it was told by the panic itself.
            let _ = thread.join();
        }
    }
}

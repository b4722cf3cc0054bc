// SPDX-License-Identifier: Apache-2.0
//! Writing on a thread of its own, so that the agent never waits for a disk. What comes while a write is under way replaces
//! what waits: only the latest counts, and however slow the disk is no more than that is kept.

use crate::domain::jobs::Jobs as ByIndex;
use crate::ports::jobs::Jobs;
use crate::ports::metrics::Metrics;
use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

/// The thread's end of it ends when this is dropped, after what it has to write; nobody waits for that.
pub struct Latest<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    next: Option<T>,
    /// Why the last write failed.
    failure: Option<String>,
    closed: bool,
}

impl<T: Send + 'static> Latest<T> {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(write: impl Fn(&T) -> Result<(), String> + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                next: None,
                failure: None,
                closed: false,
            }),
            changed: Condvar::new(),
        });
        let theirs = Arc::clone(&shared);
        thread::Builder::new()
            .name("mesos-gpu-files".to_owned())
            .spawn(move || theirs.work(write))?;
        Ok(Self { shared })
    }

    /// Hands a value over.
    ///
    /// # Errors
    /// Why the write before failed; the value is handed over in any case.
    fn hand(&self, value: T) -> Result<(), String> {
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.next = Some(value);
        self.shared.changed.notify_all();
        state.failure.clone().map_or(Ok(()), Err)
    }
}

impl<T> Shared<T> {
    fn work(&self, write: impl Fn(&T) -> Result<(), String>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(value) = state.next.take() {
                drop(state);
                let failure = write(&value).err();
                state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                state.failure = failure;
            } else if state.closed {
                return;
            } else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

impl<T> Drop for Latest<T> {
    fn drop(&mut self) {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .closed = true;
        self.shared.changed.notify_all();
    }
}

impl Metrics for Latest<String> {
    fn publish(&self, text: &str) -> Result<(), String> {
        self.hand(text.to_owned())
    }
}

impl Jobs for Latest<ByIndex> {
    fn publish(&self, jobs: &ByIndex) -> Result<(), String> {
        self.hand(jobs.clone())
    }
}

impl<T> fmt::Debug for Latest<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Latest")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    #[test]
    fn a_disk_that_hangs_holds_nobody_up_and_gets_the_latest_when_it_is_back() {
        let (begun, has_begun) = channel();
        let (lift, lifted) = channel::<()>();
        let (tell, told) = channel();
        let latest = Latest::start(move |value: &u32| {
            begun.send(()).unwrap();
            lifted.recv().unwrap();
            tell.send(*value).unwrap();
            Ok(())
        })
        .unwrap();
        latest.hand(1).unwrap();
        has_begun.recv().unwrap();
        let asking = Instant::now();
        for value in 2..1000 {
            latest.hand(value).unwrap();
        }
        assert!(asking.elapsed() < Duration::from_secs(5));
        lift.send(()).unwrap();
        lift.send(()).unwrap();
        drop(latest);
        assert_eq!(told.iter().collect::<Vec<_>>(), [1, 999]);
    }

    #[test]
    fn a_failure_is_told_with_the_next_one_and_is_over_with_the_next_success() {
        let (done, is_done) = channel();
        let latest = Latest::start(move |value: &String| {
            let answer = if value == "good" {
                Ok(())
            } else {
                Err(value.clone())
            };
            done.send(()).unwrap();
            answer
        })
        .unwrap();
        let mut told = Vec::new();
        for value in ["bad", "good", "good"] {
            told.push(latest.publish(value));
            is_done.recv().unwrap();
            // It is noted a moment after the write.
            let noted = |latest: &Latest<String>| {
                let state = latest.shared.state.lock().unwrap();
                state.failure.is_some() == (value == "bad")
            };
            let begin = Instant::now();
            while !noted(&latest) && begin.elapsed() < Duration::from_secs(5) {
                thread::yield_now();
            }
        }
        assert_eq!(told, [Ok(()), Err("bad".to_owned()), Ok(())]);
    }
}

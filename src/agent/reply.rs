// SPDX-License-Identifier: Apache-2.0
//! The answer that a caller waits for, given once, from any thread.

use crate::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

type Sink<T> = Box<dyn FnOnce(Result<T, Error>) + Send>;

/// Somebody's future. Clones speak to the same one; the first answer counts.
pub struct Reply<T> {
    inner: Arc<Inner<T>>,
}

struct Inner<T> {
    sink: Mutex<Option<Sink<T>>>,
    /// Whether to fail when every clone is gone and nobody answered: a future that nothing completes would hang a launch.
    must_answer: bool,
}

impl<T> Reply<T> {
    /// A reply that hands its answer to `sink`, at the latest when the last clone is dropped.
    pub fn new(sink: impl FnOnce(Result<T, Error>) + Send + 'static) -> Self {
        Self {
            inner: Arc::new(Inner {
                sink: Mutex::new(Some(Box::new(sink))),
                must_answer: true,
            }),
        }
    }

    /// A reply that may stay unanswered for ever: any answer to a container's `watch` kills the container.
    pub fn maybe(sink: impl FnOnce(Result<T, Error>) + Send + 'static) -> Self {
        Self {
            inner: Arc::new(Inner {
                sink: Mutex::new(Some(Box::new(sink))),
                must_answer: false,
            }),
        }
    }

    /// A reply that nobody hears.
    pub fn unheard() -> Self {
        Self {
            inner: Arc::new(Inner {
                sink: Mutex::new(None),
                must_answer: false,
            }),
        }
    }

    /// The same reply, whose answer is shown on its way; one that stays unanswered shows nothing.
    #[must_use]
    pub fn observed(self, seen: impl FnOnce(&Result<T, Error>) + Send + 'static) -> Self
    where
        T: 'static,
    {
        let must_answer = self.inner.must_answer;
        let sink: Sink<T> = Box::new(move |answer| {
            seen(&answer);
            self.answer(answer);
        });
        Self {
            inner: Arc::new(Inner {
                sink: Mutex::new(Some(sink)),
                must_answer,
            }),
        }
    }

    /// Gives the answer.
    pub fn answer(&self, answer: Result<T, Error>) {
        if let Some(sink) = self.inner.take() {
            sink(answer);
        }
    }

    /// Answers with a failure.
    pub fn fail(&self, error: &Error) {
        self.answer(Err(error.clone()));
    }
}

impl<T> Inner<T> {
    fn take(&self) -> Option<Sink<T>> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<T> Drop for Inner<T> {
    fn drop(&mut self) {
        if self.must_answer
            && let Some(sink) = self.take()
        {
            sink(Err(Error::defect("the request was dropped without an answer")));
        }
    }
}

impl<T> Clone for Reply<T> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<T> fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reply")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn the_first_answer_counts_and_a_dropped_request_fails() {
        let (tx, rx) = channel();
        let reply = Reply::new(move |answer| tx.send(answer).unwrap());
        reply.clone().answer(Ok(1));
        reply.answer(Ok(2));
        assert_eq!(rx.recv().unwrap(), Ok(1));

        let (tx, rx) = channel();
        drop(Reply::<u8>::new(move |answer| tx.send(answer).unwrap()));
        assert!(rx.recv().unwrap().is_err());
    }

    #[test]
    fn a_watch_that_is_dropped_says_nothing() {
        let (tx, rx) = channel();
        drop(Reply::<u8>::maybe(move |answer| tx.send(answer).unwrap()));
        assert!(rx.recv().is_err());
    }
}

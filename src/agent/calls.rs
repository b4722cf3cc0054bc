// SPDX-License-Identifier: Apache-2.0
//! Counts the calls of Mesos and how long it waited for their answers. Counted where Mesos's threads come in, and shared with
//! the agent thread, which publishes the numbers.

use crate::agent::reply::Reply;
use crate::domain::metrics::{CallNumbers, LatencySum};
use crate::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The calls that are counted, by entry and name.
const CALLS: [(&str, &str); 9] = [
    ("isolator.recover", "recover"),
    ("isolator.prepare", "prepare"),
    ("isolator.isolate", "isolate"),
    (WATCH, "watch"),
    ("isolator.update", "update"),
    ("isolator.usage", "usage"),
    ("isolator.status", "status"),
    ("isolator.cleanup", "cleanup"),
    ("estimator.oversubscribable", "oversubscribable"),
];
/// Its answer is the end of a container, so how long that takes says nothing of the module.
const WATCH: &str = "isolator.watch";

/// The numbers of all calls. Clones share them.
#[derive(Debug, Clone)]
pub struct Calls {
    numbers: Arc<[Mutex<CallNumbers>; CALLS.len()]>,
}

impl Default for Calls {
    fn default() -> Self {
        let numbers = CALLS.map(|(entry, _)| {
            Mutex::new(CallNumbers {
                latency: (entry != WATCH).then(LatencySum::default),
                ..CallNumbers::default()
            })
        });
        Self {
            numbers: Arc::new(numbers),
        }
    }
}

impl Calls {
    /// Counts a call that comes now, and its answer when that is given through the reply that comes back. An entry that is
    /// not known is not counted.
    pub fn counted<T: 'static>(&self, entry: &'static str, reply: Reply<T>) -> Reply<T> {
        let begin = Instant::now();
        let Some(at) = CALLS.iter().position(|(known, _)| *known == entry) else {
            return reply;
        };
        self.change(at, |numbers| numbers.calls += 1);
        let calls = self.clone();
        reply.observed(move |answer: &Result<T, Error>| {
            let took = begin.elapsed();
            calls.change(at, |numbers| {
                if let Some(latency) = &mut numbers.latency {
                    latency.add(took);
                }
                if let Err(error) = answer {
                    numbers.failed(error.kind());
                }
            });
        })
    }

    /// The numbers now.
    pub fn numbers(&self) -> Vec<(&'static str, CallNumbers)> {
        let each = CALLS.iter().zip(self.numbers.iter());
        each.map(|((_, name), numbers)| {
            let numbers = numbers.lock().unwrap_or_else(PoisonError::into_inner);
            (*name, numbers.clone())
        })
        .collect()
    }

    fn change(&self, at: usize, change: impl FnOnce(&mut CallNumbers)) {
        if let Some(numbers) = self.numbers.get(at) {
            change(&mut numbers.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn of(calls: &Calls, name: &str) -> CallNumbers {
        let mut all = calls.numbers().into_iter();
        all.find(|(known, _)| *known == name).unwrap().1
    }

    #[test]
    fn a_call_is_counted_when_it_comes_and_its_answer_when_it_is_given() {
        let calls = Calls::default();
        let (tell, told) = channel();
        let reply = calls.counted(
            "isolator.prepare",
            Reply::new(move |answer| tell.send(answer).unwrap()),
        );
        let numbers = of(&calls, "prepare");
        assert_eq!((numbers.calls, numbers.latency.unwrap().between), (1, [0; 9]));
        reply.answer(Ok(1));
        reply.answer(Ok(2));
        assert_eq!(told.recv().unwrap(), Ok(1));
        let latency = of(&calls, "prepare").latency.unwrap();
        assert_eq!(latency.between.iter().sum::<u64>(), 1);
        assert!(!latency.sum.is_zero());
    }

    #[test]
    fn a_failure_is_counted_by_its_reason_also_that_of_a_request_that_was_dropped() {
        let calls = Calls::default();
        for (nth, error) in [Error::request("no"), Error::machine("no")]
            .into_iter()
            .enumerate()
        {
            calls
                .counted("isolator.update", Reply::<()>::unheard())
                .fail(&error);
            assert_eq!(of(&calls, "update").failures.iter().sum::<u64>(), 1 + nth as u64);
        }
        drop(calls.counted("isolator.update", Reply::<()>::new(|_| ())));
        let numbers = of(&calls, "update");
        assert_eq!((numbers.calls, numbers.failures), (3, [1, 0, 1, 1]));
    }

    #[test]
    fn a_watch_is_counted_without_a_time_and_one_that_is_dropped_has_not_failed() {
        let calls = Calls::default();
        drop(calls.counted("isolator.watch", Reply::<()>::maybe(|_| ())));
        let numbers = of(&calls, "watch");
        assert_eq!(
            (numbers.calls, numbers.latency, numbers.failures),
            (1, None, [0; 4])
        );
    }
}

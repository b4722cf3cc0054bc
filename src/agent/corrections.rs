// SPDX-License-Identifier: Apache-2.0
//! What Mesos's QoS controller is told: which executors it is to kill, because they are guests that must go.
//!
//! Mesos asks again as soon as it has an answer, without a pause. So a question stays open while there is nothing to say,
//! and each container is named once: Mesos acts on it or does not, and saying it again changes neither.

use crate::agent::reply::Reply;
use crate::domain::container::{ContainerId, Executor};
use std::collections::BTreeSet;

/// An executor to kill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// Its container.
    pub container: ContainerId,
    /// Which.
    pub executor: Executor,
    /// Why, in words.
    pub why: String,
}

/// The way from those who send guests away to the QoS controller.
#[derive(Debug, Default)]
pub struct Corrections {
    asked: bool,
    pending: Option<Reply<Vec<Correction>>>,
    queued: Vec<Correction>,
    sent: BTreeSet<ContainerId>,
}

impl Corrections {
    /// Mesos wants to know: it is told what is queued at once, else with the next that is sent. An earlier question that is
    /// still open is one that nobody waits for any more.
    pub fn ask(&mut self, reply: Reply<Vec<Correction>>) {
        self.asked = true;
        if self.queued.is_empty() {
            self.pending = Some(reply);
        } else {
            self.pending = None;
            reply.answer(Ok(std::mem::take(&mut self.queued)));
        }
    }

    /// Whether Mesos ever asked: only then somebody acts on what is sent.
    pub fn is_asked(&self) -> bool {
        self.asked
    }

    /// Tells Mesos, now or when it asks next; a container that was sent before is not sent again.
    pub fn send(&mut self, correction: Correction) {
        if !self.sent.insert(correction.container.clone()) {
            return;
        }
        match self.pending.take() {
            Some(reply) => reply.answer(Ok(vec![correction])),
            None => self.queued.push(correction),
        }
    }

    /// A container is gone; there is nothing to say of it any more.
    pub fn forget(&mut self, container: &ContainerId) {
        self.sent.remove(container);
        self.queued.retain(|queued| &queued.container != container);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};

    fn correction(name: &str) -> Correction {
        Correction {
            container: ContainerId::root_of(name),
            executor: Executor {
                framework: "f".to_owned(),
                id: name.to_owned(),
            },
            why: "its GPU is needed".to_owned(),
        }
    }

    fn ask(corrections: &mut Corrections) -> Receiver<Vec<Correction>> {
        let (tell, told) = channel();
        corrections.ask(Reply::maybe(move |answer| {
            // A question that nobody waits for any more.
            let _ = tell.send(answer.unwrap());
        }));
        told
    }

    #[test]
    fn a_question_stays_open_while_there_is_nothing_to_say() {
        let mut corrections = Corrections::default();
        assert!(!corrections.is_asked());
        let told = ask(&mut corrections);
        assert!(corrections.is_asked() && told.try_recv().is_err());
        corrections.send(correction("a"));
        assert_eq!(told.try_recv(), Ok(vec![correction("a")]));
        let told = ask(&mut corrections);
        assert!(told.try_recv().is_err(), "it was said");
    }

    #[test]
    fn what_came_before_the_question_is_told_at_once_and_together() {
        let mut corrections = Corrections::default();
        for name in ["a", "b", "a"] {
            corrections.send(correction(name));
        }
        let want = vec![correction("a"), correction("b")];
        assert_eq!(ask(&mut corrections).try_recv(), Ok(want));
        corrections.send(correction("a"));
        assert!(ask(&mut corrections).try_recv().is_err());
    }

    #[test]
    fn a_container_that_is_gone_is_not_told_and_a_new_one_of_its_name_is() {
        let mut corrections = Corrections::default();
        corrections.send(correction("a"));
        corrections.forget(&ContainerId::root_of("a"));
        let told = ask(&mut corrections);
        assert!(told.try_recv().is_err());
        corrections.send(correction("a"));
        assert_eq!(told.try_recv(), Ok(vec![correction("a")]));
    }

    #[test]
    fn only_the_latest_question_is_answered() {
        let mut corrections = Corrections::default();
        let (first, second) = (ask(&mut corrections), ask(&mut corrections));
        corrections.send(correction("a"));
        assert!(first.try_recv().is_err());
        assert_eq!(second.try_recv(), Ok(vec![correction("a")]));
    }
}

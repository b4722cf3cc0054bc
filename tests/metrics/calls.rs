// SPDX-License-Identifier: Apache-2.0
//! Calls of Mesos as they reach the agent thread.

use crate::support::agent::{FakeAgent, config, id};
use crate::support::exposition;
use crate::support::machine::FakeMachine;
use mesos_gpu::agent::Agent;
use mesos_gpu::agent::metrics;
use mesos_gpu::agent::reply::Reply;
use mesos_gpu::agent::state::State;
use mesos_gpu::error::Error;
use mesos_gpu::isolator;
use std::sync::mpsc::channel;

struct Thread {
    agent: Agent,
    machine: FakeMachine,
}

impl Thread {
    fn start(fake: FakeAgent) -> Self {
        let (state, inbox, machine) = fake.into_parts();
        Self {
            agent: Agent::start(state, inbox).unwrap(),
            machine,
        }
    }

    fn call<T: Send + 'static>(
        &self,
        entry: &'static str,
        verb: impl FnOnce(&mut State, Reply<T>) + Send + 'static,
    ) -> Result<T, Error> {
        let (tell, told) = channel();
        let reply = Reply::new(move |answer| tell.send(answer).unwrap());
        self.agent.submit(entry, self.agent.counted(entry, reply), verb);
        told.recv().unwrap()
    }

    fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        self.call("test", |state, reply| {
            metrics::publish(state);
            reply.answer(Ok(()));
        })
        .unwrap();
        exposition::value(&self.machine.metrics.last(), name, labels)
    }
}

#[test]
fn calls_their_failures_by_reason_and_their_times_are_counted() {
    let fake = FakeAgent::with_gpus(1);
    fake.make_cgroup("a");
    fake.make_cgroup("b");
    let thread = Thread::start(fake);
    let prepare = |name: &'static str, gpus| {
        thread.call("isolator.prepare", move |state, reply| {
            isolator::prepare::prepare(state, &id(name), config(gpus), reply);
        })
    };
    prepare("a", 1.0).unwrap();
    prepare("b", 1.0).unwrap_err();
    prepare("b", 0.5).unwrap_err();
    thread
        .call::<()>("isolator.cleanup", |_, _| panic!("out of cheese"))
        .unwrap_err();
    for (name, labels, want) in [
        ("mesos_gpu_calls_total", &[("call", "prepare")][..], 3.0),
        (
            "mesos_gpu_call_failures_total",
            &[("call", "prepare"), ("reason", "request")],
            2.0,
        ),
        (
            "mesos_gpu_call_failures_total",
            &[("call", "prepare"), ("reason", "defect")],
            0.0,
        ),
        (
            "mesos_gpu_call_failures_total",
            &[("call", "cleanup"), ("reason", "defect")],
            1.0,
        ),
        (
            "mesos_gpu_call_duration_seconds_count",
            &[("call", "prepare")],
            3.0,
        ),
        (
            "mesos_gpu_call_duration_seconds_count",
            &[("call", "cleanup")],
            1.0,
        ),
        (
            "mesos_gpu_call_duration_seconds_count",
            &[("call", "update")],
            0.0,
        ),
        ("mesos_gpu_sound", &[], 0.0),
    ] {
        assert_eq!(thread.value(name, labels), Some(want), "{name} {labels:?}");
    }
    let sum = thread.value("mesos_gpu_call_duration_seconds_sum", &[("call", "prepare")]);
    assert!(sum > Some(0.0) && sum < Some(60.0), "{sum:?}");
    assert_eq!(
        thread.value("mesos_gpu_call_duration_seconds_count", &[("call", "watch")]),
        None
    );
}

#[test]
fn an_answer_comes_through_the_count_as_it_was_given() {
    let fake = FakeAgent::with_gpus(1);
    let thread = Thread::start(fake);
    let told = thread.call("isolator.usage", |_, reply| reply.answer(Ok(5)));
    assert_eq!(told.unwrap(), 5);
    let failed = thread.call::<()>("isolator.usage", |_, reply| {
        reply.fail(&Error::machine("no cgroup"))
    });
    assert_eq!(failed, Err(Error::machine("no cgroup")));
    let dropped = thread.call::<()>("isolator.usage", |_, reply| drop(reply));
    assert!(dropped.unwrap_err().to_string().contains("without an answer"));
}

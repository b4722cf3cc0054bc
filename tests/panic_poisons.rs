// SPDX-License-Identifier: Apache-2.0
//! A panic on the agent thread: the caller hears it, no GPU is handed out any more, and what was held is given back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use mesos_gpu::agent::Agent;
use mesos_gpu::agent::reply::Reply;
use mesos_gpu::error::{Error, Kind};
use mesos_gpu::isolator;
use std::sync::mpsc::channel;
use support::agent::{FakeAgent, config, id};

fn ask<T: Send + 'static>(
    agent: &Agent,
    verb: impl FnOnce(&mut mesos_gpu::agent::state::State, Reply<T>) + Send + 'static,
) -> Result<T, Error> {
    let (tell, told) = channel();
    agent.submit(
        "isolator.test",
        Reply::new(move |answer| tell.send(answer).unwrap()),
        verb,
    );
    told.recv().unwrap()
}

#[test]
fn the_caller_hears_the_panic_and_only_gpus_are_refused_from_then_on() {
    let mut fake = FakeAgent::with_gpus(2);
    fake.launch("held", 1.0).unwrap();
    fake.make_cgroup("gpu");
    let (state, inbox, machine) = fake.into_parts();
    let agent = Agent::start(state, inbox).unwrap();

    let error = ask::<()>(&agent, |_, _| panic!("out of cheese")).unwrap_err();
    assert_eq!(error.kind(), Kind::Defect);
    assert!(error.to_string().contains("out of cheese"), "{error}");

    let refused = ask(&agent, |state, reply| {
        isolator::prepare::prepare(state, &id("gpu"), config(1.0), reply);
    });
    assert!(refused.unwrap_err().to_string().contains("out of cheese"));
    let launched = ask(&agent, |state, reply| {
        isolator::prepare::prepare(state, &id("cpu"), config(0.0), reply);
    });
    assert!(launched.is_ok(), "a container without GPUs does not suffer");
    ask(&agent, |state, reply| {
        isolator::cleanup::cleanup(state, &id("held"), &reply)
    })
    .unwrap();
    let held = ask(&agent, |state, reply| {
        reply.answer(Ok(state.ledger.held_by(&id("held")).len()));
    });
    assert_eq!(held.unwrap(), 0);
    let open = mesos_gpu::ports::device_cgroup::DeviceCgroup::list(&machine.cgroup, "mesos/held").unwrap();
    assert!(
        open.iter().all(|rule| !rule.to_string().starts_with("c 195:")),
        "{open:?}"
    );
}

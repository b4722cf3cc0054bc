// SPDX-License-Identifier: Apache-2.0
//! `update`: the tasks of a running container changed, and with them what it may use.
//!
//! Mesos tells the new total, not the change, and destroys the whole executor with all its tasks when this fails. So an
//! update that changes nothing touches nothing, one that takes GPUs away does not fail, one that wants GPUs which are being
//! released waits for them, and only one that asks for more than there are must fail, or for more idle GPUs to be a guest on.
//! Of one container one update runs at a time, in the order in which they came.

use crate::agent::reply::Reply;
use crate::agent::state::State;
use crate::domain::container::ContainerId;
use crate::domain::words::listed;
use crate::error::Error;
use crate::isolator::{grant, guest, image, observe, prepare, reconcile, recover, shrink};
use crate::wire::Resource;

/// Makes the container hold as many GPUs as its resources say now.
pub fn update(state: &mut State, container: &ContainerId, resources: Vec<Resource>, reply: Reply<()>) {
    if container.is_nested() {
        let why = format!("cannot update nested container {container}: its root holds the GPUs");
        return reply.fail(&Error::request(why));
    }
    if observe::is_on(state) {
        // What Mesos's own isolator makes of the rest is its business.
        let revocable = prepare::wanted(&resources).map_or(0, |wanted| wanted.revocable);
        observe::look_again_soon(state, container);
        return reply.answer(guest::allowed(state, container, revocable));
    }
    if !state.containers.contains_key(container) {
        // It was there before us. What the kernel lets it use is what it has.
        recover::adopt(state, container);
    }
    let known = state.containers.entry(container.clone()).or_default();
    let id = container.clone();
    let work = move |state: &mut State| change(state, &id, &resources, reply);
    if known.busy {
        return known.queue.push_back(Box::new(work));
    }
    known.busy = true;
    work(state);
}

fn change(state: &mut State, container: &ContainerId, resources: &[Resource], reply: Reply<()>) {
    let wanted = match prepare::wanted(resources) {
        Ok(wanted) => wanted,
        Err(error) => return done(state, container, &reply, Err(error)),
    };
    let more = wanted.beyond(shrink::has(state, container));
    // Also where it has no more than that: an earlier shrink that waits for children is over.
    shrink::to(state, container, wanted);
    if more.is_none() {
        return done(state, container, &reply, Ok(()));
    }
    let id = container.clone();
    let then = move |state: &mut State, more: Result<Vec<_>, Error>| {
        let more = match more {
            Ok(more) => more,
            Err(error) => return done(state, &id, &reply, Err(error)),
        };
        log::info!("container {id} grew by {}", listed(&more));
        let container = id.clone();
        let then = move |state: &mut State| done(state, &container, &reply, Ok(()));
        image::show(state, &id, &more, Box::new(then));
    };
    grant::give(state, container, more, |_, _| {}, Box::new(then));
}

/// Makes the kernel catch up where this is the first update since the agent started, answers, and goes on with the next
/// update of the container.
fn done(state: &mut State, container: &ContainerId, reply: &Reply<()>, answer: Result<(), Error>) {
    let known = state.containers.get_mut(container);
    if known.is_some_and(|known| std::mem::take(&mut known.recovered)) {
        reconcile::container(state, container);
    }
    reply.answer(answer);
    let Some(known) = state.containers.get_mut(container) else {
        return;
    };
    match known.queue.pop_front() {
        Some(next) => next(state),
        None => known.busy = false,
    }
}

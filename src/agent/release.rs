// SPDX-License-Identifier: Apache-2.0
//! A GPU that its container gave back is free again only when nobody computes on it any more.
//!
//! Withdrawing a device rule stops new opens and leaves open ones as they are, so after a shrink the old task can still
//! compute. NVML lists the processes of a GPU; it is asked, at growing intervals, until the list is empty. After the
//! agent's patience the GPU is set aside with the reason, and still looked at. NVML that gives no answer holds up nothing
//! for long: the end of the container is then enough, since Mesos tells it only when all its processes are gone.
//!
//! A GPU with guests that nobody holds any more is on its way back until they are gone; only then its processes are looked at.

mod guests;

pub use guests::{guest_left, of_guests};

use crate::agent::state::State;
use crate::agent::{health, metrics, waiting};
use crate::domain::container::ContainerId;
use crate::domain::gpu::UnitId;
use crate::ports::nvml::{NvmlFailure, Survey};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long NVML may take to answer before what it would say counts as unknown. One call of it may take much longer, and
/// a launch does not wait for ever.
const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// The pauses between two looks double from here …
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
/// … to here.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A GPU on its way back.
#[derive(Debug, Clone)]
pub struct Release {
    /// Who had it.
    container: ContainerId,
    /// Whether that container still lives: then its processes may have kept the device open.
    alive: bool,
    /// Whether it was a guest there.
    guest: bool,
    /// Since when: what NVML was asked before says nothing.
    since: Instant,
    /// When its patience is over.
    until: Instant,
    pause: Duration,
    /// Whether it is this release that set the GPU aside, and not its health.
    set_aside: bool,
}

impl Release {
    fn new(state: &State, container: &ContainerId, alive: bool, guest: bool) -> Self {
        let since = Instant::now();
        Self {
            container: container.clone(),
            alive,
            guest,
            since,
            until: since + state.patience.release_limit,
            pause: SHORTEST_PAUSE,
            set_aside: false,
        }
    }
}

/// What NVML says of a GPU's use.
enum Use {
    Nobody,
    By(Vec<u32>),
    Unknown(String),
}

/// What a container can take back that gave it back while it lives: only its own processes can still use it, so it need not
/// wait. Where there are guests it waits for them.
pub fn own(state: &State, container: &ContainerId) -> Vec<UnitId> {
    let own = state.releases.iter().filter(|(unit, release)| {
        release.alive && !release.guest && &release.container == container && state.guests.on(unit).is_empty()
    });
    own.map(|(unit, _)| unit.clone()).collect()
}

/// Takes up to `most` of its own units back for a container.
pub fn take_back(state: &mut State, container: &ContainerId, most: usize) -> Vec<UnitId> {
    let mut units = own(state, container);
    units.truncate(most);
    for unit in &units {
        if state
            .releases
            .remove(unit)
            .is_some_and(|release| release.set_aside)
        {
            state.ledger.set_sick(unit, None);
        }
        state.ledger.freed(unit);
    }
    state.ledger.adopt(container, &units);
    units
}

/// Lets units go whose device rules are withdrawn. `alive` tells whether their container goes on.
pub fn begin(state: &mut State, container: &ContainerId, units: &[UnitId], alive: bool) {
    if units.is_empty() {
        return;
    }
    state.ledger.let_go(container, units);
    for unit in units {
        let release = Release::new(state, container, alive, false);
        state.releases.insert(unit.clone(), release);
    }
    state.record();
    look(state);
}

/// What live containers gave back and their processes may still use, and whether they were guests there. An agent that starts
/// anew cannot know that, so it is written down as theirs: until the next update they have it.
pub fn of_the_living(
    releases: &BTreeMap<UnitId, Release>,
) -> impl Iterator<Item = (&ContainerId, &UnitId, bool)> {
    let alive = releases.iter().filter(|(_, release)| release.alive);
    alive.map(|(unit, release)| (&release.container, unit, release.guest))
}

/// Notes that a container and all its processes are gone, so that what it gave back while it lived is not in doubt any more.
pub fn container_ended(state: &mut State, container: &ContainerId) {
    let mut any = false;
    for release in state
        .releases
        .values_mut()
        .filter(|release| &release.container == container)
    {
        release.alive = false;
        any = true;
    }
    if any {
        look(state);
    }
}

fn look(state: &mut State) {
    let (mailbox, asked) = (state.mailbox.clone(), Instant::now());
    let answered = Arc::new(AtomicBool::new(false));
    let heard = Arc::clone(&answered);
    state.machine.nvml.survey(Box::new(move |answer| {
        mailbox.post("release.look", move |state| {
            heard.store(true, Ordering::Relaxed);
            settle(state, asked, &answer);
        });
    }));
    state.later(ANSWER_WAIT, "release.look", move |state| {
        // Behind an answer that is in the mailbox already.
        state.mailbox.clone().post("release.look", move |state| {
            if !answered.load(Ordering::Relaxed) {
                settle(state, asked, &Err(silence()));
            }
        });
    });
}

fn silence() -> NvmlFailure {
    NvmlFailure::Timeout {
        call: "the survey of the GPUs".to_owned(),
        limit: ANSWER_WAIT,
    }
}

/// Frees what nobody uses, and looks again for the rest. `asked` is when NVML was asked.
fn settle(state: &mut State, asked: Instant, answer: &Result<Survey, NvmlFailure>) {
    let now = Instant::now();
    let (mut next, mut any_free, mut any_of_the_living) = (None, false, false);
    for (unit, mut release) in std::mem::take(&mut state.releases) {
        if release.since > asked || !state.guests.on(&unit).is_empty() {
            // Its own look is under way, or comes with the end of its guests.
            state.releases.insert(unit, release);
            continue;
        }
        let used = if state.patience.check_processes {
            used(answer, &unit)
        } else {
            Use::Nobody
        };
        let why = match used {
            Use::Nobody => {
                free(state, &unit, &release);
                any_free = true;
                any_of_the_living |= release.alive;
                continue;
            }
            // Mesos says that every process of the container is gone; NVML cannot say more.
            Use::Unknown(_) if !release.alive => {
                free(state, &unit, &release);
                any_free = true;
                continue;
            }
            Use::Unknown(why) => format!("it is not known who uses it ({why})"),
            Use::By(processes) => format!("processes {processes:?} still compute on it"),
        };
        if now >= release.until {
            if state.ledger.sick(&unit).is_none() {
                log::error!(
                    "{unit}, which container {} gave back, is set aside: {why}",
                    release.container
                );
                state.ledger.set_sick(&unit, Some(why));
                release.set_aside = true;
            }
            state.ledger.freed(&unit);
        }
        release.pause = (release.pause * 2).min(LONGEST_PAUSE);
        next = Some(next.map_or(release.pause, |pause: Duration| pause.min(release.pause)));
        state.releases.insert(unit, release);
    }
    if any_of_the_living {
        state.record();
    }
    if let (Some(pause), false) = (next, state.look_is_due) {
        state.look_is_due = true;
        state.later(pause, "release.look", |state| {
            state.look_is_due = false;
            look(state);
        });
    }
    if any_free {
        // A container may have ended because its GPU died; the next must not get that one.
        health::examine(state, answer.clone());
    } else {
        waiting::serve(state);
        metrics::soon(state);
    }
}

fn free(state: &mut State, unit: &UnitId, release: &Release) {
    state.ledger.freed(unit);
    if release.set_aside {
        state.ledger.set_sick(unit, None);
    }
}

fn used(answer: &Result<Survey, NvmlFailure>, unit: &UnitId) -> Use {
    let survey = match answer {
        Ok(survey) => survey,
        Err(failure) => return Use::Unknown(failure.to_string()),
    };
    match survey.processes(unit) {
        None => Use::Unknown("NVML does not tell its processes".to_owned()),
        Some(processes) if processes.is_empty() => Use::Nobody,
        Some(processes) => Use::By(processes.clone()),
    }
}

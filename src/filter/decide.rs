// SPDX-License-Identifier: Apache-2.0
//! The verdict on one offer, and what is learned from what comes back.

use super::Verdict;
use super::agents::{Agent, Declined};
use super::frameworks::{Framework, Frameworks, Role};
use super::notices::{self, Notice};
use super::state::State;
use crate::domain::allocation_policy::count::Count;
use crate::domain::allocation_policy::cut::{Case, Cut, Reason};
use crate::domain::allocation_policy::piece::{Amounts, Kind, ONE, Piece};
use crate::domain::allocation_policy::turn::{Moment, Pace};
use crate::domain::allocation_policy::{Policy, Settings};
use std::time::Duration;

/// Nothing changes by itself for a framework from which everything is hidden, and a decline is another's wish, so these
/// are refused for so many times the refuse time at the most.
const LONG: u32 = 12;

impl State {
    /// What is withheld of what an agent offers to a framework's role. A framework or an agent that is not known any more
    /// gets what the master will take back at once.
    pub fn decide(
        &mut self,
        now: Moment,
        (framework, role, agent): (&str, &str, &str),
        pieces: &[Piece],
    ) -> (Verdict, Vec<Notice>) {
        let known = self.frameworks.key(framework);
        let Some(key) = known.filter(|key| self.frameworks.get(*key).is_some_and(|one| one.known)) else {
            return Default::default();
        };
        self.frameworks.role(key, role, &self.settings);
        let (Some(agent), Some(framework)) = (self.agents.get_mut(agent), self.frameworks.get(key)) else {
            return Default::default();
        };
        let Some(role) = framework.roles.iter().find(|one| one.name == role) else {
            return Default::default();
        };
        let holder = role.holder;
        agent.settle();
        let case = case(
            &self.settings,
            &self.frameworks,
            (framework, role),
            (&*agent, self.counts),
            pieces,
        );
        let mut cut = Cut::of(&case);
        let mut refuse = Duration::ZERO;
        let mut kept = false;
        if !cut.is_whole() {
            let waits = waits(&self.frameworks, &self.settings, agent, now);
            refuse = self.settings.refuse_time;
            let for_long = refuse.saturating_mul(LONG);
            if cut.barred {
                if case.policy == Policy::Strict && !case.capable {
                    refuse = for_long.max(agent.turn.refusal(now, self.pace));
                } else {
                    if waits && !agent.shows(holder) {
                        cut.withhold_all(Reason::Turn);
                    }
                    refuse = until_slot(&cut, agent, now, self.pace);
                }
            } else if let Some(left) = agent.declines(holder, framework, &cut.passing(), now) {
                cut.withhold_all(Reason::Declined);
                refuse = match waits {
                    true => agent.turn.refusal(now, self.pace),
                    false => left.min(for_long).max(self.pace.interval),
                };
            } else if cut.guest && waits {
                let lent = agent.turn.lends(now, self.pace, self.epoch);
                // What is reserved is shown once in each turn: who declines it at once would get the agent every time.
                let shows = agent.shows(holder);
                if !lent {
                    cut.bar(Reason::Turn);
                    if !shows {
                        cut.withhold_all(Reason::Turn);
                    }
                    refuse = until_slot(&cut, agent, now, self.pace);
                }
            }
            kept = waits && cut.barred;
        }
        let passed: Vec<Piece> = cut
            .passing_pieces()
            .filter(|piece| piece.kind == Kind::Gpus)
            .collect();
        let count = Count::of(&passed);
        if count.shared >= ONE && !cut.guest {
            agent.turn.served();
        }
        let notices = notices::first(framework, agent, &cut, &case);
        let reasons = std::mem::take(&mut cut.reasons);
        let verdict = Verdict {
            withheld: cut.withheld(),
            refuse,
        };
        if self.counts {
            let offered = Count::of(pieces);
            agent.counted |= offered.shared >= agent.total.shared;
            agent.hold(holder, count);
        }
        if let Some(framework) = self.frameworks.get_mut(key) {
            if kept {
                framework.kept_until = framework.kept_until.max(now + refuse);
            }
            for reason in &reasons {
                framework.withheld[*reason as usize] += 1;
            }
            let role = framework.roles.iter_mut().find(|role| role.holder == holder);
            if let Some(role) = role.filter(|_| self.counts) {
                role.held = role.held.saturating_add(count.sum());
            }
        }
        self.give_backs += u64::from(!verdict.withheld.is_empty());
        (verdict, notices)
    }

    /// Something comes back from a framework. Frameworks that were not added are told of by agents, and give back as well.
    pub fn recovered(
        &mut self,
        now: Moment,
        (framework, role, agent): (&str, &str, &str),
        pieces: &[Piece],
        refuse: Option<Duration>,
    ) {
        let (Some(key), Some(agent)) = (self.frameworks.key(framework), self.agents.get_mut(agent)) else {
            return;
        };
        let Some(framework) = self.frameworks.get_mut(key) else {
            return;
        };
        let revivals = framework.revivals;
        let Some(role) = framework.roles.iter_mut().find(|one| one.name == role) else {
            return;
        };
        if self.counts {
            let taken = agent.release(role.holder, Count::of(pieces));
            role.held = role.held.saturating_sub(taken);
        }
        if let Some(until) = until(now, refuse, self.pace.interval) {
            let declined = Declined {
                amounts: Amounts::of(pieces),
                until,
                revivals,
            };
            agent.decline(role.holder, declined, now);
            agent.refuse(key, until, revivals, now);
        }
        if !framework.known {
            self.frameworks.forget_strangers();
        }
    }

    /// A framework to which everything passes does not want an agent for some time.
    pub fn declined(&mut self, now: Moment, framework: &str, agent: &str, refuse: Duration) {
        let (Some(key), Some(agent)) = (self.frameworks.key(framework), self.agents.get_mut(agent)) else {
            return;
        };
        let framework = self.frameworks.get(key);
        if let (Some(framework), Some(until)) = (framework, until(now, Some(refuse), self.pace.interval)) {
            agent.refuse(key, until, framework.revivals, now);
        }
    }
}

/// Mesos keeps a filter for a cycle at the least, unless it is for no time at all.
fn until(now: Moment, refuse: Option<Duration>, interval: Duration) -> Option<Moment> {
    let refuse = refuse.filter(|refuse| !refuse.is_zero())?;
    Some(now.saturating_add(refuse.max(interval)))
}

/// Who is given nothing is refused until its slot. Who is given what is reserved may come for more at once, so that takes
/// up no slot.
fn until_slot(cut: &Cut<'_>, agent: &mut Agent, now: Moment, pace: Pace) -> Duration {
    match cut.passing_pieces().next() {
        Some(_) => pace.refuse,
        None => agent.turn.refusal(now, pace),
    }
}

/// Whether someone waits for the agent's GPUs.
fn waits(frameworks: &Frameworks, settings: &Settings, agent: &Agent, now: Moment) -> bool {
    let mut waiting = frameworks.waiting(settings);
    waiting.any(|(key, framework)| !agent.is_refused(key, framework, now))
}

fn case<'a>(
    settings: &Settings,
    frameworks: &Frameworks,
    (framework, role): (&Framework, &Role),
    (agent, counts): (&Agent, bool),
    pieces: &'a [Piece],
) -> Case<'a> {
    // Where Mesos's own filter is on, who comes here may, or the operator switched that off as well.
    let hides = !framework.capable && settings.inner_filters();
    Case {
        pieces,
        policy: if hides { Policy::Open } else { role.policy },
        capable: framework.capable,
        room: frameworks.room(&role.caps, settings),
        free: if counts { agent.free() } else { 0 },
        headroom: settings.headroom,
    }
}

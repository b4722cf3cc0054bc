// SPDX-License-Identifier: Apache-2.0
//! What the master told of agents.

use super::Used;
use super::agents::Agent;
use super::index::Index;
use super::notices::Notice;
use super::state::State;
use crate::domain::allocation_policy::count::Count;
use crate::domain::allocation_policy::piece::{ONE, Piece};

impl State {
    /// `addSlave`.
    pub fn agent_added(
        &mut self,
        index: &mut Index,
        id: &str,
        hostname: &str,
        total: &[Piece],
        used: &[Used],
    ) -> Vec<Notice> {
        self.agent_removed(index, id);
        self.agents
            .insert(id.to_owned(), Agent::new(hostname, self.counts));
        self.used_told(id, used);
        self.set_total(index, id, |_| Count::of(total), total)
    }

    /// `updateSlave` with a total.
    pub fn agent_updated(&mut self, index: &mut Index, id: &str, total: &[Piece]) -> Vec<Notice> {
        self.set_total(index, id, |_| Count::of(total), total)
    }

    /// `addResourceProvider`.
    pub fn provider_added(
        &mut self,
        index: &mut Index,
        id: &str,
        total: &[Piece],
        used: &[Used],
    ) -> Vec<Notice> {
        self.used_told(id, used);
        let more = |mut before: Count| {
            before.add(Count::of(total));
            before
        };
        self.set_total(index, id, more, total)
    }

    /// Tasks came to use this of an agent, or do not any more.
    pub fn used(&mut self, agent: &str, pieces: &[Piece], now: bool) {
        if let Some(agent) = self.agents.get_mut(agent) {
            let count = Count::of(pieces);
            if now {
                agent.used.add(count);
            } else {
                agent.used.take(count);
            }
        }
    }

    fn used_told(&mut self, agent: &str, used: &[Used]) {
        for one in used {
            self.hold(&one.whose, &one.role, agent, &one.piece);
            self.used(agent, &[one.piece], true);
        }
    }

    /// `removeSlave`.
    pub fn agent_removed(&mut self, index: &mut Index, id: &str) {
        index.set_agent(id, None);
        if let Some(mut agent) = self.agents.remove(id) {
            for (holder, milli) in agent.release_all() {
                self.frameworks.release(holder, milli);
            }
            self.frameworks.forget_strangers();
        }
    }

    /// Books GPUs for a framework, which may not be known yet, on an agent that is.
    pub fn hold(&mut self, framework: &str, role: &str, agent: &str, piece: &Piece) {
        let Some(agent) = self.agents.get_mut(agent).filter(|_| self.counts) else {
            return;
        };
        let key = self.frameworks.at(framework);
        if let Some(role) = self.frameworks.role(key, role, &self.settings) {
            let count = Count::of([piece]);
            agent.hold(role.holder, count);
            role.held = role.held.saturating_add(count.sum());
        }
    }

    fn set_total(
        &mut self,
        index: &mut Index,
        id: &str,
        total: impl FnOnce(Count) -> Count,
        pieces: &[Piece],
    ) -> Vec<Notice> {
        let Some(agent) = self.agents.get_mut(id) else {
            return Vec::new();
        };
        agent.total = total(agent.total);
        let has = agent.total.sum() > 0;
        let is_new = index.set_agent(id, has.then_some(&agent.offered));
        if !self.fractions
            && pieces
                .iter()
                .any(|piece| !Count::of([piece]).sum().is_multiple_of(ONE))
        {
            self.fractions = true;
            self.look_anew(index);
        }
        match is_new && index.agents() == 1 && self.settings.inner_filters() {
            true => self.hidden_from(|_| true).collect(),
            false => Vec::new(),
        }
    }
}

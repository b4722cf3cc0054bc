// SPDX-License-Identifier: Apache-2.0
//! What the master told, put together: every event that is no offer.

use super::Used;
use super::agents::Agent;
use super::frameworks::{Framework, Frameworks, Key};
use super::index::Index;
use super::notices::{self, Notice};
use crate::domain::allocation_policy::turn::{Moment, Pace};
use crate::domain::allocation_policy::{Policy, Settings};
use crate::wire::framework::FrameworkInfo;
use std::collections::HashMap;
use std::time::Duration;

/// How often Mesos makes offers where nothing else is said.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);

/// All that is known.
#[derive(Debug)]
pub struct State {
    /// The rules.
    pub settings: Settings,
    /// The frameworks.
    pub frameworks: Frameworks,
    /// The agents, those without GPUs included: they may get some.
    pub agents: HashMap<String, Agent>,
    /// Whether Mesos's own filter, where it is left to filter, does: `--filter_gpu_resources`.
    pub mesos_filters: bool,
    /// Whether GPUs are counted: for caps, for the metrics, and where a quota may hide free ones.
    pub counts: bool,
    /// Whether parts of GPUs can be offered.
    pub fractions: bool,
    /// What times are reckoned by.
    pub pace: Pace,
    /// Another one whenever someone waits for GPUs who did not before.
    pub epoch: u64,
    /// How often something was withheld.
    pub give_backs: u64,
}

impl State {
    /// Nothing is known yet.
    pub fn new(settings: Settings, counts: bool) -> Self {
        Self {
            counts: counts || !settings.caps.is_empty(),
            mesos_filters: true,
            fractions: false,
            pace: Pace {
                interval: DEFAULT_INTERVAL,
                refuse: settings.refuse_time,
                others: 0,
            },
            settings,
            frameworks: Frameworks::default(),
            agents: HashMap::new(),
            epoch: 0,
            give_backs: 0,
        }
    }

    /// Whether anything can be withheld or has to be counted.
    pub fn watches(&self) -> bool {
        !self.settings.inner_filters() || self.counts || self.fractions
    }

    /// `addFramework`: what it uses on agents that are not known will be told with them.
    pub fn framework_added(
        &mut self,
        index: &mut Index,
        id: &str,
        (info, suppressed, active): (&FrameworkInfo, &[String], bool),
        used: &[Used],
    ) -> Vec<Notice> {
        let key = self.frameworks.describe(id, info, suppressed, &self.settings);
        if let Some(framework) = self.frameworks.get_mut(key) {
            framework.active = active;
            // Its own word replaces what agents told of it.
            for role in &mut framework.roles {
                role.held = 0;
                for agent in self.agents.values_mut() {
                    agent.release_holder(role.holder);
                }
            }
        }
        for one in used {
            self.hold(id, &one.role, &one.whose, &one.piece);
        }
        self.changed(index, key);
        self.hidden_from(|framework| framework.id == id).collect()
    }

    /// `updateFramework`.
    pub fn framework_updated(
        &mut self,
        index: &mut Index,
        id: &str,
        info: &FrameworkInfo,
        suppressed: &[String],
    ) -> Vec<Notice> {
        let key = self.frameworks.describe(id, info, suppressed, &self.settings);
        self.changed(index, key);
        self.hidden_from(|framework| framework.id == id).collect()
    }

    /// `removeFramework`.
    pub fn framework_removed(&mut self, index: &mut Index, id: &str) {
        index.remove_framework(id);
        if let Some((key, framework)) = self.frameworks.remove(id) {
            for agent in self.agents.values_mut() {
                agent.forget(key, &framework);
            }
        }
        self.pace.others = self.frameworks.guests();
    }

    /// Changes what a framework wants. `takes_back`: what it declined is as if it had not.
    pub fn framework_wants(
        &mut self,
        index: &mut Index,
        id: &str,
        takes_back: bool,
        change: impl FnOnce(&mut Framework),
    ) {
        let Some(key) = self.frameworks.key(id) else {
            return;
        };
        if let Some(framework) = self.frameworks.get_mut(key) {
            if takes_back {
                framework.revivals = framework.revivals.wrapping_add(1);
                framework.kept_until = Moment::ZERO;
            }
            change(framework);
        }
        self.changed(index, key);
    }

    /// How long a revival of a framework waits. It would end what the framework is refused, and one after the other would
    /// leave no cycle to who waits for GPUs; so those that would do that are a round apart.
    pub fn revival_waits(&mut self, now: Moment, id: &str) -> (Duration, Vec<Notice>) {
        let key = self.frameworks.key(id);
        let Some(framework) = key.and_then(|key| self.frameworks.get_mut(key)) else {
            return Default::default();
        };
        let due = framework.revived.filter(|_| framework.kept_until > now);
        let wait = due.map_or(Duration::ZERO, |last| {
            (last + self.pace.round()).saturating_sub(now)
        });
        if wait.is_zero() {
            return Default::default();
        }
        framework.waited += 1;
        let first = (framework.waited == 1).then(|| notices::revives(framework, self.pace.round()));
        (wait, first.into_iter().collect())
    }

    /// From now on amounts may be chopped. Mesos's own filter does not care; ours keeps room for GPUs that a quota hides,
    /// and so has to count.
    pub fn quota_changed(&mut self, index: &mut Index) {
        self.epoch = self.epoch.wrapping_add(1);
        self.fractions = true;
        self.counts |= !self.settings.inner_filters();
        self.look_anew(index);
    }

    /// From whom of these Mesos's own filter hides what there is.
    pub fn hidden_from(&self, of: impl Fn(&Framework) -> bool) -> impl Iterator<Item = Notice> {
        let hides = self.mesos_filters && self.settings.inner_filters();
        let example = self
            .agents
            .values()
            .find(move |agent| hides && agent.total.sum() > 0);
        let hidden = move |one: &&Framework| one.known && !one.capable && of(one);
        example.into_iter().flat_map(move |agent| {
            let frameworks = self.frameworks.iter().filter(|one| hidden(one));
            frameworks
                .map(|framework| notices::hidden(framework, &agent.hostname))
                .collect::<Vec<_>>()
        })
    }

    /// A framework wants, has or may have something else.
    fn changed(&mut self, index: &mut Index, key: Key) {
        self.pace.others = self.frameworks.guests();
        if let Some(framework) = self.frameworks.get(key) {
            if framework.active
                && framework
                    .roles
                    .iter()
                    .any(|role| role.wanted && framework.may_have(role))
            {
                self.epoch = self.epoch.wrapping_add(1);
            }
            if framework.known {
                index.set_framework(&framework.id, self.passes(framework));
            }
        }
    }

    /// Whether all that a framework is offered passes, and nobody needs to know what it has.
    fn passes(&self, framework: &Framework) -> bool {
        let everyone = self.settings.policy == Policy::Open && self.settings.overrides.is_empty();
        !self.counts && !self.fractions && (framework.capable || everyone)
    }

    /// Who is looked at may be another.
    pub fn look_anew(&self, index: &mut Index) {
        index.watches = self.watches();
        for framework in self.frameworks.iter().filter(|framework| framework.known) {
            index.set_framework(&framework.id, self.passes(framework));
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The model's master: who comes and goes, and what frameworks do with offers.

use super::bag::{Bag, amounts};
use super::model::{Agent, Cluster, Does, Framework, Offer};
use mesos_gpu::filter::{Kind, Used};
use mesos_gpu::wire::framework::{Capability, FrameworkInfo, GPU_RESOURCES};
use prost::Message;
use std::time::Duration;

impl Cluster {
    pub fn agent(&mut self, id: &str, total: Bag) {
        let used: Vec<Used> = self
            .used
            .iter()
            .filter(|((_, agent), _)| agent == id)
            .flat_map(|((framework, _), bag)| self.shares(framework, framework, bag))
            .collect();
        let mut free = total.clone();
        for ((_, agent), bag) in &self.used {
            if agent == id {
                free.take(bag);
            }
        }
        self.filter
            .agent_added(id, &format!("host-{id}"), &total.pieces(), &used);
        self.agents.push(Agent {
            id: id.to_owned(),
            total,
            free,
        });
    }

    fn shares(&self, framework: &str, whose: &str, bag: &Bag) -> Vec<Used> {
        let role = self.framework_of(framework).map_or("r", |one| one.role.as_str());
        let gpus = bag.pieces().into_iter().filter(|piece| piece.kind == Kind::Gpus);
        gpus.map(|piece| Used {
            whose: whose.to_owned(),
            role: role.to_owned(),
            piece,
        })
        .collect()
    }

    pub fn framework(&mut self, id: &str, role: &str, capable: bool, does: Does) {
        self.frameworks.push(Framework {
            id: id.to_owned(),
            role: role.to_owned(),
            capable,
            active: true,
            does,
            allocated: Bag::default(),
            offers: 0,
        });
        let mut used = Vec::new();
        let mut allocated = Bag::default();
        for ((framework, agent), bag) in &self.used {
            if framework == id {
                used.extend(self.shares(id, agent, bag));
                allocated.add(bag);
            }
        }
        self.frameworks.last_mut().unwrap().allocated = allocated;
        let kind = if capable { GPU_RESOURCES } else { 6 };
        let info = FrameworkInfo {
            name: format!("name-{id}"),
            roles: vec![role.to_owned()],
            capabilities: vec![Capability { r#type: Some(kind) }],
            ..FrameworkInfo::default()
        };
        self.filter
            .framework_added(id, &info.encode_to_vec(), &[], true, &used);
    }

    pub fn remove_framework(&mut self, id: &str) {
        self.filter.framework_removed(id);
        self.frameworks.retain(|one| one.id != id);
        self.filters.retain(|(framework, ..)| framework != id);
        for ((_, agent), bag) in self.used.iter().filter(|((framework, _), _)| framework == id) {
            if let Some(agent) = self.agents.iter_mut().find(|one| one.id == *agent) {
                agent.free.add(bag);
            }
        }
        self.used.retain(|(framework, _), _| framework != id);
    }

    pub fn remove_agent(&mut self, id: &str) {
        self.filter.agent_removed(id);
        self.agents.retain(|one| one.id != id);
        for ((framework, _), bag) in self.used.iter().filter(|((_, agent), _)| agent == id) {
            if let Some(framework) = self.frameworks.iter_mut().find(|one| one.id == *framework) {
                framework.allocated.take(bag);
            }
        }
        self.used.retain(|(_, agent), _| agent != id);
    }

    pub fn revive(&mut self, id: &str) {
        self.filter.revived(id, &[]);
        self.filters.retain(|(framework, ..)| framework != id);
    }

    /// All that a framework uses comes back.
    pub fn finish(&mut self, id: &str) {
        let agents: Vec<String> = self
            .used
            .keys()
            .filter(|(framework, _)| framework == id)
            .map(|(_, agent)| agent.clone())
            .collect();
        for agent in agents {
            self.finish_on(id, &agent);
        }
    }

    /// What a framework uses on one agent comes back.
    pub fn finish_on(&mut self, id: &str, agent: &str) {
        if let Some(bag) = self.used.remove(&(id.to_owned(), agent.to_owned())) {
            self.recover(id, agent, &bag, None);
        }
    }

    /// A framework uses something without having been offered it, as after a failover.
    pub fn use_on(&mut self, id: &str, agent: &str, bag: &Bag) {
        self.agents
            .iter_mut()
            .find(|one| one.id == agent)
            .unwrap()
            .free
            .take(bag);
        let framework = self.frameworks.iter_mut().find(|one| one.id == id).unwrap();
        framework.allocated.add(bag);
        self.used.insert((id.to_owned(), agent.to_owned()), bag.clone());
    }

    /// `recoverResources` by the master.
    fn recover(&mut self, framework: &str, agent: &str, bag: &Bag, refuse: Option<Duration>) {
        if bag.is_empty() {
            return;
        }
        let role = self.framework_of(framework).map_or("r", |one| one.role.as_str());
        if self.filter.watches(agent, false) && self.filter.returned(framework, agent, refuse) {
            self.filter
                .recovered(framework, role, agent, &bag.pieces(), refuse);
        }
        self.give_back(framework, agent, bag, refuse);
    }

    pub fn answer(&mut self, offer: &Offer) {
        let Some(framework) = self.framework_of(&offer.framework) else {
            // The master takes back what a framework that is gone was offered.
            self.recover(&offer.framework, &offer.agent, &offer.what, None);
            return;
        };
        let (used, refuse) = match framework.does {
            Does::TakeAll => (offer.what.clone(), Duration::ZERO),
            Does::Decline(refuse) => (Bag::default(), refuse),
            Does::Keep => (offer.what.without_gpus(), Duration::ZERO),
            Does::TakeGpus(most, refuse) => {
                let gpus = offer.what.gpus().min(most * 1000);
                let wanted = amounts(gpus, gpus, gpus * 100);
                match gpus > 0 && offer.what.covers(&wanted) {
                    true => (wanted, refuse),
                    false => (Bag::default(), refuse),
                }
            }
        };
        let mut rest = offer.what.clone();
        rest.take(&used);
        let key = (offer.framework.clone(), offer.agent.clone());
        if !used.is_empty() {
            self.used.entry(key).or_default().add(&used);
        }
        self.recover(&offer.framework, &offer.agent, &rest, Some(refuse));
    }
}

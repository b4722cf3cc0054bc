// SPDX-License-Identifier: Apache-2.0
//! A small model of the inner allocator and of the frameworks behind it, around a real filter: shares by the dominant
//! resource, one framework for an agent's unreserved resources in each cycle, filters that refuse subsets, quotas that
//! chop. Its master keeps the books and ends the test where a real one would abort.

use super::bag::Bag;
use mesos_gpu::config::allocator::AllocatorConfig;
use mesos_gpu::filter::{Filter, Kind, Piece};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What a framework does with each offer.
#[derive(Clone, Copy)]
pub enum Does {
    /// Declines, for so long.
    Decline(Duration),
    /// Uses all of it, for ever.
    TakeAll,
    /// Uses at most so many GPUs, with as many cpus and 100 MB each, and declines the rest for so long.
    TakeGpus(u64, Duration),
    /// Uses all, but keeps no GPU.
    Keep,
}

pub struct Framework {
    pub id: String,
    pub role: String,
    pub capable: bool,
    pub active: bool,
    pub does: Does,
    pub allocated: Bag,
    pub offers: u64,
}

pub struct Agent {
    pub id: String,
    pub total: Bag,
    pub free: Bag,
}

/// Something that reached a framework.
#[derive(Clone, Debug)]
pub struct Offer {
    pub framework: String,
    pub agent: String,
    pub what: Bag,
}

pub struct Cluster {
    pub filter: Filter,
    pub agents: Vec<Agent>,
    pub frameworks: Vec<Framework>,
    /// Limits of roles.
    pub quotas: BTreeMap<String, Bag>,
    /// Who uses what, by framework and agent.
    pub used: BTreeMap<(String, String), Bag>,
    pub filters: Vec<(String, String, Bag, Duration)>,
    now: Arc<Mutex<Duration>>,
    seed: u64,
    pub give_backs: u64,
    /// Called between the inner allocator's booking and its callbacks.
    pub between: Option<Between>,
}

/// Something that happens to the filter.
pub type Between = Box<dyn FnMut(&Filter)>;

/// One cycle.
pub const INTERVAL: Duration = Duration::from_secs(1);

fn config(parameters: &[(&str, &str)]) -> AllocatorConfig {
    let pairs: Vec<(String, String)> = parameters
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    AllocatorConfig::from_parts(&pairs).unwrap()
}

impl Cluster {
    pub fn new(parameters: &[(&str, &str)]) -> Self {
        let now = Arc::new(Mutex::new(Duration::ZERO));
        let (start, clock) = (Instant::now(), Arc::clone(&now));
        let filter = Filter::with_clock(
            config(parameters),
            Box::new(move || start + *clock.lock().unwrap()),
        );
        filter.initialized(INTERVAL, true);
        Self {
            filter,
            agents: Vec::new(),
            frameworks: Vec::new(),
            quotas: BTreeMap::new(),
            used: BTreeMap::new(),
            filters: Vec::new(),
            now,
            seed: 1,
            give_backs: 0,
            between: None,
        }
    }

    pub fn now(&self) -> Duration {
        *self.now.lock().unwrap()
    }

    pub fn random(&mut self, below: usize) -> usize {
        // xorshift: the same series in each run.
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        usize::try_from(self.seed % u64::try_from(below).unwrap()).unwrap()
    }

    /// Whether the filter is asked about what an agent offers to a framework.
    pub fn concerns(&self, framework: &str, agent: &str) -> bool {
        self.filter.concerned(framework, [agent]) == [0]
    }

    pub fn framework_of(&self, id: &str) -> Option<&Framework> {
        self.frameworks.iter().find(|one| one.id == id)
    }

    /// `recoverResources` of the inner allocator, which aborts where something is given back that it did not give.
    pub fn give_back(&mut self, framework: &str, agent: &str, bag: &Bag, refuse: Option<Duration>) {
        if let Some(one) = self.frameworks.iter_mut().find(|one| one.id == framework) {
            one.allocated.take(bag);
        }
        let now = self.now();
        if let Some(one) = self.agents.iter_mut().find(|one| one.id == agent) {
            one.free.add(bag);
            assert!(one.total.covers(&one.free), "more came back than there is");
        }
        if let Some(refuse) = refuse.filter(|refuse| !refuse.is_zero()) {
            self.filters.push((
                framework.to_owned(),
                agent.to_owned(),
                bag.clone(),
                now + refuse.max(INTERVAL),
            ));
        }
    }

    /// The frameworks in the order in which they are served: the lower share first, of its role and then its own, and who
    /// was served less often where these are equal.
    fn order(&self, total: &Bag) -> Vec<usize> {
        let mut roles: BTreeMap<&str, (f64, u64)> = BTreeMap::new();
        let shares: Vec<f64> = self
            .frameworks
            .iter()
            .map(|one| one.allocated.share_of(total))
            .collect();
        for (one, share) in self.frameworks.iter().zip(&shares) {
            let role = roles.entry(&one.role).or_default();
            *role = (role.0 + share, role.1 + one.offers);
        }
        let mut order: Vec<usize> = (0..self.frameworks.len()).collect();
        order.sort_by(|at, other| {
            let (a, b) = (&self.frameworks[*at], &self.frameworks[*other]);
            let (role, role_b) = (roles[a.role.as_str()], roles[b.role.as_str()]);
            role.0
                .total_cmp(&role_b.0)
                .then(role.1.cmp(&role_b.1))
                .then(a.role.cmp(&b.role))
                .then(shares[*at].total_cmp(&shares[*other]))
                .then(a.offers.cmp(&b.offers))
                .then(a.id.cmp(&b.id))
        });
        order
    }

    /// What the inner allocator gives out in one cycle.
    fn book(&mut self) -> BTreeMap<String, Vec<(String, Bag)>> {
        let now = self.now();
        self.filters.retain(|(.., until)| *until > now);
        let mut offered: BTreeMap<String, Vec<(String, Bag)>> = BTreeMap::new();
        let mut agents: Vec<usize> = (0..self.agents.len()).collect();
        for at in (1..agents.len()).rev() {
            let other = self.random(at + 1);
            agents.swap(at, other);
        }
        let mut total = Bag::default();
        for agent in &self.agents {
            total.add(&agent.total);
        }
        for at in agents {
            for framework in self.order(&total) {
                let (agent, one) = (&self.agents[at], &self.frameworks[framework]);
                let hidden = self.filter.inner_filters() && !one.capable && agent.total.gpus() > 0;
                let mut bag = agent.free.of_role(&one.role);
                if let Some(limit) = self.quotas.get(&one.role) {
                    let mut left = limit.clone();
                    for other in self.frameworks.iter().filter(|other| other.role == one.role) {
                        left.take_what_there_is(&other.allocated);
                    }
                    bag.chop(&left);
                }
                let refused = |(whose, of, set, _): &(String, String, Bag, Duration)| {
                    *whose == one.id && *of == agent.id && set.covers(&bag)
                };
                if hidden || !one.active || !bag.is_allocatable() || self.filters.iter().any(refused) {
                    continue;
                }
                self.agents[at].free.take(&bag);
                let id = self.agents[at].id.clone();
                let one = &mut self.frameworks[framework];
                one.allocated.add(&bag);
                one.offers += 1;
                offered.entry(one.id.clone()).or_default().push((id, bag));
            }
        }
        offered
    }

    /// One cycle; what reached the frameworks.
    pub fn cycle(&mut self) -> Vec<Offer> {
        *self.now.lock().unwrap() += INTERVAL;
        let booked = self.book();
        if let Some(between) = &mut self.between {
            between(&self.filter);
        }
        let (mut delivered, mut back) = (Vec::new(), Vec::new());
        for (framework, agents) in booked {
            let looks = self.filter.looks_at(&framework);
            for (agent, bag) in agents {
                let mut passed = bag.clone();
                if looks && self.concerns(&framework, &agent) {
                    let role = self.framework_of(&framework).map_or("", |one| one.role.as_str());
                    let (pieces, parts) = (bag.pieces(), bag.parts());
                    let verdict = self.filter.decide(&framework, role, &agent, &pieces);
                    let mut withheld = Bag::default();
                    for (at, amount) in verdict.withheld {
                        withheld.put(&parts[at], amount);
                    }
                    assert!(
                        bag.covers(&withheld),
                        "more is withheld than was offered: {bag:?}"
                    );
                    passed.take(&withheld);
                    if !withheld.is_empty() {
                        self.give_backs += 1;
                        back.push((framework.clone(), agent.clone(), withheld, verdict.refuse));
                    }
                }
                if !passed.is_empty() {
                    delivered.push(Offer {
                        framework: framework.clone(),
                        agent,
                        what: passed,
                    });
                }
            }
        }
        for (framework, agent, bag, refuse) in back {
            self.give_back(&framework, &agent, &bag, Some(refuse));
        }
        for offer in &delivered {
            self.answer(offer);
        }
        delivered
    }

    /// A number of the metrics.
    pub fn number(&self, series: &str) -> f64 {
        let text = self.filter.numbers();
        let line = text.lines().find_map(|line| line.strip_prefix(series));
        line.map_or(0.0, |value| value.trim().parse().unwrap())
    }
}

/// Whether any of these is a piece of GPUs.
pub fn has_gpus(pieces: &[Piece]) -> bool {
    pieces.iter().any(|piece| piece.kind == Kind::Gpus)
}

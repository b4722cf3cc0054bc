// SPDX-License-Identifier: Apache-2.0
//! The allocator's filter: what is withheld of an offer that the inner allocator makes, and what has to be known for it.
//!
//! The master's calls come on its own thread and offers on the inner allocator's, so everything is behind a lock and every
//! call takes `&self`. All ids are the plain texts, not the messages.
//!
//! For an offer callback: [`Filter::looks_at`] for its framework; where that is true, [`Filter::concerned`] for its agents;
//! for those that it names, [`Filter::decide`]. What a verdict withholds is given back to the inner allocator with a
//! refuse filter of the verdict's time, and is *not* told here again. For what the master gives back, `recoverResources`:
//! [`Filter::watches`], where that is true [`Filter::returned`], and where that is true too [`Filter::recovered`].

mod agent_events;
mod agents;
mod decide;
mod frameworks;
mod index;
mod notices;
mod numbers;
pub mod publisher;
mod state;

use crate::config::allocator::AllocatorConfig;
use crate::wire::decode;
use crate::wire::framework::FrameworkInfo;
use index::Index;
use notices::Notice;
use state::State;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

pub use crate::domain::allocation_policy::piece::{Kind, Piece};

/// What one framework uses on one agent in one role, as `addFramework`, `addSlave` and `addResourceProvider` tell it: one
/// for each resource named `gpus`; others need not be told.
#[derive(Debug, Clone, PartialEq)]
pub struct Used {
    /// The other side's id: of the agent where a framework is added, of the framework where an agent is.
    pub whose: String,
    /// The role it is allocated to.
    pub role: String,
    /// The resource.
    pub piece: Piece,
}

/// What is withheld of what an agent offers to a role of a framework.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verdict {
    /// Which of the pieces, by index, and how much of each. An amount that is the piece's own means the whole piece.
    /// Empty: all passes.
    pub withheld: Vec<(usize, f64)>,
    /// How long the inner allocator is to refuse the framework what is withheld.
    pub refuse: Duration,
}

/// Where the time comes from.
pub type Clock = Box<dyn Fn() -> Instant + Send + Sync>;

/// The filter of one master.
pub struct Filter {
    config: AllocatorConfig,
    clock: Clock,
    start: Instant,
    /// Taken before the index where both are.
    state: Mutex<State>,
    index: RwLock<Index>,
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl Filter {
    /// A filter with these settings and the system's clock.
    pub fn new(config: AllocatorConfig) -> Self {
        Self::with_clock(config, Box::new(Instant::now))
    }

    /// A filter with another clock.
    pub fn with_clock(config: AllocatorConfig, clock: Clock) -> Self {
        let state = State::new(config.settings.clone(), config.metrics_file.is_some());
        let index = Index::new(state.watches());
        Self {
            config,
            start: clock(),
            clock,
            state: Mutex::new(state),
            index: RwLock::new(index),
        }
    }

    /// Whether the inner allocator's own `filterGpuResources` stays as the master set it. Else it is to be off.
    pub fn inner_filters(&self) -> bool {
        self.config.settings.inner_filters()
    }

    /// The sorter of roles that the inner allocator is made with: `drf` or `random`.
    pub fn role_sorter(&self) -> &str {
        &self.config.role_sorter
    }

    /// The sorter of a role's frameworks: `drf` or `random`.
    pub fn framework_sorter(&self) -> &str {
        &self.config.framework_sorter
    }

    /// `initialize`: how often the inner allocator makes offers.
    pub fn initialized(&self, allocation_interval: Duration, mesos_filters: bool) {
        let mut state = self.state();
        state.mesos_filters = mesos_filters;
        if !allocation_interval.is_zero() {
            state.pace.interval = allocation_interval;
        }
    }

    /// `addFramework`; `info` is the wire form of its `FrameworkInfo`.
    pub fn framework_added(&self, id: &str, info: &[u8], suppressed: &[String], active: bool, used: &[Used]) {
        let info = described(id, info);
        self.tell(|state, index| state.framework_added(index, id, (&info, suppressed, active), used));
    }

    /// `updateFramework`.
    pub fn framework_updated(&self, id: &str, info: &[u8], suppressed: &[String]) {
        let info = described(id, info);
        self.tell(|state, index| state.framework_updated(index, id, &info, suppressed));
    }

    /// `removeFramework`.
    pub fn framework_removed(&self, id: &str) {
        self.change(|state, index| state.framework_removed(index, id));
    }

    /// `activateFramework` and `deactivateFramework`.
    pub fn framework_active(&self, id: &str, active: bool) {
        self.change(|state, index| state.framework_wants(index, id, true, |one| one.active = active));
    }

    /// `suppressOffers`; no roles are all of the framework's.
    pub fn suppressed(&self, id: &str, roles: &[String]) {
        self.change(|state, index| state.framework_wants(index, id, false, |one| one.want(roles, false)));
    }

    /// How much later `reviveOffers` is to be called than the framework wishes.
    pub fn revival_waits(&self, id: &str) -> Duration {
        let now = self.now();
        let (wait, notices) = self.state().revival_waits(now, id);
        notices::log(notices);
        wait
    }

    /// `reviveOffers`; no roles are all of the framework's.
    pub fn revived(&self, id: &str, roles: &[String]) {
        let now = self.now();
        self.change(|state, index| {
            state.framework_wants(index, id, true, |one| {
                one.want(roles, true);
                one.revived = Some(now);
            })
        });
    }

    /// `addSlave`; of `total` only the pieces of kind `Gpus` are needed.
    pub fn agent_added(&self, id: &str, hostname: &str, total: &[Piece], used: &[Used]) {
        self.tell(|state, index| state.agent_added(index, id, hostname, total, used));
    }

    /// `updateSlave` with a total; without one it need not be told.
    pub fn agent_updated(&self, id: &str, total: &[Piece]) {
        self.tell(|state, index| state.agent_updated(index, id, total));
    }

    /// `addResourceProvider`: what is added to the total, and what is used of that.
    pub fn provider_added(&self, id: &str, total: &[Piece], used: &[Used]) {
        self.tell(|state, index| state.provider_added(index, id, total, used));
    }

    /// `removeSlave`.
    pub fn agent_removed(&self, id: &str) {
        self.change(|state, index| state.agent_removed(index, id));
    }

    /// `updateQuota`, and each role of `recover`: from then on amounts can be chopped. Which role it is does not matter.
    pub fn quota_changed(&self, _role: &str) {
        self.change(State::quota_changed);
    }

    /// Whether any offer to this framework has to be looked at: asked once for each offer callback.
    pub fn looks_at(&self, framework: &str) -> bool {
        self.index().looks_at(framework)
    }

    /// The places of those of these agents of which what they offer to this framework has to be decided. Asked for all
    /// agents of an offer, and not at other times: that a framework to which all passes was offered an agent is noted here.
    pub fn concerned<'a>(&self, framework: &str, agents: impl IntoIterator<Item = &'a str>) -> Vec<usize> {
        self.index().concerned(framework, agents)
    }

    /// What is withheld of what an agent offers to a framework's role: all pieces that are in the offer, in their order.
    pub fn decide(&self, framework: &str, role: &str, agent: &str, pieces: &[Piece]) -> Verdict {
        let now = self.now();
        let (verdict, notices) = self.state().decide(now, (framework, role, agent), pieces);
        notices::log(notices);
        verdict
    }

    /// `transitionOfferedToAllocated`, and with `now` false what tasks leave: `recoverResources` with `isAllocated`.
    pub fn used(&self, agent: &str, pieces: &[Piece], now: bool) {
        if self.index().has(agent) {
            self.state().used(agent, pieces, now);
        }
    }

    /// Whether anything that is returned of this agent is of interest: to [`Filter::used`] where tasks used it, and to
    /// [`Filter::returned`].
    pub fn watches(&self, agent: &str, used: bool) -> bool {
        let index = self.index();
        (used || index.watches) && index.has(agent)
    }

    /// `recoverResources` called by the master: declined, rescinded, finished. `refuse` is the time of its filters, where
    /// it has filters. True where [`Filter::recovered`] has to be told the rest.
    pub fn returned(&self, framework: &str, agent: &str, refuse: Option<Duration>) -> bool {
        let index = self.index();
        if !index.has(agent) || !index.watches {
            return false;
        }
        let looked_at = !index.passes(framework);
        drop(index);
        if let Some(refuse) = refuse.filter(|_| !looked_at) {
            let now = self.now();
            self.state().declined(now, framework, agent, refuse);
        }
        looked_at
    }

    /// What [`Filter::returned`] asked for, told before the inner allocator is.
    pub fn recovered(
        &self,
        framework: &str,
        role: &str,
        agent: &str,
        pieces: &[Piece],
        refuse: Option<Duration>,
    ) {
        let now = self.now();
        self.state()
            .recovered(now, (framework, role, agent), pieces, refuse);
    }

    /// The numbers at this moment, as Prometheus reads them.
    pub fn numbers(&self) -> String {
        let state = self.state();
        let agents = self.index().agents();
        numbers::text(&state, agents)
    }

    fn now(&self) -> Duration {
        (self.clock)().saturating_duration_since(self.start)
    }

    fn change(&self, event: impl FnOnce(&mut State, &mut Index)) {
        let mut state = self.state();
        event(&mut state, &mut self.index_mut());
    }

    fn tell(&self, event: impl FnOnce(&mut State, &mut Index) -> Vec<Notice>) {
        let mut notices = Vec::new();
        self.change(|state, index| notices = event(state, index));
        notices::log(notices);
    }

    // What a thread left that panicked is counts at worst; a master without offers would be worse.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn index(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn index_mut(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a framework says of itself; what cannot be read has no capability.
fn described(id: &str, info: &[u8]) -> FrameworkInfo {
    decode("FrameworkInfo", info).unwrap_or_else(|error| {
        log::error!("framework {id} is treated as one without the capability GPU_RESOURCES: {error}");
        FrameworkInfo::default()
    })
}

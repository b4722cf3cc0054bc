// SPDX-License-Identifier: Apache-2.0
//! What the agent thread owns.

use crate::agent::board::Board;
use crate::agent::calls::Calls;
use crate::agent::corrections::Corrections;
use crate::agent::eviction::Evictions;
use crate::agent::machine::Machine;
use crate::agent::mailbox::{Job, Mailbox};
use crate::agent::metrics::{self, Published};
use crate::agent::panic_text;
use crate::agent::products::Products;
use crate::agent::release::{self, Release};
use crate::agent::reply::Reply;
use crate::agent::sampling::{Estimation, Readings};
use crate::agent::settings::{ImageSettings, Patience, Settings};
use crate::agent::timers::Timers;
use crate::agent::told::Told;
use crate::agent::waiting::Queue;
use crate::config::Mode;
use crate::domain::container::{ContainerId, Executor};
use crate::domain::gpu::UnitId;
use crate::domain::guests::Guests;
use crate::domain::inventory::Inventory;
use crate::domain::ledger::Ledger;
use crate::domain::record::{Advertised, Record};
use crate::domain::request::Wanted;
use crate::error::Error;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// What is known of a live container.
#[derive(Default)]
pub struct Container {
    /// Mesos's watch on it; answering it kills the container.
    pub watch: Option<Reply<Vec<u8>>>,
    /// The executor it was made for, when it was made for one.
    pub executor: Option<Executor>,
    /// Its first process, once there is one.
    pub pid: Option<u32>,
    /// What a child was given of the grant above it; none when it shares all of that.
    pub given: Option<Vec<UnitId>>,
    /// How programs in it find the driver, where its image was fitted with that.
    pub driver_environment: Vec<(String, String)>,
    /// How many GPUs it shall keep, while children still use more than that.
    pub target: Option<Wanted>,
    /// Whether it was there before this agent, and Mesos has not told since what it has.
    pub recovered: bool,
    /// Whether an update is under way.
    pub busy: bool,
    /// The updates that came meanwhile.
    pub queue: VecDeque<Job>,
}

/// The books of one agent and its machine.
pub struct State {
    /// The machine.
    pub machine: Machine,
    /// The units this agent manages and that are there.
    pub inventory: Inventory,
    /// What was advertised, also of units that are gone.
    pub advertised: Advertised,
    /// Who holds them.
    pub ledger: Ledger,
    /// Who is on a held GPU besides its holder.
    pub guests: Guests,
    /// Which held GPUs are idle, and whose guests must go.
    pub estimate: Estimation,
    /// What NVML told last of each GPU, for the metrics.
    pub readings: Readings,
    /// The guests that were told to go.
    pub evictions: Evictions,
    /// Which executors the QoS controller is to kill.
    pub corrections: Corrections,
    /// The GPUs that are being released.
    pub releases: BTreeMap<UnitId, Release>,
    /// Whether another look at them is put off already.
    pub look_is_due: bool,
    /// Launches and growths that wait for them.
    pub waiting: Queue,
    /// The containers that were prepared or recovered, nested ones too.
    pub containers: BTreeMap<ContainerId, Container>,
    /// The agent's cgroup root, below each hierarchy.
    pub cgroups_root: String,
    /// Whether the containers of the agent before are known: until then nobody's processes are strangers.
    pub recovered: bool,
    /// How patient it is.
    pub patience: Patience,
    /// What it is for.
    pub mode: Mode,
    /// What images get.
    pub images: ImageSettings,
    /// What NVML told of the products that the GPUs are.
    pub products: Products,
    /// The way to this thread.
    pub mailbox: Mailbox,
    /// What hooks may read.
    pub board: Board,
    /// What is counted of Mesos's calls.
    pub calls: Calls,
    /// What was published of its numbers.
    pub published: Published,
    timers: Timers,
    poison: Option<String>,
    /// What the driver's tree said in this job.
    pub(super) told: Told,
    /// What was written down last.
    written: Option<Record>,
}

impl State {
    /// The books of a machine on which nothing runs yet.
    pub fn new(
        machine: Machine,
        inventory: Inventory,
        advertised: Advertised,
        settings: Settings,
        mailbox: Mailbox,
    ) -> Self {
        let board = Board::default();
        board.show_units(inventory.units().to_vec());
        Self {
            machine,
            inventory,
            advertised,
            ledger: Ledger::default(),
            guests: Guests::default(),
            estimate: Estimation::off(),
            readings: Readings::off(),
            evictions: Evictions::default(),
            corrections: Corrections::default(),
            releases: BTreeMap::new(),
            look_is_due: false,
            waiting: Queue::default(),
            containers: BTreeMap::new(),
            cgroups_root: settings.cgroups_root,
            recovered: false,
            patience: settings.patience,
            mode: settings.mode,
            images: settings.images,
            products: Products::default(),
            mailbox,
            board,
            calls: Calls::default(),
            published: Published::default(),
            timers: Timers::default(),
            poison: None,
            told: Told::default(),
            written: None,
        }
    }

    /// Runs `job`, which finds the driver as it is now; a panic in it is logged, poisons the books and comes back as an
    /// error.
    ///
    /// # Errors
    /// The panic's text, with the entry in which it happened.
    pub fn guarded(&mut self, entry: &'static str, job: impl FnOnce(&mut State)) -> Result<(), Error> {
        self.told = Told::default();
        catch_unwind(AssertUnwindSafe(|| job(self))).map_err(|panic| {
            let reason = format!("{entry} panicked: {}", panic_text(panic.as_ref()));
            log::error!("{reason}");
            self.poison(&reason);
            Error::defect(reason)
        })
    }

    /// Puts a job off.
    pub fn later(
        &mut self,
        wait: Duration,
        entry: &'static str,
        job: impl FnOnce(&mut State) + Send + 'static,
    ) {
        let guarded = move |state: &mut State| {
            // Logged and noted there; nobody waits for an answer.
            let _ = state.guarded(entry, job);
        };
        self.timers.add(Instant::now() + wait, Box::new(guarded));
    }

    /// When the next job that was put off is due.
    pub fn next_due(&self) -> Option<Instant> {
        self.timers.next_due()
    }

    /// Runs the jobs that are due by `now`.
    pub fn run_due(&mut self, now: Instant) {
        while let Some(job) = self.timers.take_due(now) {
            job(self);
        }
    }

    /// Notes that a verb panicked, so that the books may be wrong. From here on no GPU is handed out; containers without
    /// GPUs still launch, and `cleanup` still gives back. The first reason is kept.
    pub fn poison(&mut self, reason: &str) {
        self.poison.get_or_insert_with(|| reason.to_owned());
    }

    /// Whether GPUs may still be handed out.
    ///
    /// # Errors
    /// The reason of the first panic.
    pub fn sound(&self) -> Result<(), Error> {
        match &self.poison {
            None => Ok(()),
            Some(reason) => Err(Error::defect(format!(
                "no GPU is handed out any more since {reason}; restart the agent, its containers survive that"
            ))),
        }
    }

    /// What a container may use: what it holds and what it is a guest on, or for a child what it was given or shares.
    pub fn units_of(&self, container: &ContainerId) -> Vec<UnitId> {
        let given = self
            .containers
            .get(container)
            .and_then(|known| known.given.clone());
        match (given, container.parent()) {
            (Some(given), _) => given,
            (None, Some(above)) => self.units_of(&above),
            (None, None) => [self.ledger.held_by(container), &self.guests.of(container)].concat(),
        }
    }

    /// Who holds what, and children with what they were given.
    fn all_held(&self) -> BTreeMap<ContainerId, Vec<UnitId>> {
        let mut held = self.ledger.all_held().clone();
        for (container, known) in &self.containers {
            if let Some(given) = &known.given {
                held.insert(container.clone(), given.clone());
            }
        }
        held
    }

    /// Shows the books to the hooks and the metrics.
    pub fn show(&mut self) {
        let mut used = self.all_held();
        for (guest, units) in self.guests.by_guest() {
            used.entry(guest).or_default().extend(units);
        }
        let executors = self
            .containers
            .iter()
            .filter_map(|(id, known)| Some((known.executor.clone()?, id.clone())));
        let executors = executors.collect();
        self.board.show_held(used, executors);
        metrics::soon(self);
    }

    /// Writes the books down, and shows them. Before the kernel is told anything: a crash in between leaves a GPU held, not
    /// shared. False when they could not be written down.
    pub fn record(&mut self) -> bool {
        self.show();
        if self.mode == Mode::Observe {
            return true;
        }
        let (mut held, mut guests) = (self.all_held(), self.guests.by_guest());
        for (container, unit, was_guest) in release::of_the_living(&self.releases) {
            let list = if was_guest { &mut guests } else { &mut held };
            list.entry(container.clone()).or_default().push(unit.clone());
        }
        let checkpoint = &self.machine.checkpoint;
        let record = Record {
            boot_id: checkpoint.boot_id(),
            advertised: Some(self.advertised.clone()),
            held,
            guests,
        };
        if self.written.as_ref() == Some(&record) {
            return true;
        }
        match checkpoint.save(&record) {
            Ok(()) => self.written = Some(record),
            // The kernel is a second witness, so of holders nothing is lost yet.
            Err(why) => {
                log::error!("cannot write down who holds which GPU: {why}");
                return false;
            }
        }
        true
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("ledger", &self.ledger)
            .finish_non_exhaustive()
    }
}

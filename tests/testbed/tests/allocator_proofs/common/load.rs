// SPDX-License-Identifier: Apache-2.0
//! Frameworks that come, go, fail over, decline, suppress, and run short tasks, until they are told to stop; also across the
//! death of the master. In the end they are quiet and stay: of a framework that goes Mesos frees all, also what was lost.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use testbed::scheduler::{Framework, FrameworkOptions, Offer, SchedulerError, Task};

use super::random::Random;
use super::{PATIENCE, options};

/// How long what is declined is refused, in seconds.
const REFUSALS: [f64; 4] = [0.0, 0.01, 0.1, 1.0];

/// Of so many steps with an offer, one runs a task: each costs the machine two processes.
const TASKS_IN: u64 = 40;

/// A running load.
pub struct Load {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Option<Framework>>>,
}

/// Frameworks that are subscribed and want no offers.
pub struct Quiet {
    pub frameworks: Vec<Framework>,
    /// What the load did.
    pub done: String,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    offers: AtomicUsize,
    tasks: AtomicUsize,
    failovers: AtomicUsize,
    departures: AtomicUsize,
}

impl Load {
    /// So many frameworks, every second one with the capability, in five roles.
    pub fn start(master: &str, frameworks: u64, seed: u64) -> Self {
        Self::with(master, frameworks, seed, false)
    }

    /// The same, but none goes before it has heard of all its tasks. An agent that is told to end a framework while it
    /// starts the framework's task keeps the task for ever, and tells the next master that its resources are in use.
    pub fn patient(master: &str, frameworks: u64, seed: u64) -> Self {
        Self::with(master, frameworks, seed, true)
    }

    fn with(master: &str, frameworks: u64, seed: u64, patient: bool) -> Self {
        let shared = Arc::<Shared>::default();
        let threads = (0..frameworks).map(|number| {
            let mut actor = Actor {
                master: master.to_owned(),
                options: options(
                    &format!("load-{number}"),
                    &format!("load-{}", number % 5),
                    number % 2 == 1,
                ),
                random: Random::new(seed + number * 7919),
                shared: Arc::clone(&shared),
                patient,
                stays: number < frameworks / 4,
                launched: Vec::new(),
                next_task: 0,
            };
            thread::spawn(move || actor.run())
        });
        Self {
            threads: threads.collect(),
            shared,
        }
    }

    /// How many `OFFERS` events came: each is one decision of the allocator that was not wholly withheld.
    pub fn offers(&self) -> usize {
        self.shared.offers.load(Ordering::Relaxed)
    }

    /// Waits until so many more events have come.
    pub fn wait_offers(&self, number: usize, mut meanwhile: impl FnMut()) {
        let wanted = self.offers() + number;
        let (mut last, mut until) = (self.offers(), Instant::now() + PATIENCE);
        while self.offers() < wanted {
            let now = self.offers();
            if now > last {
                (last, until) = (now, Instant::now() + PATIENCE);
            }
            assert!(Instant::now() < until, "offers have stopped at {now} of {wanted}");
            meanwhile();
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// All become quiet. They hold offers still, and tasks run.
    pub fn stop(self) -> Quiet {
        self.shared.stop.store(true, Ordering::Relaxed);
        let threads = self.threads.into_iter();
        let frameworks = threads.filter_map(|thread| thread.join().unwrap()).collect();
        let count = |of: &AtomicUsize| of.load(Ordering::Relaxed);
        Quiet {
            frameworks,
            done: format!(
                "{} offer events, {} tasks, {} failovers, {} departures",
                count(&self.shared.offers),
                count(&self.shared.tasks),
                count(&self.shared.failovers),
                count(&self.shared.departures)
            ),
        }
    }
}

impl Quiet {
    /// All leave.
    pub fn leave(self) {
        for framework in self.frameworks {
            framework.teardown().unwrap();
        }
    }
}

/// One framework at a time.
struct Actor {
    master: String,
    options: FrameworkOptions,
    random: Random,
    shared: Arc<Shared>,
    patient: bool,
    /// It fails over, but never leaves.
    stays: bool,
    /// In this life.
    launched: Vec<String>,
    next_task: usize,
}

/// How a life ends.
enum End {
    /// It is subscribed again under its id.
    Failover,
    /// It is torn down.
    Leave,
    /// It stays, and wants no more offers.
    Quiet,
}

impl Actor {
    /// The framework, where it is there in the end.
    fn run(&mut self) -> Option<Framework> {
        let mut lost_since = None;
        // Once stopped, only who has an id still comes back.
        while !self.stopped() || self.options.id.is_some() {
            match self.live() {
                Ok(Some(quiet)) => return Some(quiet),
                Ok(None) => lost_since = None,
                Err(why) => {
                    // The master is away, or has ended the stream.
                    let since = *lost_since.get_or_insert_with(Instant::now);
                    assert!(since.elapsed() < PATIENCE, "{}: {why}", self.options.name);
                    thread::sleep(Duration::from_millis(100));
                }
            }
        }
        None
    }

    /// From one subscription to the next.
    fn live(&mut self) -> Result<Option<Framework>, SchedulerError> {
        let mut framework = Framework::subscribe(&self.master, &self.options)?;
        self.options.id = Some(framework.id().to_owned());
        self.launched.clear();
        let mut seen = 0;
        let end = loop {
            let step = self.step(&mut framework);
            let events = framework.offer_events();
            self.shared.offers.fetch_add(events - seen, Ordering::Relaxed);
            seen = events;
            match step? {
                _ if self.stopped() => break End::Quiet,
                Some(end) => break end,
                None => {}
            }
        };
        if self.patient {
            for task in &self.launched {
                framework.wait_update(task, PATIENCE)?;
            }
        }
        let (counter, leaves) = match end {
            End::Failover => (&self.shared.failovers, false),
            End::Leave => (&self.shared.departures, true),
            End::Quiet => {
                framework.suppress()?;
                return Ok(Some(framework));
            }
        };
        if leaves {
            framework.teardown()?;
            self.options.id = None;
        }
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(None)
    }

    fn step(&mut self, framework: &mut Framework) -> Result<Option<End>, SchedulerError> {
        match self.random.below(100) {
            1 if !self.stays => return Ok(Some(End::Leave)),
            0 | 1 => return Ok(Some(End::Failover)),
            2 => {
                framework.suppress()?;
                thread::sleep(self.random.moment(50));
                framework.revive()?;
            }
            3..10 => framework.revive()?,
            _ => match framework.next_offer(Duration::from_millis(100)) {
                Ok(offer) => self.answer(framework, &offer)?,
                Err(SchedulerError::TimedOut { .. }) => {}
                Err(other) => return Err(other),
            },
        }
        Ok(None)
    }

    /// A task, or no; at times after a while in which the offer may be rescinded. A master that does not know the offer (any
    /// more) says nothing.
    fn answer(&mut self, framework: &Framework, offer: &Offer) -> Result<(), SchedulerError> {
        if self.random.below(4) == 0 {
            thread::sleep(self.random.moment(30));
        }
        let small = offer.cpus() >= 0.2 && offer.mem() >= 32.0;
        if small && self.random.below(TASKS_IN) == 0 {
            self.next_task += 1;
            let mut amounts = vec![("cpus", 0.2), ("mem", 32.0)];
            if offer.gpus() >= 1.0 {
                amounts.push(("gpus", 1.0));
            }
            let id = format!("{}-{}", self.options.name, self.next_task);
            let task = Task::new(&id, "exec sleep 0.1").resources(&amounts);
            self.launched.push(id);
            self.shared.tasks.fetch_add(1, Ordering::Relaxed);
            return framework.launch(offer, &[task]);
        }
        let refuse = REFUSALS[self.random.index(REFUSALS.len())];
        framework.decline(offer, refuse)
    }

    fn stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
    }
}

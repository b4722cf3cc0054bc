// SPDX-License-Identifier: Apache-2.0
//! What the proofs of the allocator share: a cluster with an allocator of one's choice, and what its master says of
//! agents, offers and cycles.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

mod amounts;
pub mod load;
#[path = "../../proofs/common/random.rs"]
#[allow(dead_code, reason = "the other proofs use the rest")]
pub mod random;

use std::time::{Duration, Instant};

use serde_json::Value;
use testbed::scheduler::{Framework, FrameworkOptions, Offer, Task};
use testbed::{Agent, Master, Testbed, support};

pub use amounts::{Amounts, amounts_of};

/// Far more than anything needs; the machine may be busy with others.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// Parameters of `mesos_gpu_Allocator`; without any module, the master's own allocator.
pub type Allocator<'a> = Option<&'a [(&'a str, &'a str)]>;

/// Whether this machine cannot run the proof, which is then reported by name.
pub fn lacking(proof: &str) -> bool {
    let root = support::is_root();
    if !root {
        support::skip(&format!("{proof}: root, as which the tasks run"));
    }
    !root
}

/// A master and some agents.
pub struct Cluster {
    _agents: Vec<Agent>,
    pub master: Master,
    _bed: Testbed,
}

impl Cluster {
    /// Starts a master with this allocator and time between its cycles, and an agent for each host name and `--resources`.
    pub fn start(allocator: Allocator<'_>, interval: &str, agents: &[(&str, &str)]) -> Self {
        let bed = Testbed::new().unwrap();
        let mut master = bed
            .master()
            .flag("allocation_interval", interval)
            // A busy machine must not cost an agent, and an agent must look for a killed master soon.
            .flag("agent_ping_timeout", "2secs")
            .flag("max_agent_ping_timeouts", "5")
            // What is remembered of the past would look like a leak.
            .flag("max_completed_frameworks", "2")
            .flag("max_completed_tasks_per_framework", "2")
            // Its numbers are asked for all the time, which else is answered twice a second.
            .env("LIBPROCESS_METRICS_SNAPSHOT_ENDPOINT_RATE_LIMIT", "1000/1secs")
            .lasting_registry();
        if let Some(parameters) = allocator {
            master = master.allocator("mesos_gpu_Allocator", parameters).unwrap();
        }
        let mut master = master.start().unwrap();
        master.wait_ready(PATIENCE).unwrap();
        let agents = agents.iter().map(|(name, resources)| {
            bed.agent()
                .flag("launcher", "posix")
                .isolation("filesystem/posix")
                .flag("hostname", *name)
                .flag("registration_backoff_factor", "50ms")
                .resources(resources)
                .start()
                .unwrap()
        });
        let mut agents: Vec<Agent> = agents.collect();
        for agent in &mut agents {
            agent.wait_registered(PATIENCE).unwrap();
        }
        Self {
            _agents: agents,
            master,
            _bed: bed,
        }
    }

    /// A framework with the capability `GPU_RESOURCES` or without it, in one role.
    pub fn framework(&self, name: &str, role: &str, gpu_resources: bool) -> Framework {
        Framework::subscribe(self.master.address(), &options(name, role, gpu_resources)).unwrap()
    }

    /// How often the allocator has looked for what it can offer.
    pub fn cycles(&self) -> u64 {
        let metrics = self.master.operator().metrics().unwrap();
        let runs = metrics["allocator/mesos/allocation_runs"].as_f64().unwrap();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // It counts.
        let runs = runs as u64;
        runs
    }

    /// Waits until so many cycles have begun.
    pub fn wait_cycles(&self, number: u64) {
        let first = self.cycles();
        eventually("cycles of the allocator", || {
            (self.cycles() >= first + number).then_some(())
        });
    }

    /// Has the allocator look once what it can offer, as it does whenever a framework comes, even one that wants nothing.
    /// Returns when the master knows all offers that came of it.
    pub fn cycle(&self) {
        let tick = FrameworkOptions {
            suppressed_roles: vec!["tick".to_owned()],
            ..options("tick", "tick", false)
        };
        let before = self.cycles();
        let tick = Framework::subscribe(self.master.address(), &tick).unwrap();
        self.await_cycle(before);
        tick.teardown().unwrap();
    }

    /// Waits until the one cycle after these is over.
    pub fn await_cycle(&self, before: u64) {
        eventually("a cycle of the allocator", || {
            (self.cycles() > before).then_some(())
        });
        // The answer has numbers that the allocator itself is asked for, so what it did before it answered is done.
        assert_eq!(self.cycles(), before + 1, "a cycle came by itself");
    }

    /// All that a framework is offered, which it holds: until no offer has come for so many cycles.
    pub fn offers(&self, framework: &Framework, quiet: u64) -> Vec<Offer> {
        let mut all = framework.take_offers();
        loop {
            self.wait_cycles(quiet);
            let more = framework.take_offers();
            if more.is_empty() {
                return all;
            }
            all.extend(more);
        }
    }

    /// What of each agent the master has given away, by host name. Asserts on the way that nothing is negative and nothing
    /// is given away twice.
    pub fn given_away(&self) -> Vec<(String, Amounts)> {
        let agents = self.master.operator().agents().unwrap();
        let of = |agent: &Value| {
            let list = |name: &str| Amounts::of(agent[name].as_array().map_or(&[][..], Vec::as_slice));
            let (total, used, offered) = (
                list("total_resources"),
                list("allocated_resources"),
                list("offered_resources"),
            );
            let given = used.plus(offered);
            let name = agent["agent_info"]["hostname"].as_str().unwrap().to_owned();
            for part in [used, offered] {
                assert!(part.fits(total), "{name}: {part:?} of {total:?}");
            }
            assert!(
                given.fits(total),
                "{name}: {used:?} are used and {offered:?} offered of {total:?}"
            );
            (name, given)
        };
        agents.iter().map(of).collect()
    }

    /// Asserts that these frameworks, which want no offers, have none and that their tasks are over.
    pub fn wait_idle(&self, frameworks: &[Framework]) {
        self.wait_unoffered(&frameworks.iter().collect::<Vec<_>>());
        eventually("the end of all tasks", || {
            let given = self.given_away();
            given
                .iter()
                .all(|(_, amounts)| *amounts == Amounts::default())
                .then_some(())
        });
    }

    /// Asserts that exactly so much of each agent can be had, by offering it to a framework that takes GPUs; all others want
    /// no offers. Those that have something must still be there: of a framework that went, Mesos frees all by itself.
    pub fn assert_free(&self, amounts: &[(&str, Amounts)]) {
        let last = self.framework("last", "last", true);
        let mut offered: Vec<(String, Amounts)> = Vec::new();
        let mut take = || {
            for offer in last.take_offers() {
                offered.push((offer.hostname().to_owned(), Amounts::of(offer.resources())));
            }
            let names = amounts.iter().map(|(name, _)| *name);
            names
                .map(|name| (name, amounts_of(&offered, name)))
                .collect::<Vec<_>>()
        };
        let until = Instant::now() + PATIENCE;
        loop {
            let free = take();
            if free == amounts {
                break;
            }
            assert!(
                Instant::now() < until,
                "{amounts:?} are free, and {free:?} is offered"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        // Not more, either.
        self.wait_cycles(5);
        assert_eq!(take(), amounts, "offered, of what is free");
        last.teardown().unwrap();
    }

    /// Runs a task that stays on the agent with this host name. The framework then wants no more offers.
    pub fn hold(&self, framework: &Framework, host: &str, task: &str, amounts: &[(&str, f64)]) {
        let offer = eventually(&format!("an offer of {host} for {task}"), || {
            let (mut good, other): (Vec<Offer>, Vec<Offer>) =
                framework.take_offers().into_iter().partition(|offer| {
                    offer.hostname() == host && amounts.iter().all(|(n, v)| offer.amount(n) >= *v)
                });
            other
                .iter()
                .chain(good.iter().skip(1))
                .for_each(|offer| framework.decline(offer, 0.0).unwrap());
            good.drain(..).next()
        });
        let task_info = Task::new(task, "exec sleep 1000").resources(amounts);
        framework.launch(&offer, &[task_info]).unwrap();
        framework.wait_state(task, "TASK_RUNNING", PATIENCE).unwrap();
        framework.suppress().unwrap();
        self.wait_unoffered(&[framework]);
    }

    /// Waits until nothing is on offer, while these frameworks decline what comes.
    pub fn wait_unoffered(&self, frameworks: &[&Framework]) {
        self.wait_held(frameworks, || 0);
    }

    /// Waits until nothing is on offer but of so many agents, while these frameworks decline what comes.
    pub fn wait_held(&self, frameworks: &[&Framework], mut held: impl FnMut() -> usize) {
        let on_offer = |agent: &&Value| {
            agent["offered_resources"]
                .as_array()
                .is_some_and(|all| !all.is_empty())
        };
        eventually("nothing else to be on offer", || {
            for framework in frameworks {
                let offers = framework.take_offers();
                offers
                    .iter()
                    .for_each(|offer| framework.decline(offer, 0.0).unwrap());
            }
            let agents = self.master.operator().agents().unwrap();
            (agents.iter().filter(on_offer).count() == held()).then_some(())
        });
    }
}

/// A framework with the capability `GPU_RESOURCES` or without it, in one role, that may be away for a while.
pub fn options(name: &str, role: &str, gpu_resources: bool) -> FrameworkOptions {
    FrameworkOptions {
        roles: vec![role.to_owned()],
        gpu_resources,
        failover_timeout: 600.0,
        ..FrameworkOptions::named(name)
    }
}

/// Waits until `look` finds something.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

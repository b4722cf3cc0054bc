// SPDX-License-Identifier: Apache-2.0
//! What the proofs of the allocator share: a cluster with an allocator of one's choice, and what its master says of
//! agents, offers and cycles.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

pub mod load;
#[path = "../../proofs/common/random.rs"]
#[allow(dead_code, reason = "the other proofs use the rest")]
pub mod random;

use std::time::{Duration, Instant};

use serde_json::Value;
use testbed::scheduler::{Framework, FrameworkOptions, Offer, Task};
use testbed::{Agent, Master, Testbed, resources, support};

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

    /// Asserts that after all frameworks have left, all of every agent can be had: by offering it to a last framework.
    pub fn assert_all_free(&self, totals: &[(&str, Amounts)]) {
        let last = self.framework("last", "last", true);
        let mut offered: Vec<(String, Amounts)> = Vec::new();
        let until = Instant::now() + PATIENCE;
        let wanted = |offered: &Vec<(String, Amounts)>| {
            totals
                .iter()
                .all(|(name, total)| amounts_of(offered, name) == *total)
        };
        while !wanted(&offered) {
            assert!(
                Instant::now() < until,
                "of {totals:?} only {offered:?} is offered\n{}",
                self.master.log()
            );
            std::thread::sleep(Duration::from_millis(50));
            for offer in last.take_offers() {
                offered.push((offer.hostname().to_owned(), Amounts::of(offer.resources())));
            }
        }
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
        let offered = || {
            let agents = self.master.operator().agents().unwrap();
            let lists = agents
                .iter()
                .filter_map(|agent| agent["offered_resources"].as_array());
            lists.map(Vec::len).sum::<usize>()
        };
        eventually("nothing to be on offer", || {
            for framework in frameworks {
                let offers = framework.take_offers();
                offers
                    .iter()
                    .for_each(|offer| framework.decline(offer, 0.0).unwrap());
            }
            (offered() == 0).then_some(())
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

/// How much of each kind, reserved or not.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Amounts {
    pub gpus: f64,
    pub cpus: f64,
    pub mem: f64,
}

impl Amounts {
    pub const fn new(gpus: f64, cpus: f64, mem: f64) -> Self {
        Self { gpus, cpus, mem }
    }

    /// Of a list of regular resources.
    pub fn of(list: &[Value]) -> Self {
        let sum = |name: &str| rounded(resources::sum(list, name, false));
        Self::new(sum("gpus"), sum("cpus"), sum("mem"))
    }

    pub fn plus(self, other: Self) -> Self {
        Self::new(
            rounded(self.gpus + other.gpus),
            rounded(self.cpus + other.cpus),
            rounded(self.mem + other.mem),
        )
    }

    fn fits(self, whole: Self) -> bool {
        let pairs = [
            (self.gpus, whole.gpus),
            (self.cpus, whole.cpus),
            (self.mem, whole.mem),
        ];
        pairs.iter().all(|(part, whole)| *part >= 0.0 && part <= whole)
    }
}

/// What stands under a name, together.
pub fn amounts_of(list: &[(String, Amounts)], name: &str) -> Amounts {
    let of_name = list.iter().filter(|(other, _)| other == name);
    of_name.fold(Amounts::default(), |sum, (_, amounts)| sum.plus(*amounts))
}

/// Mesos counts three decimal digits.
fn rounded(amount: f64) -> f64 {
    (amount * 1000.0).round() / 1000.0
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

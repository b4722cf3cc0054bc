// SPDX-License-Identifier: Apache-2.0
//! What the proofs against a real Mesos share: a cluster on a simulated NVIDIA machine, what the kernel grants to its
//! containers, and waiting without fixed times.
#![allow(dead_code, reason = "each test program uses its own part")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

pub mod faults;
pub mod group;
pub mod images;
pub mod mixed_load;
pub mod oversubscription;
pub mod probe;
pub mod random;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use fake_nvml::Machine;
use testbed::operator::{ApiError, LaunchContainer};
use testbed::{Agent, AgentBuilder, Master, Testbed, support};

/// Far more than anything needs; the machine may be busy with others.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Long enough to see whether something happens by itself before trying again.
pub const SHORT: Duration = Duration::from_secs(2);

/// `--isolation` with our isolator.
pub const ISOLATION: &str = "cgroups/devices,filesystem/linux,mesos_gpu_Isolator";

/// Whether this machine cannot run the proof, which is then reported by name.
pub fn lacking(proof: &str) -> bool {
    let lacking = support::lacking_for_cgroups();
    if let Some(what) = &lacking {
        support::skip(&format!("{proof}: {what}"));
    }
    lacking.is_some()
}

/// An agent with our isolator and our hook, on no particular machine.
pub fn gpu_agent(bed: &Testbed) -> AgentBuilder {
    gpu_agent_with(bed, &[])
}

/// The same with parameters for the isolator.
pub fn gpu_agent_with(bed: &Testbed, parameters: &[(&str, &str)]) -> AgentBuilder {
    bed.agent()
        .isolation(ISOLATION)
        .hooks("mesos_gpu_Hook")
        .module("mesos_gpu_Isolator", parameters)
        .module("mesos_gpu_Hook", &[])
}

/// A master and an agent with GPUs.
pub struct Cluster {
    pub agent: Agent,
    pub master: Master,
    pub bed: Testbed,
}

impl Cluster {
    /// Starts them and waits until the agent is registered.
    pub fn start(machine: &Machine) -> Self {
        Self::with(|bed| gpu_agent(bed).machine(machine))
    }

    /// The same with an agent of one's own.
    pub fn with(agent: impl FnOnce(&Testbed) -> AgentBuilder) -> Self {
        let bed = Testbed::new().unwrap();
        let mut master = bed.master().start().unwrap();
        master.wait_ready(PATIENCE).unwrap();
        let mut agent = agent(&bed).start().unwrap();
        agent.wait_registered(PATIENCE).unwrap();
        Self { agent, master, bed }
    }
}

/// A container id that was not used before.
pub fn fresh_id(prefix: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{prefix}{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Starts a standalone container; no GPUs when `gpus` is 0.
pub fn launch(agent: &Agent, id: &str, gpus: f64, command: &str) -> Result<(), ApiError> {
    let mut resources = vec![("cpus", 0.1), ("mem", 32.0)];
    if gpus != 0.0 {
        resources.push(("gpus", gpus));
    }
    let launch = LaunchContainer::new(&[id], command).resources(&resources);
    agent.operator().launch_container(&launch)
}

/// Ends a standalone container and waits until it is gone.
pub fn end(agent: &Agent, id: &str) {
    let operator = agent.operator();
    for done in [
        operator.kill_container(&[id], None),
        operator.wait_container(&[id]).map(drop),
    ] {
        match done {
            Ok(()) => {}
            Err(error) if error.is_gone() => {}
            Err(error) => panic!("cannot end container {id}: {error}\n{}", agent.log()),
        }
    }
}

/// The minors of the GPUs that the kernel lets each container open.
pub type Grants = BTreeMap<String, BTreeSet<u32>>;

/// The grants of all containers that have any, from their devices cgroups.
pub fn grants(agent: &Agent) -> Grants {
    let rules = agent.device_rules().unwrap();
    let of_each = rules.into_iter().map(|(path, rules)| {
        let minors: BTreeSet<u32> = rules.iter().filter_map(|rule| gpu_minor(rule)).collect();
        (path.display().to_string(), minors)
    });
    of_each.filter(|(_, minors)| !minors.is_empty()).collect()
}

/// The minor of the GPU that a line of `devices.list` opens.
fn gpu_minor(rule: &str) -> Option<u32> {
    let (number, access) = rule.strip_prefix("c 195:")?.split_once(' ')?;
    assert!(access.contains('r') && access.contains('w'), "{rule}");
    // From 254 on they are control nodes.
    number.parse().ok().filter(|minor| *minor < 254)
}

/// Asserts that nothing holds a GPU, by giving all of them to one container.
pub fn assert_all_free(agent: &Agent, machine: &Machine) {
    let (id, count) = (fresh_id("all"), machine.gpus.len());
    let launched = launch(agent, &id, u32::try_from(count).unwrap().into(), "sleep 1000");
    if let Err(error) = launched {
        panic!(
            "not all GPUs are free: {error}\n{:?}\n{}",
            grants(agent),
            agent.log()
        );
    }
    let minors = machine.gpus.iter().map(|gpu| gpu.minor).collect();
    assert_eq!(grants(agent), Grants::from([(id.clone(), minors)]));
    end(agent, &id);
    assert_eq!(grants(agent), Grants::new());
}

/// Asserts that a container without GPUs can be started, and that the agent still answers.
pub fn assert_serves_without_gpus(agent: &Agent) {
    let id = fresh_id("plain");
    if let Err(error) = launch(agent, &id, 0.0, "true") {
        panic!(
            "a container without GPUs cannot be started: {error}\n{}",
            agent.log()
        );
    }
    end(agent, &id);
    assert!(agent.operator().health(), "{}", agent.log());
}

/// A GPU's minor and two containers that both have it.
pub type Shared = (u32, String, String);

/// The GPUs that two containers have of which neither lives inside the other.
pub fn in_two(grants: &Grants) -> BTreeSet<Shared> {
    let is_inside = |one: &str, other: &str| one.starts_with(&format!("{other}/"));
    let mut found = BTreeSet::new();
    for (one, minors) in grants {
        for (other, others) in grants.range::<String, _>((Bound::Excluded(one), Bound::Unbounded)) {
            // In this order only the second can be inside.
            if !is_inside(other, one) {
                let both = minors.intersection(others);
                found.extend(both.map(|minor| (*minor, one.clone(), other.clone())));
            }
        }
    }
    found
}

/// Asserts that no two containers have the same GPU; gives back the first look.
///
/// They are read one after the other, so a GPU that moves from one to the next in that time shows up in both. Where ids are
/// used once and a container is not given the same GPU twice, one that both have still at a second look is shared.
pub fn assert_none_shared(agent: &Agent) -> Grants {
    let first = grants(agent);
    let suspects = in_two(&first);
    if !suspects.is_empty() {
        let now = grants(agent);
        let shared = &suspects & &in_two(&now);
        assert!(shared.is_empty(), "{shared:?}: {now:?}\n{}", agent.log());
    }
    first
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

/// Waits until the agent's log has a line with all of these texts, and gives it back.
pub fn logged(agent: &Agent, texts: &[&str]) -> String {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(line) = log_lines(&agent.log(), texts).first() {
            return line.clone();
        }
        assert!(
            Instant::now() < until,
            "no line with {texts:?} in the log:\n{}",
            agent.log()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The lines of a log that have all of these texts.
pub fn log_lines(log: &str, texts: &[&str]) -> Vec<String> {
    let found = log
        .lines()
        .filter(|line| texts.iter().all(|text| line.contains(text)));
    found.map(str::to_owned).collect()
}

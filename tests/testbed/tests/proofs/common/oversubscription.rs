// SPDX-License-Identifier: Apache-2.0
//! An agent that offers idle GPUs a second time, and a simulated driver that says how much they are used.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy only knows the tests themselves"
)]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use fake_nvml::{Gpu, Machine, Memory, Process, Utilization};
use serde_json::Value;
use testbed::operator::Container;
use testbed::scheduler::{Framework, FrameworkOptions, Offer, Task, TaskUpdate};
use testbed::{AgentBuilder, Testbed};

use super::{Cluster, Grants, PATIENCE, eventually, fresh_id, gpu_agent_with, grants};

/// What a task asks for besides GPUs.
pub const SMALL: [(&str, f64); 2] = [("cpus", 0.1), ("mem", 32.0)];

/// Windows that a test can wait for.
pub const FAST: [(&str, &str); 4] = [
    ("oversubscribe", "on"),
    ("idle_window", "1secs"),
    ("sample_interval", "200ms"),
    ("oversubscribe_pause", "0secs"),
];

/// Whether the agent has our QoS controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controller {
    Loaded,
    Missing,
}

/// An agent with the estimator, and with these parameters.
pub fn agent(bed: &Testbed, parameters: &[(&str, &str)], controller: Controller) -> AgentBuilder {
    let agent = gpu_agent_with(bed, parameters)
        .module("mesos_gpu_ResourceEstimator", &[])
        .flag("resource_estimator", "mesos_gpu_ResourceEstimator")
        .flag("oversubscribed_resources_interval", "200ms")
        .flag("executor_reregistration_timeout", "1secs")
        .flag("registration_backoff_factor", "20ms")
        .flag("authentication_backoff_factor", "20ms");
    match controller {
        Controller::Missing => agent,
        Controller::Loaded => agent
            .module("mesos_gpu_QoSController", &[])
            .flag("qos_controller", "mesos_gpu_QoSController")
            .flag("qos_correction_interval_min", "0secs"),
    }
}

/// A cluster, and what its driver says.
pub struct Shared {
    pub cluster: Cluster,
    pub machine: Machine,
}

impl Shared {
    /// So many GPUs.
    pub fn start(gpus: u32, controller: Controller) -> Self {
        Self::with(gpus, &FAST, controller)
    }

    pub fn with(gpus: u32, parameters: &[(&str, &str)], controller: Controller) -> Self {
        let machine = Machine::with_gpus(gpus);
        let cluster = Cluster::with(|bed| agent(bed, parameters, controller).machine(&machine));
        Self { cluster, machine }
    }

    /// The driver says something else from now on.
    pub fn driver(&mut self, change: impl FnOnce(&mut Machine)) {
        change(&mut self.machine);
        let simulation = self.cluster.agent.simulation().unwrap();
        simulation.update(&self.machine).unwrap();
    }

    /// The GPU with this minor from now on.
    pub fn gpu(&mut self, minor: u32, change: impl FnOnce(&mut Gpu)) {
        self.driver(|machine| {
            let gpu = machine.gpus.iter_mut().find(|gpu| gpu.minor == minor);
            change(gpu.unwrap());
        });
    }

    pub fn framework(&self, name: &str, revocable: bool) -> Framework {
        let options = FrameworkOptions {
            revocable,
            ..FrameworkOptions::named(name)
        };
        Framework::subscribe(self.cluster.master.address(), &options).unwrap()
    }

    /// Starts a task with regular GPUs that only sits there.
    pub fn begin(&self, framework: &Framework, id: &str, gpus: f64) {
        framework.revive().unwrap();
        let offer = framework.offer_with(&[("gpus", gpus)], PATIENCE).unwrap();
        let task = Task::new(id, "exec sleep 1000")
            .resources(&SMALL)
            .resources(&[("gpus", gpus)]);
        framework.launch(&offer, &[task]).unwrap();
    }

    /// The same, until it runs. Its framework wants no more offers then: those without revocable GPUs would lie with it, and
    /// Mesos offers GPUs only beside cpus or memory.
    pub fn own(&self, framework: &Framework, id: &str, gpus: f64) -> TaskUpdate {
        self.begin(framework, id, gpus);
        let running = framework.wait_state(id, "TASK_RUNNING", PATIENCE);
        let running = running.unwrap_or_else(|why| panic!("{why}\n{}", self.cluster.agent.log()));
        wants_no_more(framework);
        running
    }

    /// A task with one revocable GPU, on the first offer on which the GPU is still idle when it comes.
    pub fn visit(&self, framework: &Framework, command: &str) -> TaskUpdate {
        framework.revive().unwrap();
        loop {
            let offer = offered(self, framework);
            let id = fresh_id("guest");
            let task = Task::new(&id, command)
                .resources(&SMALL)
                .revocable(&[("gpus", 1.0)]);
            framework.launch(&offer, &[task]).unwrap();
            match framework.wait_state(&id, "TASK_RUNNING", PATIENCE) {
                Ok(running) => {
                    wants_no_more(framework);
                    return running;
                }
                // On a machine that is busy with others a look comes late now and then, and says less.
                Err(error) if error.is_late_guest() => {}
                Err(error) => panic!("{error}\n{}", self.cluster.agent.log()),
            }
        }
    }

    /// The container of a task; none when it is gone.
    pub fn container(&self, task: &TaskUpdate) -> Option<Container> {
        let containers = self.cluster.agent.operator().containers().unwrap();
        containers.into_iter().find(|one| one.id == task.container)
    }

    /// The first process of a task's container.
    pub fn pid(&self, task: &TaskUpdate) -> u32 {
        let container = self.container(task);
        u32::try_from(container.unwrap().pid.unwrap()).unwrap()
    }

    /// The minors of the GPUs that the kernel lets a task open.
    pub fn minors(&self, task: &TaskUpdate) -> BTreeSet<u32> {
        grants(&self.cluster.agent)
            .remove(&task.container[0])
            .unwrap_or_default()
    }

    /// Starts the agent again, which was killed.
    pub fn restart(&mut self) {
        self.cluster.agent.restart().unwrap();
        if let Err(why) = self.cluster.agent.wait_registered(PATIENCE) {
            panic!("{why}\n{}", self.cluster.agent.log());
        }
    }

    /// Asserts that the agent's own books and the kernel's say that these tasks hold GPUs and those are guests, each with the
    /// minors it has, and nobody else has any.
    pub fn assert_books(&self, owners: &[(&TaskUpdate, &[u32])], guests: &[(&TaskUpdate, &[u32])]) {
        let want = |tasks: &[(&TaskUpdate, &[u32])]| -> Grants {
            let minors = |minors: &[u32]| minors.iter().copied().collect();
            tasks
                .iter()
                .map(|(task, has)| (task.container[0].clone(), minors(has)))
                .collect()
        };
        let (held, shared) = (want(owners), want(guests));
        eventually("the books to be right", || {
            let written = self.written()?;
            (written == (held.clone(), shared.clone())).then_some(())
        });
        let mut all = held;
        all.extend(shared);
        assert_eq!(grants(&self.cluster.agent), all);
    }

    /// Who holds what and who is a guest on what, by the checkpoint.
    fn written(&self) -> Option<(Grants, Grants)> {
        let path = self.cluster.agent.work_dir().join("mesos-gpu/checkpoint.json");
        let file: Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        let minor = |uuid: &Value| {
            let gpu = self.machine.gpus.iter().find(|gpu| *uuid == gpu.uuid);
            gpu.unwrap().minor
        };
        let list = |name: &str| -> Grants {
            let entries = file[name].as_array().into_iter().flatten();
            let entry = |entry: &Value| {
                let units = entry["units"].as_array().unwrap();
                (
                    entry["container"][0].as_str().unwrap().to_owned(),
                    units.iter().map(minor).collect(),
                )
            };
            entries.map(entry).collect()
        };
        Some((list("held"), list("guests")))
    }
}

/// Asks for no more offers, and gives back those that came.
fn wants_no_more(framework: &Framework) {
    framework.suppress().unwrap();
    // One that is on its way when the master takes the call comes a moment later.
    std::thread::sleep(Duration::from_millis(100));
    for offer in framework.take_offers() {
        framework.decline(&offer, 0.0).unwrap();
    }
}

/// Waits for an offer with revocable GPUs; others are declined.
pub fn revocable_offer(framework: &Framework, patience: Duration) -> Option<Offer> {
    let until = Instant::now() + patience;
    while let Ok(offer) = framework.next_offer(until.saturating_duration_since(Instant::now())) {
        if offer.revocable("gpus") > 0.0 {
            return Some(offer);
        }
        framework.decline(&offer, 0.1).unwrap();
    }
    None
}

/// The same where one must come.
pub fn offered(shared: &Shared, framework: &Framework) -> Offer {
    revocable_offer(framework, PATIENCE)
        .unwrap_or_else(|| panic!("no revocable GPU was offered\n{}", shared.cluster.agent.log()))
}

/// Waits until no offer that stands has revocable GPUs.
pub fn withdrawn(framework: &Framework) {
    eventually("the revocable GPUs to be withdrawn", || {
        let offers = framework.take_offers();
        for offer in &offers {
            framework.decline(offer, 0.1).unwrap();
        }
        let settled = offers.iter().all(|offer| offer.revocable("gpus") == 0.0);
        (settled && !offers.is_empty()).then_some(())
    });
}

/// A process that computes so much and holds so much memory.
pub fn process(pid: u32, percent: u32, bytes: u64) -> Process {
    Process {
        pid,
        used_memory: Some(bytes),
        sm_util: percent,
        mem_util: 0,
        gpu_instance: None,
        compute_instance: None,
    }
}

/// What the GPU does is what these processes do.
pub fn used_by(gpu: &mut Gpu, processes: Vec<Process>) {
    let total = gpu.memory.unwrap().total;
    let used = processes.iter().filter_map(|process| process.used_memory).sum();
    gpu.memory = Some(Memory {
        total,
        used,
        free: total - used,
    });
    let percent = processes.iter().map(|process| process.sm_util).sum::<u32>();
    gpu.utilization = Some(Utilization {
        gpu: percent.min(100),
        memory: 0,
    });
    gpu.processes = processes;
}

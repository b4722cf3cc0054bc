// SPDX-License-Identifier: Apache-2.0
//! The chapter of an idle GPU that is offered a second time: whether NVML's samples are good enough to see that an owner waits,
//! that its guest's work is not its own, and that it computes again. Thresholds were chosen for what real samples look like.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fake_nvml::Process;

use super::cluster::{Cluster, PATIENCE, Support, sandbox};
use super::findings::Findings;
use super::life::until_busy;
use super::options::Options;
use crate::Agent;
use crate::error::{Error, Tried};
use crate::scheduler::{Framework, FrameworkOptions, Offer, SchedulerError, Task, TaskUpdate};

/// Short enough to wait for.
const PARAMETERS: [(&str, &str); 4] = [
    ("oversubscribe", "on"),
    ("idle_window", "3secs"),
    ("sample_interval", "500ms"),
    ("oversubscribe_pause", "0secs"),
];
const SMALL: [(&str, f64); 2] = [("cpus", 0.1), ("mem", 32.0)];
const GPU: [(&str, f64); 1] = [("gpus", 1.0)];
/// How long a guest computes beside its waiting owner, to see that nobody sends it away.
const BESIDE: Duration = Duration::from_secs(4);

/// The chapter.
pub(super) fn chapter(options: &Options, findings: &mut Findings) -> Result<(), Error> {
    let cluster = Cluster::start(options)?;
    let mut agent = cluster
        .agent_with(Support::Ours, &PARAMETERS)
        .module("mesos_gpu_ResourceEstimator", &[])
        .flag("resource_estimator", "mesos_gpu_ResourceEstimator")
        .flag("oversubscribed_resources_interval", "200ms")
        .module("mesos_gpu_QoSController", &[])
        .flag("qos_controller", "mesos_gpu_QoSController")
        .flag("qos_correction_interval_min", "0secs")
        .start()?;
    agent.wait_registered(PATIENCE)?;
    let told = tell(&cluster, &agent, findings);
    options.write_log("sharing-agent", &agent.log())?;
    told
}

fn tell(cluster: &Cluster, agent: &Agent, findings: &mut Findings) -> Result<(), Error> {
    let tried = || "share an idle GPU".to_owned();
    let program = cluster.cuda_check.display();
    let owners = framework(cluster, "owners", false)?;
    let offer = owners
        .offer_with(&[SMALL.as_slice(), GPU.as_slice()].concat(), PATIENCE)
        .tried(tried)?;
    let waits = format!("while ! test -e go; do sleep 0.1; done; exec {program} busy 60");
    let owner = Task::new("owner", &waits).resources(&SMALL).resources(&GPU);
    owners.launch(&offer, &[owner]).tried(tried)?;
    let owner = owners
        .wait_state("owner", "TASK_RUNNING", PATIENCE)
        .tried(tried)?;
    let began = Instant::now();
    // Offers that lie with it would hold back what Mesos offers only together.
    owners.suppress().tried(tried)?;
    std::thread::sleep(Duration::from_millis(100));
    for offer in owners.take_offers() {
        owners.decline(&offer, 0.0).tried(tried)?;
    }

    let guests = framework(cluster, "guests", true)?;
    let guest = visit(&guests, &format!("exec {program} busy 120"))?;
    findings.figure(
        "from an owner that waits to its guest",
        began.elapsed().as_secs_f64(),
        "s",
    );
    until_busy(&sandbox(agent, &guests, &guest.task)?.join("stdout"))?;
    let of = |task: &TaskUpdate| container(agent, task);
    let (pid_of_owner, pid_of_guest) = (of(&owner)?, of(&guest)?);
    cluster.compute(agent, &owner.container, &[used(pid_of_guest, 90)])?;
    std::thread::sleep(BESIDE);
    let gone = ended(&guests, &guest.task);
    findings.check(
        "a guest computes on while its owner waits",
        gone.is_none(),
        format!("{gone:?}"),
    );

    let folder: PathBuf = sandbox(agent, &owners, "owner")?;
    std::fs::write(folder.join("go"), "").tried(tried)?;
    let both = [used(pid_of_guest, 50), used(pid_of_owner, 50)];
    cluster.compute(agent, &owner.container, &both)?;
    until_busy(&folder.join("stdout"))?;
    let began = Instant::now();
    let end = guests.wait_terminal(&guest.task, PATIENCE);
    findings.figure(
        "from an owner that computes to its guest's end",
        began.elapsed().as_secs_f64() * 1e3,
        "ms",
    );
    match end {
        Ok(end) => findings.note("how the guest ended", &end),
        Err(error) => findings.check("the guest has to go when its owner computes", false, error),
    }
    let gone = ended(&owners, "owner");
    findings.check("the owner computes on", gone.is_none(), format!("{gone:?}"));
    guests.teardown().tried(tried)?;
    owners.teardown().tried(tried)
}

fn framework(cluster: &Cluster, name: &str, revocable: bool) -> Result<Framework, Error> {
    let options = FrameworkOptions {
        revocable,
        ..FrameworkOptions::named(name)
    };
    Framework::subscribe(cluster.master.address(), &options).tried(|| format!("subscribe the {name}"))
}

/// Runs a task on a revocable GPU, on the first offer on which the GPU is still idle when it comes.
fn visit(guests: &Framework, command: &str) -> Result<TaskUpdate, Error> {
    let tried = || "be a guest on an idle GPU".to_owned();
    let until = Instant::now() + PATIENCE;
    for number in 0.. {
        let offer = revocable(guests, until).tried(tried)?;
        let id = format!("guest{number}");
        let task = Task::new(&id, command).resources(&SMALL).revocable(&GPU);
        guests.launch(&offer, &[task]).tried(tried)?;
        match guests.wait_state(&id, "TASK_RUNNING", PATIENCE) {
            Err(error) if error.is_late_guest() => {}
            started => return started.tried(tried),
        }
    }
    Err(Error::new(tried(), "there are no more numbers"))
}

fn revocable(guests: &Framework, until: Instant) -> Result<Offer, SchedulerError> {
    loop {
        let offer = guests.next_offer(until.saturating_duration_since(Instant::now()))?;
        if offer.revocable("gpus") > 0.0 {
            return Ok(offer);
        }
        guests.decline(&offer, 0.1)?;
    }
}

fn ended(framework: &Framework, task: &str) -> Option<TaskUpdate> {
    let mut updates = framework.updates().into_iter();
    updates.find(|update| update.task == task && update.is_terminal())
}

/// The first process of a task's container.
fn container(agent: &Agent, task: &TaskUpdate) -> Result<u32, Error> {
    let tried = || format!("find the container of {}", task.task);
    let containers = agent.operator().containers().tried(tried)?;
    let found = containers.into_iter().find(|one| one.id == task.container);
    let pid = found.and_then(|one| one.pid).and_then(|pid| pid.try_into().ok());
    pid.ok_or_else(|| Error::new(tried(), "it is not there"))
}

fn used(pid: u32, sm_util: u32) -> Process {
    Process {
        pid,
        used_memory: Some(1 << 29),
        sm_util,
        mem_util: 0,
        gpu_instance: None,
        compute_instance: None,
    }
}

impl Cluster {
    /// Lets a simulated driver say that these processes compute on the GPU of a container; a real one sees it by itself.
    fn compute(&self, agent: &Agent, container: &[String], processes: &[Process]) -> Result<(), Error> {
        let (Some((machine, _)), Some(simulation)) = (&self.simulated, agent.simulation()) else {
            return Ok(());
        };
        let path: PathBuf = container.iter().collect();
        let rules = agent.device_rules()?.remove(Path::new(&path)).unwrap_or_default();
        let mut machine = machine.clone();
        for gpu in &mut machine.gpus {
            if rules.contains(&format!("c 195:{} rw", gpu.minor)) {
                gpu.processes = processes.to_vec();
                let all = processes.iter().map(|process| process.sm_util).sum();
                gpu.utilization = Some(fake_nvml::Utilization { gpu: all, memory: 0 });
            }
        }
        simulation
            .update(&machine)
            .tried(|| "let a simulated GPU compute".to_owned())
    }
}

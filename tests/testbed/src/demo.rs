// SPDX-License-Identifier: Apache-2.0
//! `testbed demo`: the main job of the whole project on one machine. A real master offers GPUs, a framework takes some, and
//! containers of a real agent can open those and no others; a table shows what each task saw.

mod gpus;
pub mod probe;
mod table;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use nix::unistd::geteuid;

use crate::bed::cgroups::Hierarchies;
use crate::bed::{Agent, Testbed};
use crate::error::{Error, Tried};
use crate::scheduler::{Framework, FrameworkOptions, Task};
use crate::support::lacking_for_cgroups;
use gpus::Gpus;
use probe::Sight;

/// The tasks: a name, and how many GPUs it asks for.
const TASKS: [(&str, u32); 3] = [("one-gpu", 1), ("two-gpus", 2), ("no-gpu", 0)];
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs it; the exit status says whether every task saw what it should.
pub fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("demo: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<bool, Error> {
    let gpus = Gpus::of_this_machine();
    println!("{gpus}");
    let started = Instant::now();
    let step = |what: &str| eprintln!("[{:5.1} s] {what}", started.elapsed().as_secs_f64());

    step("getting Mesos 1.11.0 (once; it is kept for the next time)");
    let bed = Testbed::new()?;
    let missing = missing(&bed);
    if let Some(what) = &missing {
        println!("Not shown, for lack of {what}: that the kernel keeps a task from GPUs it was not given.");
    }
    step("starting a master and an agent with modules.json");
    let mut master = bed.master().start()?;
    master.wait_ready(PATIENCE)?;
    let mut agent = bed.agent().repository_modules().hooks("mesos_gpu_Hook");
    if missing.is_none() {
        agent = agent.isolation("cgroups/devices,filesystem/linux,mesos_gpu_Isolator");
    }
    if let Some(machine) = gpus.simulated() {
        agent = agent.machine(machine);
    }
    let mut agent = agent.start()?;
    agent.wait_registered(PATIENCE)?;
    for line in agent
        .log()
        .lines()
        .filter_map(|line| line.split_once("mesos_gpu: "))
    {
        println!("  agent: {}", line.1);
    }

    step("running the tasks");
    let framework = Framework::subscribe(bed.master_address(), &FrameworkOptions::named("demo"))
        .tried(|| "subscribe the framework".to_owned())?;
    let tasks: Vec<(&str, u32)> = TASKS
        .into_iter()
        .filter(|(_, wanted)| *wanted <= gpus.count())
        .collect();
    let together: f64 = tasks.iter().map(|(_, wanted)| f64::from(*wanted)).sum();
    let mut seen = Vec::new();
    if together <= f64::from(gpus.count()) {
        seen.extend(run_tasks(&framework, &agent, &tasks)?);
    } else {
        for task in &tasks {
            seen.extend(run_tasks(&framework, &agent, std::slice::from_ref(task))?);
        }
    }
    for (name, wanted) in TASKS.iter().filter(|task| !tasks.contains(task)) {
        println!(
            "Not shown: {name}, which asks for {wanted} GPUs; this machine has {}.",
            gpus.count()
        );
    }
    step("done");
    println!("\n{}", table::draw(&seen, missing.is_none()));
    let wrong: Vec<String> = seen
        .iter()
        .flat_map(|sight| sight.wrong(missing.is_none()))
        .collect();
    for line in &wrong {
        println!("WRONG: {line}");
    }
    framework
        .teardown()
        .tried(|| "take the framework down".to_owned())?;
    if wrong.is_empty() {
        println!(
            "{}",
            if missing.is_none() {
                "Every granted GPU opens, every other one is refused by the kernel."
            } else {
                "Mesos offered the GPUs and ran the tasks; nothing was isolated."
            }
        );
    }
    Ok(wrong.is_empty())
}

/// What device control needs and this machine lacks. Where nobody has mounted the controllers, they are mounted for the
/// time of the demo.
fn missing(bed: &Testbed) -> Option<String> {
    let lacking = lacking_for_cgroups()?;
    if geteuid().is_root() {
        return Hierarchies::mount_in(&bed.folder().join("cgroup"))
            .err()
            .map(|error| error.to_string());
    }
    Some(lacking)
}

/// Runs tasks at the same time and tells what each saw.
fn run_tasks(framework: &Framework, agent: &Agent, tasks: &[(&str, u32)]) -> Result<Vec<Sight>, Error> {
    let program = Testbed::program()?;
    let wanted: u32 = tasks.iter().map(|(_, gpus)| gpus).sum();
    let amounts = [("cpus", 0.5), ("mem", 256.0), ("gpus", f64::from(wanted))];
    let offer = framework
        .offer_with(&amounts, PATIENCE)
        .tried(|| format!("get an offer with {wanted} GPUs"))?;
    println!(
        "  offer: {} cpus, {} MB, {} gpus",
        offer.cpus(),
        offer.mem(),
        offer.gpus()
    );
    let infos: Vec<Task> = tasks
        .iter()
        .map(|(name, gpus)| {
            let mut resources = vec![("cpus", 0.1), ("mem", 32.0)];
            if *gpus > 0 {
                resources.push(("gpus", f64::from(*gpus)));
            }
            Task::new(name, &format!("exec '{}' probe", program.display())).resources(&resources)
        })
        .collect();
    framework
        .launch(&offer, &infos)
        .tried(|| "launch the tasks".to_owned())?;
    let mut seen = Vec::new();
    for (name, gpus) in tasks {
        let end = framework
            .wait_terminal(name, PATIENCE)
            .tried(|| format!("wait for the task {name}"))?;
        if end.state != "TASK_FINISHED" {
            return Err(Error::new(format!("run the task {name}"), end));
        }
        seen.push(Sight::read(agent, framework.id(), name, *gpus)?);
    }
    Ok(seen)
}

// SPDX-License-Identifier: Apache-2.0
//! Why: operators try a cluster with `mesos-execute`, which is not in the library that the testbed runs. This takes its
//! flags, runs one task or one task group, and says what happens to it.

mod flags;
mod tasks;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::scheduler::{Framework, FrameworkOptions, Offer, SchedulerError, TaskUpdate};
use flags::Flags;
use tasks::Work;

/// How often the clock is looked at while nothing comes.
const TICK: Duration = Duration::from_millis(200);

/// After how long without a fitting offer the usual cause is named.
const HINT: Duration = Duration::from_secs(5);

/// `mesos-execute` with the arguments after the program's name: success only where every task finished.
pub fn main(args: &[String]) -> ExitCode {
    match run(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("mesos-execute: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<bool, String> {
    let flags = Flags::parse(args)?;
    let work = tasks::work(&flags)?;
    let options = FrameworkOptions {
        name: format!("mesos-execute {}", work.name()),
        roles: vec![flags.role.clone()],
        gpu_resources: false,
        capabilities: flags.framework_capabilities.clone(),
        checkpoint: flags.checkpoint,
        principal: flags.principal.clone(),
        ..FrameworkOptions::default()
    };
    let mut framework = Framework::subscribe(&flags.master, &options).map_err(|e| e.to_string())?;
    println!("subscribed to {} as framework {}", flags.master, framework.id());
    let outcome = drive(&mut framework, &work, flags.kill_after);
    // The outcome is what counts, and the master ends a framework that has gone anyway.
    if let Err(e) = framework.teardown() {
        eprintln!("mesos-execute: {e}");
    }
    outcome.map_err(|e| e.to_string())
}

/// Places the work, then tells of its updates until all its tasks have ended.
fn drive(
    framework: &mut Framework,
    work: &Work,
    kill_after: Option<Duration>,
) -> Result<bool, SchedulerError> {
    let offer = place(framework, work)?;
    let mut kill_at = kill_after.map(|after| Instant::now() + after);
    let mut waiting: Vec<String> = work.task_ids();
    let mut finished = true;
    while !waiting.is_empty() {
        if kill_at.is_some_and(|at| Instant::now() >= at) {
            kill_at = None;
            for task in &waiting {
                println!("killing task {task}");
                framework.kill(task, offer.agent_id())?;
            }
        }
        match framework.next_update(TICK) {
            Ok(update) => {
                tell(&update);
                if update.is_terminal() {
                    finished &= update.state == "TASK_FINISHED";
                    waiting.retain(|task| *task != update.task);
                }
            }
            Err(SchedulerError::TimedOut { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(finished)
}

/// Waits, for as long as it takes, for an offer that is large enough, and accepts it.
fn place(framework: &Framework, work: &Work) -> Result<Offer, SchedulerError> {
    let mut hint_at = Some(Instant::now() + HINT);
    loop {
        if hint_at.is_some_and(|at| Instant::now() >= at) {
            hint_at = None;
            println!(
                "no fitting offer yet (the master hides agents with GPUs without --framework_capabilities=GPU_RESOURCES)"
            );
        }
        let offer = match framework.next_offer(TICK) {
            Ok(offer) => offer,
            Err(SchedulerError::TimedOut { .. }) => continue,
            Err(e) => return Err(e),
        };
        println!(
            "offer {} of {}: {}",
            offer.id(),
            offer.hostname(),
            summary(&offer)
        );
        if let Some((name, wanted)) = work.missing(&offer) {
            println!(
                "offer {} has too little of {name} ({wanted} wanted): declined",
                offer.id()
            );
            framework.decline(&offer, 1.0)?;
            continue;
        }
        framework.accept(&[&offer], vec![work.operation(&offer, framework.id())], 5.0)?;
        println!(
            "launched {} on agent {}",
            work.task_ids().join(", "),
            offer.agent_id()
        );
        return Ok(offer);
    }
}

fn summary(offer: &Offer) -> String {
    let amount = |r: &Value| {
        let name = r["name"].as_str()?;
        let mark = if r.get("revocable").is_some() {
            "{revocable}"
        } else {
            ""
        };
        Some(format!("{name}{mark}:{}", r["scalar"]["value"].as_f64()?))
    };
    offer
        .resources()
        .iter()
        .filter_map(amount)
        .collect::<Vec<_>>()
        .join(";")
}

fn tell(update: &TaskUpdate) {
    println!("task {}: {update}", update.task);
    for (name, value) in &update.labels {
        println!("task {}: label {name}={value}", update.task);
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The chapter of times and bytes, on these very GPUs: agents with either GPU support and with none, started and used in turns.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::cluster::{Cluster, IMAGE, PATIENCE, Support};
use super::findings::Findings;
use super::options::Options;
use crate::Agent;
use crate::error::{Error, Tried};
use crate::operator::LaunchContainer;

/// Rounds, and launches of each agent in one.
const MEASURED: (usize, usize) = (3, 10);
/// On a simulated driver, to see that it works.
const TRIED: (usize, usize) = (1, 2);

/// What was measured of what, with every value.
#[derive(Default)]
struct Samples(BTreeMap<(usize, &'static str, &'static str), Vec<f64>>);

impl Samples {
    fn add(&mut self, number: usize, what: &'static str, support: Support, value: f64) {
        self.0
            .entry((number, what, support.name()))
            .or_default()
            .push(value);
    }
}

/// The chapter.
pub(super) fn chapter(options: &Options, findings: &mut Findings) -> Result<(), Error> {
    let cluster = Cluster::start(options)?;
    let mut samples = Samples::default();
    let (rounds, launches) = if options.simulate { TRIED } else { MEASURED };
    for round in 0..rounds {
        measure(&cluster, round, launches, &mut samples)?;
    }
    for ((_, what, support), values) in samples.0 {
        let unit = if what.starts_with("MB") { "MB" } else { "ms" };
        findings.spread(&format!("{what}, {support}"), values, unit);
    }
    Ok(())
}

fn measure(cluster: &Cluster, round: usize, launches: usize, samples: &mut Samples) -> Result<(), Error> {
    let mut agents = Vec::new();
    for support in turned(round) {
        let mut agent = cluster.agent(support).start()?;
        samples.add(0, "agent start, nothing there yet", support, ready(&mut agent)?);
        samples.add(1, "MB written until then", support, written(&agent)?);
        // So that no launch that counts unpacks the image or builds what the first one needs.
        launch(&agent, support, true)?;
        samples.add(
            2,
            "MB written by the first container's end",
            support,
            written(&agent)?,
        );
        agent.terminate()?;
        agent.restart()?;
        samples.add(3, "agent start, all there", support, ready(&mut agent)?);
        samples.add(4, "MB of memory then", support, resident(&agent)?);
        agents.push((support, agent));
    }
    for number in 0..launches {
        for at in 0..agents.len() {
            let (support, agent) = &agents[(at + number) % agents.len()];
            let on_host = launch(agent, *support, false)?;
            let in_image = launch(agent, *support, true)?;
            for (number, what, value) in [
                (5, "container on the host: answered", on_host[0]),
                (6, "container on the host: runs", on_host[1]),
                (7, "container on the host: gone", on_host[2]),
                (8, "container in an image: answered", in_image[0]),
                (9, "container in an image: runs", in_image[1]),
                (10, "container in an image: gone", in_image[2]),
            ] {
                samples.add(number, what, *support, value);
            }
        }
    }
    agents
        .into_iter()
        .try_for_each(|(_, mut agent)| agent.terminate())
}

fn turned(round: usize) -> impl Iterator<Item = Support> {
    let all = Support::ALL;
    (0..all.len()).map(move |place| all[(place + round) % all.len()])
}

/// The milliseconds until an agent that was started right now answers about containers, which it does after recovery.
fn ready(agent: &mut Agent) -> Result<f64, Error> {
    let began = Instant::now();
    while agent.operator().containers().is_err() {
        if began.elapsed() > PATIENCE {
            agent.wait_ready(Duration::ZERO)?;
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    Ok(began.elapsed().as_secs_f64() * 1e3)
}

/// A container that tells the time at which it runs: the milliseconds from the launch until it was answered, until the program
/// ran, and until the container was gone.
fn launch(agent: &Agent, support: Support, image: bool) -> Result<[f64; 3], Error> {
    let id = super::life::fresh_id();
    let tried = || format!("run the container {id} on the agent with {}", support.name());
    let mut resources = vec![("cpus", 0.1), ("mem", 32.0)];
    if support != Support::None {
        resources.push(("gpus", 1.0));
    }
    let mut launch = LaunchContainer::new(&[&id], "/bin/date")
        .arguments(&["/bin/date", "+%s.%N"])
        .resources(&resources);
    if image {
        launch = launch.image(IMAGE);
    }
    let operator = agent.operator();
    let began = now();
    operator.launch_container(&launch).tried(tried)?;
    let answered = now();
    match operator.wait_container(&[&id]) {
        // It was gone before it was asked for.
        Err(error) if error.is_gone() => {}
        ended => drop(ended.tried(tried)?),
    }
    let gone = now();
    let file = agent.work_dir().join("containers").join(&id).join("stdout");
    let said = std::fs::read_to_string(file).tried(tried)?;
    let ran: f64 = said
        .trim()
        .parse()
        .tried(|| format!("read the time in {said:?}"))?;
    Ok([answered, ran, gone].map(|time| (time - began) * 1e3))
}

/// The clock that a container tells too, in seconds.
fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs_f64()
}

/// Megabytes that an agent has made the kernel write to disks, with the helpers that it waited for.
pub(super) fn written(agent: &Agent) -> Result<f64, Error> {
    of_process(agent, "io", "write_bytes: ").map(|bytes| bytes / 1e6)
}

fn resident(agent: &Agent) -> Result<f64, Error> {
    of_process(agent, "status", "VmRSS:").map(|kilobytes| kilobytes * 1024.0 / 1e6)
}

fn of_process(agent: &Agent, file: &str, label: &str) -> Result<f64, Error> {
    let file = format!("/proc/{}/{file}", agent.pid());
    let text = std::fs::read_to_string(&file).tried(|| format!("read {file}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(label));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    let number = number.and_then(|number| number.parse().ok());
    number.ok_or_else(|| Error::new(format!("read {file}"), format!("it has no {label}")))
}

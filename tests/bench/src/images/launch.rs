// SPDX-License-Identifier: Apache-2.0
//! One standalone container. It says itself when its program ran, which is after the launcher has made its mounts, and which
//! Mesos tells nobody.

use super::agents::IMAGE;
use crate::rounds::milliseconds;
use crate::variant::Variant;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use testbed::operator::LaunchContainer;
use testbed::{Agent, Error};

const SMALL: [(&str, f64); 2] = [("cpus", 0.1), ("mem", 32.0)];

/// What is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// So many GPUs, where there is support for them.
    pub gpus: u32,
    /// In the image, else on the host's file system.
    pub image: bool,
}

impl Kind {
    /// One GPU, in the image.
    pub const IN_IMAGE: Kind = Kind { gpus: 1, image: true };
    /// The same on the host's file system.
    pub const ON_HOST: Kind = Kind {
        gpus: 1,
        image: false,
    };

    fn container(self, variant: Variant, id: &str, arguments: &[&str]) -> LaunchContainer {
        let mut resources = SMALL.to_vec();
        if variant != Variant::None && self.gpus > 0 {
            resources.push(("gpus", self.gpus.into()));
        }
        let launch = LaunchContainer::new(&[id], arguments.first().copied().unwrap_or_default())
            .arguments(arguments)
            .resources(&resources);
        match self.image {
            true => launch.image(IMAGE),
            false => launch,
        }
    }
}

/// When it was launched and when its program ran, and how long it took from the launch, in milliseconds.
#[derive(Debug)]
pub struct Launched {
    /// Since 1970.
    pub started: Duration,
    /// Since 1970.
    pub ran: Duration,
    /// Until `LAUNCH_CONTAINER` was answered.
    pub call: f64,
    /// Until the program ran.
    pub runs: f64,
    /// Until `WAIT_CONTAINER` was answered.
    pub gone: f64,
}

/// Launches one that tells the time.
pub fn timed(agent: &Agent, variant: Variant, kind: Kind) -> Result<Launched, Error> {
    let mut times = [Duration::ZERO; 3];
    let said = run(agent, variant, kind, &["/bin/date", "+%s.%N"], &mut times)?;
    let ran = said.trim().split_once('.').and_then(|(seconds, rest)| {
        let nanoseconds = rest.parse().ok()?;
        Some(Duration::new(seconds.parse().ok()?, nanoseconds))
    });
    let ran = ran.ok_or_else(|| Error::new("read the time that a container told", format!("{said:?}")))?;
    let [started, answered, gone] = times;
    let since = |time: Duration| (time.as_secs_f64() - started.as_secs_f64()) * 1000.0;
    Ok(Launched {
        started,
        ran,
        call: since(answered),
        runs: since(ran),
        gone: since(gone),
    })
}

/// Launches one that tells its mounts.
pub fn mounts(agent: &Agent, variant: Variant) -> Result<String, Error> {
    let mut times = [Duration::ZERO; 3];
    let arguments = ["/bin/cat", "/proc/self/mountinfo"];
    run(agent, variant, Kind::IN_IMAGE, &arguments, &mut times)
}

/// Launches one that stays, and gives back its id.
pub fn staying(agent: &Agent, variant: Variant, kind: Kind) -> Result<String, Error> {
    let id = fresh_id();
    let launch = kind.container(variant, &id, &["/bin/sleep", "1000000"]);
    let launched = agent.operator().launch_container(&launch);
    launched.map_err(|e| failed(agent, variant, &e))?;
    Ok(id)
}

/// The milliseconds from the wish to end a container until everything of it is taken down.
pub fn end(agent: &Agent, variant: Variant, id: &str) -> Result<f64, Error> {
    let operator = agent.operator();
    let begin = Instant::now();
    operator
        .kill_container(&[id], None)
        .map_err(|e| failed(agent, variant, &e))?;
    match operator.wait_container(&[id]) {
        // It was gone before it was asked for.
        Err(error) if error.status() != Some(404) => Err(failed(agent, variant, &error)),
        _ => Ok(milliseconds(begin)),
    }
}

fn run(
    agent: &Agent,
    variant: Variant,
    kind: Kind,
    arguments: &[&str],
    times: &mut [Duration; 3],
) -> Result<String, Error> {
    let id = fresh_id();
    let failed = |why: &dyn std::fmt::Display| failed(agent, variant, why);
    let launch = kind.container(variant, &id, arguments);
    let operator = agent.operator();
    times[0] = now();
    operator.launch_container(&launch).map_err(|e| failed(&e))?;
    times[1] = now();
    match operator.wait_container(&[&id]) {
        // It was gone before it was asked for.
        Err(error) if error.status() == Some(404) => {}
        Err(error) => return Err(failed(&error)),
        Ok(ended) if ended.code().is_none_or(|code| code == 0) => {}
        Ok(ended) => return Err(failed(&format!("it ended with {ended:?}"))),
    }
    times[2] = now();
    let sandbox = agent.work_dir().join("containers").join(&id);
    std::fs::read_to_string(sandbox.join("stdout")).map_err(|e| failed(&e))
}

fn fresh_id() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("bench{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn failed(agent: &Agent, variant: Variant, why: &dyn std::fmt::Display) -> Error {
    let tried = format!("run a container on the agent with {}", variant.name());
    Error::new(tried, format!("{why}\n{}", tail(agent)))
}

/// The end of an agent's log.
pub fn tail(agent: &Agent) -> String {
    const LINES: usize = 20;
    let log = agent.log();
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

/// The clock that a container tells too.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

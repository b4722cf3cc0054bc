// SPDX-License-Identifier: Apache-2.0
//! One standalone container in the image. It says itself when its program ran, which is after the launcher has made its
//! mounts, and which Mesos tells nobody.

use super::agents::IMAGE;
use crate::variant::Variant;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use testbed::operator::LaunchContainer;
use testbed::{Agent, Error};

const SMALL: [(&str, f64); 2] = [("cpus", 0.1), ("mem", 32.0)];

/// How long it took from the launch, in milliseconds.
#[derive(Debug)]
pub struct Launched {
    /// Until `LAUNCH_CONTAINER` was answered.
    pub call: f64,
    /// Until the program ran.
    pub runs: f64,
    /// Until `WAIT_CONTAINER` was answered.
    pub gone: f64,
}

/// Launches one that tells the time, with one GPU where there is support for them.
pub fn timed(agent: &Agent, variant: Variant) -> Result<Launched, Error> {
    let mut times = [Duration::ZERO; 3];
    let said = run(agent, variant, &["/bin/date", "+%s.%N"], &mut times)?;
    let ran = said.trim().split_once('.').and_then(|(seconds, rest)| {
        let nanoseconds = rest.parse().ok()?;
        Some(Duration::new(seconds.parse().ok()?, nanoseconds))
    });
    let ran = ran.ok_or_else(|| Error::new("read the time that a container told", format!("{said:?}")))?;
    let [started, answered, gone] = times;
    let since = |time: Duration| (time.as_secs_f64() - started.as_secs_f64()) * 1000.0;
    Ok(Launched {
        call: since(answered),
        runs: since(ran),
        gone: since(gone),
    })
}

/// Launches one that tells its mounts.
pub fn mounts(agent: &Agent, variant: Variant) -> Result<String, Error> {
    let mut times = [Duration::ZERO; 3];
    run(agent, variant, &["/bin/cat", "/proc/self/mountinfo"], &mut times)
}

fn run(
    agent: &Agent,
    variant: Variant,
    arguments: &[&str],
    times: &mut [Duration; 3],
) -> Result<String, Error> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let id = format!("image{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let failed = |why: &dyn std::fmt::Display| {
        let tried = format!("run a container on the agent with {}", variant.name());
        Error::new(tried, format!("{why}\n{}", agent.log()))
    };
    let mut resources = SMALL.to_vec();
    if variant != Variant::None {
        resources.push(("gpus", 1.0));
    }
    let launch = LaunchContainer::new(&[&id], arguments[0])
        .arguments(arguments)
        .image(IMAGE)
        .resources(&resources);
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

/// The clock that a container tells too.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
